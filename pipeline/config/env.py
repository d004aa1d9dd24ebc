"""Environment variables: each is read, typed and checked here."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
from base64 import urlsafe_b64encode
from collections.abc import Callable
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from pipeline.config import languages

BASE_DIR = Path(__file__).resolve().parents[2]
STATE_DIR = BASE_DIR / ".local"
# Where `manage.py up` notes its address, so that other commands in this folder know its port.
UP_ADDRESS, UP_ADDRESS_FILE = "http://127.0.0.1:8000", STATE_DIR / "up_address"

# A signing key is too weak with fewer characters, or fewer different ones.
LEAST_KEY_LENGTH = 32
LEAST_KEY_CHARACTERS = 10
LOG_FORMATS = ("json", "console")
SIGN_UPS = ("open", "ask", "closed")
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


class _Env(environ.Env):
    """The environment. An empty variable counts as not set."""

    def get_value(self, var: str, cast: Any = None, default: Any = "", **options: Any) -> Any:
        """Return a variable's value, converted by `cast`, or the default."""
        if not self.ENVIRON.get(var, "").strip():
            return default
        return super().get_value(var, cast, default, **options)

    def one_of(self, var: str, choices: tuple[str, ...], default: str) -> str:
        """Return one of the choices. Raises ImproperlyConfigured for any other value."""
        value = str(self.str(var, default=default))
        if value not in choices:
            raise ImproperlyConfigured(f"{var} must be one of {', '.join(choices)}, not {value!r}.")
        return value

    def at_least(self, var: str, default: int, *, least: int = 1, most: int | None = None) -> int:
        """Return a whole number within bounds. Raises ImproperlyConfigured otherwise."""
        text = str(self.str(var, default=str(default))).strip()
        to = "" if most is None else f" to {most}"
        if (
            not text.isascii()
            or not text.isdecimal()
            or not least <= int(text) <= (most or int(text))
        ):
            raise ImproperlyConfigured(
                f"{var} must be a whole number from {least}{to}, not {text!r}."
            )
        return int(text)


def _up_address() -> str:
    """Return the address at which `manage.py up` last served this folder's own database."""
    if not DATABASE_URL and not TESTING:
        with suppress(OSError):
            return UP_ADDRESS_FILE.read_text().strip() or UP_ADDRESS
    return UP_ADDRESS


# The variables read here, except for the rate limits.
NAMES = (
    "DATABASE_URL DATABASE_DIRECT_URL MIGRATION_DATABASE_URL REPLICA_URL SECRET_KEY"
    " SECRET_KEY_FALLBACKS DEBUG ALLOWED_HOSTS METRICS_TOKEN"
    " LOG_FORMAT LOG_LEVEL MAIL_FROM SITE_URL EMAIL_URL EMAIL_BACKEND ANYMAIL STATIC_ROOT"
    " SECURE_COOKIES TRUSTED_PROXIES STAFF_IDLE_HOURS TASK_BACKLOG_LIMIT TASK_BACKLOG_PER_COMPANY"
    " FILE_BYTES_PER_COMPANY DEMO_TASKS PREPARED_STATEMENTS ANCHOR_FILE ANCHOR_KEY_FILE"
    " SECURE_HSTS_SECONDS SECURE_HSTS_INCLUDE_SUBDOMAINS SECURE_HSTS_PRELOAD SECURE_SSL_REDIRECT"
    " STATEMENT_SECONDS STREAMS_PER_ADDRESS EMAIL_RATE_PER_MINUTE WEBHOOK_ALLOW_PRIVATE"
    " ALIVE_FILE END_WITH_PARENT"
    " DECISION_UNDO_SECONDS CONTEST_DAYS SENTRY_DSN SENTRY_ENVIRONMENT RECEIPT_KEY"
    " RECEIPT_FORMER_KEYS ARCHIVE_DIR ARCHIVE_AFTER_DAYS VAPID_PRIVATE_KEY VAPID_SUBJECT"
    " SOURCE_COMMIT PROXY_STAMPS"
    " ATTACHMENT_STORAGE ATTACHMENT_BYTES ATTACHMENTS_PER_APPLICATION ATTACHMENT_BYTES_PER_COMPANY"
    " ATTACHMENT_REMOVALS_FILE CLAMAV_ADDRESS AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY"
    " AWS_SESSION_TOKEN SIGN_UP SIGN_UP_CONTACT SIGN_UP_REFUSED_DOMAINS"
    " SITE_JOB_LIST CAREERS_NAME_SERVERS DEFAULT_LANGUAGE"
    " REPLY_ADDRESS INCOMING_AUTHSERV_ID INCOMING_EMAIL_BYTES MESSAGES_PER_DAY"
    " BULK_MESSAGE_PEOPLE BULK_MESSAGES_PER_MINUTE CHAT_HOSTS"
).split()

_env = _Env()
_Env.read_env(BASE_DIR / ".env")

TESTING = "pytest" in sys.modules
DATABASE_URL: str = _env.str("DATABASE_URL", default="")
# PostgreSQL's own address, if DATABASE_URL is a pooler's.
DATABASE_DIRECT_URL: str = _env.str("DATABASE_DIRECT_URL", default="")
# A streaming replica that serves reads, if there is one.
REPLICA_URL: str = _env.str("REPLICA_URL", default="")
MIGRATION_DATABASE_URL: str = _env.str("MIGRATION_DATABASE_URL", default="")
SOURCE_COMMIT: str = _env.str("SOURCE_COMMIT", default="")
DEBUG: bool = _env.bool("DEBUG", default=False)
ALLOWED_HOSTS: list[str] = _env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
METRICS_TOKEN: str = _env.str("METRICS_TOKEN", default="")
LOG_FORMAT = _env.one_of("LOG_FORMAT", LOG_FORMATS, "json" if DATABASE_URL else "console")
LOG_LEVEL = _env.one_of("LOG_LEVEL", LOG_LEVELS, "INFO")
MAIL_FROM: str = _env.str("MAIL_FROM", default="Next in Line <no-reply@localhost>")
SITE_URL: str = _env.str("SITE_URL", default=_up_address()).rstrip("/")
EMAIL_BACKEND: str = _env.str("EMAIL_BACKEND", default="")
# How many emails about imports and closed lines are sent per minute; others are not limited.
EMAIL_RATE_PER_MINUTE = _env.at_least("EMAIL_RATE_PER_MINUTE", 600)
# Whether emails are kept on this machine and shown at /dev/mail/. Only if none are sent.
DEV_MAIL: bool = not (DATABASE_URL or EMAIL_BACKEND or _env.str("EMAIL_URL", default=""))
STATIC_ROOT = Path(_env.str("STATIC_ROOT", default=str(BASE_DIR / "staticfiles")))
# With the embedded database, static files come from the source folders, which developers edit.
STATIC_FILES_COLLECTED = bool(DATABASE_URL) and (STATIC_ROOT / "staticfiles.json").is_file()
SECURE_COOKIES: bool = _env.bool("SECURE_COOKIES", default=bool(DATABASE_URL) and not DEBUG)
# Browsers are told for a year to use only TLS, unless the settings say otherwise.
HSTS_SECONDS: int = _env.int("SECURE_HSTS_SECONDS", default=31_536_000 if SECURE_COOKIES else 0)
HSTS_INCLUDE_SUBDOMAINS: bool = _env.bool("SECURE_HSTS_INCLUDE_SUBDOMAINS", default=False)
HSTS_PRELOAD: bool = _env.bool("SECURE_HSTS_PRELOAD", default=False)
SSL_REDIRECT: bool = _env.bool("SECURE_SSL_REDIRECT", default=False)
# The time limit of a web server's statements.
STATEMENT_SECONDS = _env.at_least("STATEMENT_SECONDS", 10)
# How many live streams a network address may hold per process.
STREAMS_PER_ADDRESS = _env.at_least("STREAMS_PER_ADDRESS", 200)

_RATES = {
    "api": "6000/min",
    "anonymous": "600/min",
    "anonymous_apply": "60/h",
    "code_request": "10/h",
    "code_try": "20/h",
    "verify": "120/min",
    "replay": "120/min",
    "import": "30/min",
    "upload": "300/h",
    "tasks": "6000/min",
    "applicant_tokens": "600/min",
    "pages": "6000/min",
}
# How many tasks may wait before companies cannot start more.
TASK_BACKLOG_LIMIT = _env.at_least("TASK_BACKLOG_LIMIT", 100_000)
# How many of them may belong to one company, so that no company takes all the room.
TASK_BACKLOG_PER_COMPANY = _env.at_least("TASK_BACKLOG_PER_COMPANY", 10_000)
# How many bytes of waiting imports and download files a company may have.
FILE_BYTES_PER_COMPANY = _env.at_least("FILE_BYTES_PER_COMPANY", 512 * 2**20)
# Where applicants' files are kept: a folder, or s3://bucket/prefix?endpoint_url=…; see
# pipeline/config/attachments.py.
ATTACHMENT_STORAGE: str = _env.str("ATTACHMENT_STORAGE", default="")
# The most bytes of one file, files of one application, and bytes of a company's applicants.
ATTACHMENT_BYTES = _env.at_least("ATTACHMENT_BYTES", 10 * 2**20, least=2**16, most=16 * 10**6)
ATTACHMENTS_PER_APPLICATION = _env.at_least("ATTACHMENTS_PER_APPLICATION", 5, most=20)
ATTACHMENT_BYTES_PER_COMPANY = _env.at_least("ATTACHMENT_BYTES_PER_COMPANY", 10 * 2**30)
# Where removed files are listed, for whoever restores a backup.
ATTACHMENT_REMOVALS_FILE = Path(
    _env.str("ATTACHMENT_REMOVALS_FILE", default=str(STATE_DIR / "removed_attachments.jsonl"))
)
# The malware scanner (clamd): host:port, or the path of its socket. Without it, nothing is scanned.
CLAMAV_ADDRESS: str = _env.str("CLAMAV_ADDRESS", default="")
# After how many hours without a request a staff account is signed out.
STAFF_IDLE_HOURS = _env.at_least("STAFF_IDLE_HOURS", 12)
# The file of the logs' signed heads, and the signing key.
ANCHOR_FILE = Path(_env.str("ANCHOR_FILE", default=str(STATE_DIR / "anchors.jsonl")))
ANCHOR_KEY_FILE = Path(_env.str("ANCHOR_KEY_FILE", default=str(STATE_DIR / "anchor_key")))
# The folder of closed jobs' archived logs, if there is one, and days from closing to archiving.
ARCHIVE_DIR = Path(_folder) if (_folder := _env.str("ARCHIVE_DIR", default="")) else None
ARCHIVE_AFTER_DAYS = _env.at_least("ARCHIVE_AFTER_DAYS", 30)
# Where errors are reported, if anywhere; see pipeline/config/logging.py.
SENTRY_DSN: str = _env.str("SENTRY_DSN", default="")
SENTRY_ENVIRONMENT: str = _env.str("SENTRY_ENVIRONMENT", default="production")
# The file that workers touch every second while they run.
ALIVE_FILE: str = _env.str("ALIVE_FILE", default="")
# Whether web server and workers end when the process that started them is gone.
END_WITH_PARENT: bool = _env.bool("END_WITH_PARENT", default=False)
# How companies begin: by themselves, by asking the operator, or not at all. An existing site stays
# as it is until its operator decides, so only a machine for trying things out is open.
SIGN_UP = _env.one_of("SIGN_UP", SIGN_UPS, "closed" if DATABASE_URL else "open")
# The email address of the operator, for people who want to begin.
SIGN_UP_CONTACT: str = _env.str("SIGN_UP_CONTACT", default="").strip()
if SIGN_UP == "ask" and "@" not in SIGN_UP_CONTACT:
    raise ImproperlyConfigured("SIGN_UP=ask needs SIGN_UP_CONTACT, an email address.")
# Domains whose addresses cannot sign up, besides those of a list of disposable ones.
SIGN_UP_REFUSED_DOMAINS: list[str] = _env.list("SIGN_UP_REFUSED_DOMAINS", default=[])
# Whether the site lists the open jobs of all companies; each company also decides for itself.
SITE_JOB_LIST: bool = _env.bool("SITE_JOB_LIST", default=True)
# The language of those whose own is unknown or not offered.
DEFAULT_LANGUAGE = _env.one_of("DEFAULT_LANGUAGE", languages.OFFERED, languages.SOURCE)
# Name servers for the records that prove companies' own domains; empty: the system's.
CAREERS_NAME_SERVERS: list[str] = _env.list("CAREERS_NAME_SERVERS", default=[])
# Files with the operator's own terms and accessibility statement, as plain text in UTF-8.
TERMS_FILE: str = _env.str("TERMS_FILE", default="")
ACCESSIBILITY_FILE: str = _env.str("ACCESSIBILITY_FILE", default="")
# How many seconds a company's decision can be undone before it takes effect, unless it has chosen.
DECISION_UNDO_SECONDS = _env.at_least("DECISION_UNDO_SECONDS", 0 if TESTING else 300, least=0)
# Where applicants' answers by email go: a mailbox that takes plus addresses, or @ and a domain.
REPLY_ADDRESS: str = _env.str("REPLY_ADDRESS", default="")
# The name under which our own mail server says who sent an email (Authentication-Results).
INCOMING_AUTHSERV_ID: str = _env.str("INCOMING_AUTHSERV_ID", default="").strip().lower()
INCOMING_EMAIL_BYTES = _env.at_least(
    "INCOMING_EMAIL_BYTES", 25 * 2**20, least=2**16, most=100 * 2**20
)
# The most messages of an applicant to a company, or of a company to an applicant, in a day.
MESSAGES_PER_DAY = _env.at_least("MESSAGES_PER_DAY", 20, most=1_000)
# The most people of a bulk message, and how many of them are written to in a minute.
BULK_MESSAGE_PEOPLE = _env.at_least("BULK_MESSAGE_PEOPLE", 1_000, most=10_000)
BULK_MESSAGES_PER_MINUTE = _env.at_least("BULK_MESSAGES_PER_MINUTE", 60, most=6_000)
# How many days a company has to answer someone who asked it to look again.
CONTEST_DAYS = _env.at_least("CONTEST_DAYS", 14)
# Turn off for a pooler in transaction mode without prepared statements.
PREPARED_STATEMENTS: bool = _env.bool("PREPARED_STATEMENTS", default=True)
# Whether companies may start demo types, some of which use up memory on purpose.
DEMO_TASKS: bool = _env.bool("DEMO_TASKS", default=TESTING or not DATABASE_URL)
# Whether webhooks may go to addresses inside this machine and its networks, and without TLS.
WEBHOOK_ALLOW_PRIVATE: bool = _env.bool("WEBHOOK_ALLOW_PRIVATE", default=not DATABASE_URL)
# The hosts of chats that companies may post to; "*." stands for any number of labels.
CHAT_HOSTS: list[str] = _env.list(
    "CHAT_HOSTS",
    default=[
        "hooks.slack.com",
        "*.logic.azure.com",
        "*.api.powerplatform.com",
        "*.webhook.office.com",
    ],
)
# The seed of the key that signs receipts, and public keys of earlier ones; all in base64.
RECEIPT_KEY: str = _env.str("RECEIPT_KEY", default="")
RECEIPT_FORMER_KEYS: list[str] = _env.list("RECEIPT_FORMER_KEYS", default=[])
# Where operators of push services can reach the site's: a mailto: or https: address.
VAPID_SUBJECT: str = _env.str("VAPID_SUBJECT", default="")
# Whether the trusted proxies set X-Request-Start, over what a client may say in it.
PROXY_STAMPS: bool = _env.bool("PROXY_STAMPS", default=False)
# Whether the requests of API keys are recorded, for a week, for their owners.
REQUEST_LOG: bool = _env.bool("REQUEST_LOG", default=True)
_RATE = re.compile(r"([1-9]\d{0,8})/([1-9]\d{0,4})?(s|min|h|d)")
_UNITS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}


def throttle_rates() -> dict[str, tuple[int, int] | None]:
    """Return each named rate as (limit, seconds), or None if THROTTLE_… is off.

    Raises ImproperlyConfigured if a rate is neither off nor like 5/15min.
    """
    rates: dict[str, tuple[int, int] | None] = {}
    for name, usual in _RATES.items():
        variable = f"THROTTLE_{name.upper()}"
        text = _env.str(variable, default=usual)
        found = _RATE.fullmatch(text)
        if found:
            limit, times, unit = found.groups()
            rates[name] = int(limit), int(times or 1) * _UNITS[unit]
        elif text == "off":
            rates[name] = None
        else:
            raise ImproperlyConfigured(
                f"{variable} must be off, or a rate like 600/min or 5/15min."
            )
    return rates


def trusted_proxies() -> list[IPv4Network | IPv6Network]:
    """Return the networks of trusted proxies. Raises ImproperlyConfigured if one is malformed."""
    networks = []
    for text in (each.strip() for each in _env.list("TRUSTED_PROXIES", default=[])):
        try:
            networks.append(ip_network(text, strict=False))
        except ValueError:
            raise ImproperlyConfigured(
                f"TRUSTED_PROXIES must be networks like 10.0.0.0/8,192.168.1.7, not {text!r}."
            ) from None
    return networks


def careers_name_servers() -> list[tuple[str, int]]:
    """Return the address and port of each of CAREERS_NAME_SERVERS. Raises ImproperlyConfigured."""
    servers = []
    for text in (each.strip() for each in CAREERS_NAME_SERVERS):
        host, colon, port = text.rpartition(":")
        try:
            address = ip_address((host if colon else text).strip("[]"))
            servers.append((str(address), int(port) if colon else 53))
        except ValueError:
            raise ImproperlyConfigured(
                "CAREERS_NAME_SERVERS must be addresses like 10.0.0.53,[2001:db8::53]:5353,"
                f" not {text!r}."
            ) from None
    return servers


def program_name() -> str:
    """Return this process's command or program, by which operators recognise its sessions."""
    program, *arguments = [*sys.argv, ""]
    name = Path(program).stem
    if name in ("manage", "__main__") and arguments[0]:
        name = arguments[0]
    return re.sub(r"[^\w-]", "", name, flags=re.ASCII)[:40] or "python"


def secret_key() -> str:
    """Return SECRET_KEY, or with the embedded database a key that is kept in a file.

    Raises ImproperlyConfigured if the key is weak, or missing with DATABASE_URL: a generated key
    would differ between processes and sign everyone out at each restart.
    """
    if given := _env.str("SECRET_KEY", default=""):
        return _strong_secret("SECRET_KEY", given)
    if DATABASE_URL:
        raise ImproperlyConfigured(
            "Set SECRET_KEY to a long random string; it is required with DATABASE_URL."
        )
    return _kept_secret("secret_key", lambda: secrets.token_urlsafe(50))


def vapid_private_key() -> str:
    """Return VAPID_PRIVATE_KEY, or with the embedded database a key that is kept in a file.

    Empty if it is not set otherwise: notifications on devices are then off.
    """
    if (given := str(_env.str("VAPID_PRIVATE_KEY", default=""))) or DATABASE_URL or TESTING:
        return given
    return _kept_secret("vapid_key", lambda: urlsafe_b64encode(secrets.token_bytes(32)).decode())


def _kept_secret(name: str, make: Callable[[], str]) -> str:
    """Return the secret in a file of this machine, made at the first use."""
    path = STATE_DIR / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        # The file is written completely or not at all. If several processes start together, one
        # wins.
        mine = path.with_suffix(f".{os.getpid()}")
        mine.touch(mode=0o600)
        mine.write_text(make())
        with suppress(FileExistsError):
            os.link(mine, path)
        mine.unlink()
    return path.read_text()


def secret_key_fallbacks() -> list[str]:
    """Return former keys whose signatures are still accepted.

    Raises ImproperlyConfigured if one is weak, since anyone who guesses it could sign.
    """
    name = "SECRET_KEY_FALLBACKS"
    return [_strong_secret(name, key.strip()) for key in _env.list(name, default=[])]


def is_weak_secret(secret: str) -> bool:
    """Tell whether a secret is too short, or has too few different characters."""
    return len(secret) < LEAST_KEY_LENGTH or len(set(secret)) < LEAST_KEY_CHARACTERS


def _strong_secret(name: str, key: str) -> str:
    if is_weak_secret(key):
        raise ImproperlyConfigured(
            f"{name} is too easy to guess: use {LEAST_KEY_LENGTH} or more random characters;"
            " .env.example says how to make them."
        )
    return key


def debug() -> bool:
    """Return DEBUG.

    Raises ImproperlyConfigured with DATABASE_URL, because error pages show settings.
    """
    if DEBUG and DATABASE_URL:
        raise ImproperlyConfigured(
            "DEBUG=on shows settings and data on error pages, so it cannot be used with"
            " DATABASE_URL. Remove one of them."
        )
    return DEBUG


def mail_settings() -> dict[str, Any]:
    """Return Django's EMAIL_ settings: the server in EMAIL_URL, and the class in EMAIL_BACKEND.

    EMAIL_BACKEND may be one of Django's or a library's; ANYMAIL holds that library's settings as a
    JSON object. Without either variable, emails are kept on this machine (DEV_MAIL) or, with
    DATABASE_URL, discarded, which a system check warns about. Raises ImproperlyConfigured.
    """
    if DEV_MAIL:
        return {"EMAIL_BACKEND": "pipeline.mail.dev_mailbox.DevMailboxBackend"}
    found = dict(_env.email_url_config(_env.str("EMAIL_URL", default="dummymail://")))
    if EMAIL_BACKEND:
        found["EMAIL_BACKEND"] = EMAIL_BACKEND
    try:
        found["ANYMAIL"] = json.loads(_env.str("ANYMAIL", default="{}"))
    except ValueError:  # not quoted: it holds keys
        raise ImproperlyConfigured("ANYMAIL must be a JSON object.") from None
    return found


def trusted_origins() -> list[str]:
    """Return the origins that forms may come from if TLS ends at a proxy."""
    if not SECURE_COOKIES:
        return []
    names = [f"*{name}" if name.startswith(".") else name for name in ALLOWED_HOSTS if name != "*"]
    return [f"https://{name}" for name in names]


# Addresses of the database: the site's, PostgreSQL's own behind a pooler, and the migrations'.


def database_settings() -> dict[str, Any]:
    """Return Django's settings for the database in DATABASE_URL.

    For a socket, put its directory in the path, postgres://user@//directory/name, or like libpq in
    the host: postgres://user@%2Fdirectory/name. Raises ImproperlyConfigured if it is not
    PostgreSQL.
    """
    return parse_database_url("DATABASE_URL", DATABASE_URL)


def direct_database_settings() -> dict[str, Any] | None:
    """Return Django's settings for the database in DATABASE_DIRECT_URL, or None if it is not set.

    Raises ImproperlyConfigured if it is not PostgreSQL, or if there is no DATABASE_URL.
    """
    if not DATABASE_DIRECT_URL:
        return None
    if not DATABASE_URL:
        raise ImproperlyConfigured("DATABASE_DIRECT_URL needs DATABASE_URL, the pooler's address.")
    return parse_database_url("DATABASE_DIRECT_URL", DATABASE_DIRECT_URL)


def migration_database_settings() -> dict[str, Any] | None:
    """Return user, password and location from MIGRATION_DATABASE_URL, or None if it is not set.

    Raises ImproperlyConfigured if it is not PostgreSQL.
    """
    if not MIGRATION_DATABASE_URL:
        return None
    found = parse_database_url("MIGRATION_DATABASE_URL", MIGRATION_DATABASE_URL)
    return {name: found[name] for name in ("USER", "PASSWORD", "HOST", "PORT", "NAME")}


def parse_database_url(name: str, url: str) -> dict[str, Any]:
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
