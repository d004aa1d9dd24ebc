"""Django's settings, one module for all environments.

`pipeline.config.env` holds the differences.
"""

import warnings
from typing import Any

from csp.constants import NONE, SELF

from pipeline.api.openapi.settings import spectacular_settings
from pipeline.config import (
    attachments,
    catalogues,
    correspondence,
    env,
    keys,
    languages,
    site_texts,
)
from pipeline.config.allauth import ALLAUTH_SETTINGS
from pipeline.config.logging import configure_logging, start_error_reports
from pipeline.database.cluster import Cluster
from pipeline.database.roles import APPLICATION, OWNER

BASE_DIR = env.BASE_DIR
# A wheel has templates and static files inside the package; in a checkout, they are beside it.
_PACKAGED_ASSETS = BASE_DIR / "pipeline" / "assets"
_ASSETS = _PACKAGED_ASSETS if _PACKAGED_ASSETS.is_dir() else BASE_DIR
SECRET_KEY = env.secret_key()
SECRET_KEY_FALLBACKS = env.secret_key_fallbacks()
# Without a key of their own, receipts are signed with one derived from SECRET_KEY.
RECEIPT_KEY = keys.parse_receipt("RECEIPT_KEY", env.RECEIPT_KEY) if env.RECEIPT_KEY else b""
RECEIPT_FORMER_KEYS = [keys.parse_former_receipt(each) for each in env.RECEIPT_FORMER_KEYS]
# The key of notifications on devices; empty if there are none.
VAPID_PRIVATE_KEY = keys.parse_vapid(env.vapid_private_key())
VAPID_SUBJECT = ""
if VAPID_PRIVATE_KEY or env.VAPID_SUBJECT:
    VAPID_SUBJECT = keys.parse_vapid_subject(env.VAPID_SUBJECT, sender=env.MAIL_FROM)
DEBUG = env.debug()
ALLOWED_HOSTS = env.ALLOWED_HOSTS

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "django.contrib.admin.apps.SimpleAdminConfig",  # loaded with the URLs; workers have none
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "heroicons",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "pgtrigger",
    "tasks",
    "jobs",
    "applicants",
    "pipeline",
]
MIDDLEWARE = [
    "pipeline.web.requests.measure",
    "pipeline.web.middleware.request_id",
    "pipeline.web.requests.trace",
    "pipeline.web.languages.middleware",
    "pipeline.web.middleware.browser_policy_headers",
    "pipeline.web.middleware.api_headers",
    "pipeline.web.middleware.Security",
    "pipeline.web.middleware.ContentSecurityPolicy",
    "pipeline.pages.careers.hosts.own_domains",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "pipeline.web.middleware.forbid_caching",
    "pipeline.pages.staff.middleware.end_idle_sessions",
    "pipeline.web.middleware.PageCommonMiddleware",
    "pipeline.web.middleware.PageCSRFMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "pipeline.pages.staff.middleware.RefusedFormMiddleware",
    "pipeline.pages.staff.middleware.require_operator_second_step",
    "pipeline.web.middleware.time_zone",
    "pipeline.pages.submissions.answer_once",
    "pipeline.pages.error_messages.redirect_post_only",
    "pipeline.pages.error_messages.answer_missing",
]
ROOT_URLCONF = "pipeline.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [_ASSETS / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "pipeline.pages.context_processors.frame",
            ],
            "builtins": [
                "django.templatetags.static",
                "django.templatetags.i18n",
                "django.contrib.humanize.templatetags.humanize",
                "heroicons.templatetags.heroicons",
                "pipeline.templatetags.language",
                "pipeline.templatetags.line",
                "pipeline.templatetags.live",
                "pipeline.templatetags.look",
            ],
        },
    }
]
AUTH_USER_MODEL = "jobs.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "company_jobs"
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
# For new passwords; existing ones stay as they are.
AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in (
        ("UserAttributeSimilarityValidator", {}),
        ("MinimumLengthValidator", {"min_length": 12}),
        ("CommonPasswordValidator", {}),
        ("NumericPasswordValidator", {}),
    )
]
_MOST_CHARACTERS = "pipeline.config.keys.MaximumPasswordLengthValidator"
AUTH_PASSWORD_VALIDATORS.append({"NAME": _MOST_CHARACTERS, "OPTIONS": {"max_length": 128}})
SILENCED_SYSTEM_CHECKS = [
    "security.W001",  # `pipeline.web.middleware.Security` is Django's, under another name,
    "security.W003",  # and so is `PageCSRFMiddleware` there
    "security.W002",  # X-Frame-Options: the policy's frame-ancestors covers it
    "security.W005",  # other names below this one, and
    "security.W021",  # browsers' lists: both bind more than this site, so its operator chooses
    "security.W008",  # the proxy that ends TLS redirects; SECURE_SSL_REDIRECT does where it cannot
]
STAFF_IDLE_HOURS = env.STAFF_IDLE_HOURS
STAFF_SESSION_SECONDS = 14 * 86_400  # of a session in constant use
CSRF_FAILURE_VIEW = "pipeline.server.error_views.csrf_failure"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.SECURE_COOKIES
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
# Browsers accept a cookie with this prefix only over TLS, from this exact host and for all paths.
_PREFIX = "__Host-" if env.SECURE_COOKIES else ""
SESSION_COOKIE_NAME = f"{_PREFIX}sessionid"
CSRF_COOKIE_NAME = f"{_PREFIX}csrftoken"
LANGUAGE_COOKIE_NAME = f"{_PREFIX}language"
LANGUAGE_COOKIE_AGE = 365 * 86_400
SECURE_HSTS_SECONDS = env.HSTS_SECONDS
SECURE_HSTS_INCLUDE_SUBDOMAINS = env.HSTS_INCLUDE_SUBDOMAINS
SECURE_HSTS_PRELOAD = env.HSTS_PRELOAD
SECURE_SSL_REDIRECT = env.SSL_REDIRECT
# Monitoring connects directly, past the proxy that ends TLS.
SECURE_REDIRECT_EXEMPT = ["^health/", "^metrics$"]
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_TRUSTED_ORIGINS = env.trusted_origins()
STATIC_URL = "/static/"
STATICFILES_DIRS = [_ASSETS / "static"]
# Nothing needs to be collected before the first start. Collected files have hashed names.
STATIC_ROOT = None if env.TESTING else env.STATIC_ROOT
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = not env.STATIC_FILES_COLLECTED
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "attachments": attachments.parse_storage(env.ATTACHMENT_STORAGE),
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if env.TESTING
        else "pipeline.web.static_files.HashedStaticFiles"
    },
}
warnings.filterwarnings("ignore", "No directory at", module="whitenoise|django|pipeline.server")
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
APPEND_SLASH = False
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = languages.SOURCE
LANGUAGES = [(code, languages.NAMES[code]) for code in languages.OFFERED]
DEFAULT_LANGUAGE = env.DEFAULT_LANGUAGE
LOCALE_PATHS = [_ASSETS / "locale"]
catalogues.compile_stale(LOCALE_PATHS[0])

vars().update(env.mail_settings())
DEV_MAIL = env.DEV_MAIL
DEV_MAIL_FOLDER = env.STATE_DIR / "mail"
NOTIFY = not env.TESTING  # whether events are emailed; tests that need it switch it on
SITE_URL = env.SITE_URL
TERMS_TEXT = site_texts.read("TERMS_FILE", env.TERMS_FILE)
ACCESSIBILITY_TEXT = site_texts.read("ACCESSIBILITY_FILE", env.ACCESSIBILITY_FILE)
SIGN_UP = env.SIGN_UP
SIGN_UP_CONTACT = env.SIGN_UP_CONTACT
SIGN_UP_REFUSED_DOMAINS = {each.strip().lower() for each in env.SIGN_UP_REFUSED_DOMAINS}
SITE_JOB_LIST = env.SITE_JOB_LIST
CAREERS_NAME_SERVERS = env.careers_name_servers()
DECISION_UNDO_SECONDS = env.DECISION_UNDO_SECONDS
CONTEST_DAYS = env.CONTEST_DAYS
REPLY_ADDRESS = correspondence.parse_reply_address(env.REPLY_ADDRESS)
INCOMING_AUTHSERV_ID = env.INCOMING_AUTHSERV_ID
INCOMING_EMAIL_BYTES = env.INCOMING_EMAIL_BYTES
MESSAGES_PER_DAY = env.MESSAGES_PER_DAY
BULK_MESSAGE_PEOPLE = env.BULK_MESSAGE_PEOPLE
BULK_MESSAGES_PER_MINUTE = env.BULK_MESSAGES_PER_MINUTE
EMAIL_TIMEOUT = 10  # seconds
EMAIL_RATE_PER_MINUTE = env.EMAIL_RATE_PER_MINUTE
DEFAULT_FROM_EMAIL = env.MAIL_FROM

# A change waits at most this long for a job's lock (then BUSY), and a client that hangs while
# holding the lock loses it.
# PostgreSQL asks web servers' machines for signs of life, so that one which has vanished keeps no
# lock; deploy/pgbouncer/pgbouncer.ini does the same for the pooler's clients.
_SESSION = (
    f"-c application_name=next-in-line:{env.program_name()}"
    " -c lock_timeout=3000 -c idle_in_transaction_session_timeout=30000"
    " -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"
    " -c tcp_user_timeout=10000"
    " -c plan_cache_mode=force_generic_plan"  # prepared statements are planned once
)
# A network that silently drops packets is noticed after ten seconds instead of minutes. Local
# sockets ignore this.
_NETWORK = {
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


def _databases(session: str = _SESSION, /, **config: Any) -> dict[str, Any]:
    given = config.get("OPTIONS", {})
    options = _NETWORK | given | {"options": f"{session} {given.get('options', '')}".strip()}
    own = {"ENGINE": "pipeline.database", "CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True}
    return config | own | {"OPTIONS": options}


EMBEDDED_POSTGRES: Cluster | None = None
# A pooler in transaction mode, through which web servers run their statements. Everything else
# needs PostgreSQL itself.
POOLED_DATABASE: dict[str, Any] | None = None
# Connection settings for migrations: their role owns the tables, the application's does not. None
# means one role for both.
MIGRATION_DATABASE: dict[str, Any] | None = env.migration_database_settings()
_direct = env.direct_database_settings()
if env.DATABASE_URL:
    DATABASES = {"default": _databases(**env.database_settings())}
    if _direct:
        POOLED_DATABASE = _databases("", **env.database_settings())
        # The limit of requests may be set on the role. It is not for workers and commands.
        DATABASES["default"] = _databases(f"{_SESSION} -c statement_timeout=0", **_direct)
    if env.REPLICA_URL:
        _replica = env.parse_database_url("REPLICA_URL", env.REPLICA_URL)
        DATABASES["replica"] = _databases(**_replica)
else:
    EMBEDDED_POSTGRES = Cluster(
        env.STATE_DIR / "postgres" / ("test" if env.TESTING else "dev"),
        fsync="off" if env.TESTING else "on",
    )
    DATABASES = {
        "default": _databases(
            NAME="postgres",
            USER="postgres" if env.TESTING else APPLICATION,
            PASSWORD="",
            HOST=str(EMBEDDED_POSTGRES.socket_dir),
        )
    }

    MIGRATION_DATABASE = None if env.TESTING else {"USER": OWNER}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "pipeline.api.auth.BearerAuthentication",
        "pipeline.api.auth.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["pipeline.api.rendering.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["pipeline.api.parameters.StrictJSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "pipeline.api.rendering.Negotiation",
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "pipeline.api.openapi.document.Inspector",
    "URL_FORMAT_OVERRIDE": None,
    "EXCEPTION_HANDLER": "pipeline.api.problems.respond",
    "UNAUTHENTICATED_USER": "pipeline.api.auth.AnonymousCaller",
}

TRUSTED_PROXIES = env.trusted_proxies()
PROXY_STAMPS = env.PROXY_STAMPS
STATEMENT_SECONDS = env.STATEMENT_SECONDS
THROTTLE_RATES = env.throttle_rates()
TASK_BACKLOG_LIMIT = env.TASK_BACKLOG_LIMIT
TASK_BACKLOG_PER_COMPANY = env.TASK_BACKLOG_PER_COMPANY
FILE_BYTES_PER_COMPANY = env.FILE_BYTES_PER_COMPANY
ATTACHMENT_BYTES = env.ATTACHMENT_BYTES
ATTACHMENTS_PER_APPLICATION = env.ATTACHMENTS_PER_APPLICATION
ATTACHMENT_BYTES_PER_COMPANY = env.ATTACHMENT_BYTES_PER_COMPANY
ATTACHMENT_REMOVALS_FILE = env.ATTACHMENT_REMOVALS_FILE
CLAMAV_ADDRESS = attachments.parse_scanner(env.CLAMAV_ADDRESS)
# Files of forms are parsed on disk, like the bodies they come in.
FILE_UPLOAD_MAX_MEMORY_SIZE = 262_144
DEMO_TASKS = env.DEMO_TASKS
WEBHOOK_ALLOW_PRIVATE = env.WEBHOOK_ALLOW_PRIVATE
CHAT_HOSTS = env.CHAT_HOSTS
PREPARED_STATEMENTS = env.PREPARED_STATEMENTS
ALIVE_FILE = env.ALIVE_FILE
END_WITH_PARENT = env.END_WITH_PARENT
ANCHOR_FILE = env.ANCHOR_FILE
ANCHOR_KEY_FILE = env.ANCHOR_KEY_FILE
ARCHIVE_DIR = env.ARCHIVE_DIR
ARCHIVE_AFTER_DAYS = env.ARCHIVE_AFTER_DAYS

# All processes share the default cache, because allauth counts in it; every access is a query. Data
# that one process may keep for itself goes into "local".
CACHES = {
    "local": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "shared_cache",
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    },
}
vars().update(ALLAUTH_SETTINGS)

SPECTACULAR_SETTINGS = spectacular_settings(session_cookie="sessionid")

# The environment variables that task child processes see, besides paths and locale.
TASK_ENVIRONMENT = [name for name in env.NAMES if name != "MIGRATION_DATABASE_URL"]

# Modules that handlers import when they run; loaded once for all children of a worker.
TASK_PRELOAD = ["icalendar", "pipeline.webhooks.deliver", "pipeline.notifications.push"]
LOGGING_CONFIG = None
configure_logging(level=env.LOG_LEVEL, as_json=env.LOG_FORMAT == "json")
start_error_reports(env.SENTRY_DSN, environment=env.SENTRY_ENVIRONMENT)
