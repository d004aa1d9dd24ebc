"""What differs between environments: values, each read, typed and checked in this one place."""

from __future__ import annotations

import os
import re
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
METRICS_TOKEN: str = _env.str("METRICS_TOKEN", default="")
LOG_FORMAT: str = _env.str("LOG_FORMAT", default="json" if DATABASE_URL else "console")
LOG_LEVEL: str = _env.str("LOG_LEVEL", default="INFO")
MAIL_FROM: str = _env.str("MAIL_FROM", default="Next in Line <no-reply@localhost>")
SECURE_COOKIES: bool = _env.bool("SECURE_COOKIES", default=bool(DATABASE_URL) and not DEBUG)
TRUSTED_PROXIES: list[str] = _env.list("TRUSTED_PROXIES", default=[])

_RATES = {
    "api": "6000/min",
    "anonymous": "600/min",
    "anonymous_apply": "60/h",
    "code_request": "10/h",
    "code_try": "20/h",
}
_RATE = re.compile(r"([1-9]\d{0,8})/([1-9]\d{0,4})?(s|min|h|d)")
_UNITS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}


def throttle_rates() -> dict[str, tuple[int, int] | None]:
    """Each named rate, as so many in so many seconds; None where THROTTLE_… says off.

    Raises ImproperlyConfigured when one is neither off nor like 5/15min.
    """
    return {name: _rate(f"THROTTLE_{name.upper()}", usual) for name, usual in _RATES.items()}


def _rate(variable: str, usual: str) -> tuple[int, int] | None:
    text = _env.str(variable, default=usual)
    if text == "off":
        return None
    found = _RATE.fullmatch(text)
    if found is None:
        raise ImproperlyConfigured(f"{variable} must be off, or a rate like 600/min or 5/15min.")
    limit, times, unit = found.groups()
    return int(limit), int(times or 1) * _UNITS[unit]


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


def mail_settings() -> dict[str, Any]:
    """Django's EMAIL_ settings of the mail server that EMAIL_URL names.

    Without one mails go to the console; but with a database given, where the console is a log that
    should hold no codes, they are thrown away, and a system check says so.
    """
    url = _env.str("EMAIL_URL", default="") or _mail_url_without_server()
    return dict(_env.email_url_config(url))


def _mail_url_without_server() -> str:
    return "dummymail://" if DATABASE_URL else "consolemail://"


def trusted_origins() -> list[str]:
    """Where forms may come from when TLS ends at a proxy, so that we see plain HTTP ourselves."""
    if not SECURE_COOKIES:
        return []
    names = [f"*{name}" if name.startswith(".") else name for name in ALLOWED_HOSTS if name != "*"]
    return [f"https://{name}" for name in names]
