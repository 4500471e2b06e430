"""`touchline tenants`, `touchline users` and `touchline tokens`: administration on the machine that holds the data."""

from .tenants import commands as tenants
from .tokens import commands as tokens
from .users import commands as users

__all__ = ["tenants", "tokens", "users"]
