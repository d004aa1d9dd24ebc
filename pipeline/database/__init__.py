"""Django's PostgreSQL backend for when DATABASE_URL is not set: it brings the server up itself."""
