"""PostgreSQL: the tenant door, migrations, wake-ups."""

from .database import Database, Transaction

__all__ = ["Database", "Transaction"]
