"""What differs between environments: values, each read, typed and checked in this one place."""

from __future__ import annotations

import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent
STATE_DIR = BASE_DIR / ".local"

_env = environ.Env()
environ.Env.read_env(BASE_DIR / ".env")

TESTING = "pytest" in sys.modules
DATABASE_URL: str = _env.str("DATABASE_URL", default="")
DEBUG: bool = _env.bool("DEBUG", default=False)
ALLOWED_HOSTS: list[str] = _env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
LOG_FORMAT: str = _env.str("LOG_FORMAT", default="json" if DATABASE_URL else "console")
LOG_LEVEL: str = _env.str("LOG_LEVEL", default="INFO")


def secret_key() -> str:
    """The SECRET_KEY of the environment; with the embedded database, one that is kept in a file.

    Raises ImproperlyConfigured when a database is given but no key: a made-up key would differ
    between processes and sign everybody out at each restart.
    """
    if given := _env.str("SECRET_KEY", default=""):
        return given
    if DATABASE_URL:
        raise ImproperlyConfigured(
            "Set SECRET_KEY to a long random string; it is required with DATABASE_URL."
        )
    return _kept_key(STATE_DIR / "secret_key")


def _kept_key(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        _write_whole_or_not_at_all(path, secrets.token_urlsafe(50))
    return path.read_text()


def _write_whole_or_not_at_all(path: Path, text: str) -> None:
    """Of several processes that start at once, one wins, and nobody reads half a key."""
    mine = path.with_suffix(f".{os.getpid()}")
    mine.touch(mode=0o600)
    mine.write_text(text)
    with suppress(FileExistsError):
        os.link(mine, path)
    mine.unlink()


def database_from_url() -> dict[str, Any]:
    """Django's settings of the database that DATABASE_URL names.

    A socket's directory stands in the place of the path: postgres://user@//directory/name. Raises
    ImproperlyConfigured when it is no PostgreSQL.
    """
    config = dict(_env.db_url_config(DATABASE_URL))
    if config["ENGINE"] != "django.db.backends.postgresql":
        raise ImproperlyConfigured("DATABASE_URL must name a PostgreSQL: postgres://…")
    return config
