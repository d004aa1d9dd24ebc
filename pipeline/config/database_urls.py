"""Addresses of the database: the site's, PostgreSQL's own behind a pooler, and the migrations'."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from pipeline.config import env


def read() -> dict[str, Any]:
    """Return Django's settings for the database in DATABASE_URL.

    For a socket, put its directory in the path, postgres://user@//directory/name, or like libpq in
    the host: postgres://user@%2Fdirectory/name. Raises ImproperlyConfigured if it is not
    PostgreSQL.
    """
    return parse("DATABASE_URL", env.DATABASE_URL)


def read_direct() -> dict[str, Any] | None:
    """Return Django's settings for the database in DATABASE_DIRECT_URL, or None if it is not set.

    Raises ImproperlyConfigured if it is not PostgreSQL, or if there is no DATABASE_URL.
    """
    if not env.DATABASE_DIRECT_URL:
        return None
    if not env.DATABASE_URL:
        raise ImproperlyConfigured("DATABASE_DIRECT_URL needs DATABASE_URL, the pooler's address.")
    return parse("DATABASE_DIRECT_URL", env.DATABASE_DIRECT_URL)


def read_migration() -> dict[str, Any] | None:
    """Return user, password and location from MIGRATION_DATABASE_URL, or None if it is not set.

    Raises ImproperlyConfigured if it is not PostgreSQL.
    """
    if not env.MIGRATION_DATABASE_URL:
        return None
    found = parse("MIGRATION_DATABASE_URL", env.MIGRATION_DATABASE_URL)
    return {name: found[name] for name in ("USER", "PASSWORD", "HOST", "PORT", "NAME")}


def parse(name: str, url: str) -> dict[str, Any]:
    """Return Django's settings for a URL; `name` is the variable that a refusal names.

    Raises ImproperlyConfigured if it is not PostgreSQL.
    """
    with suppress(ValueError):  # which could quote the password
        if environ.Env.DB_SCHEMES.get(urlsplit(url).scheme) == "django.db.backends.postgresql":
            found = dict(environ.Env.db_url_config(url))
            host = urlsplit(url).netloc.rpartition("@")[2]
            if host.lower().startswith("%2f"):
                found["HOST"] = unquote(host)
            return found
    raise ImproperlyConfigured(
        f"{name} must name a PostgreSQL database: postgres://user:password@host:5432/name"
    )
