"""PostgreSQL: the tenant door, migrations, wake-ups."""
