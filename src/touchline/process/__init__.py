"""Any video into streams, text and search: jobs in PostgreSQL and the workers that do them."""
