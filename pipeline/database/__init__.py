"""Django's PostgreSQL backend without DATABASE_URL: it starts the server itself."""
