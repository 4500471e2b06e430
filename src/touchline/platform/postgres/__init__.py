"""PostgreSQL: tenant transactions, migrations, wake-ups."""
