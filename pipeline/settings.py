"""Django's settings: one module for every environment; what differs stands in `pipeline.env`."""

from typing import Any

from pipeline import env
from pipeline.database.cluster import Cluster
from pipeline.logs import configure_logging

BASE_DIR = env.BASE_DIR
SECRET_KEY = env.secret_key()
DEBUG = env.DEBUG
ALLOWED_HOSTS = env.ALLOWED_HOSTS

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "pgtrigger",
    "tasks",
    "jobs",
    "applicants",
    "pipeline",
]
MIDDLEWARE = [
    "pipeline.middleware.request_id",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.common.CommonMiddleware",
]
ROOT_URLCONF = "pipeline.urls"
WSGI_APPLICATION = "pipeline.wsgi.application"
AUTH_USER_MODEL = "jobs.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
APPEND_SLASH = False
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"

# A change waits at most this long for a job's lock (then BUSY), and a client that hangs with the
# lock in its hands loses it.
_SESSION = "-c lock_timeout=3000 -c idle_in_transaction_session_timeout=30000"


def _database(**config: Any) -> dict[str, Any]:
    options = {"options": _SESSION} | config.get("OPTIONS", {})
    return config | {"CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True, "OPTIONS": options}


EMBEDDED_POSTGRES: Cluster | None = None
if env.DATABASE_URL:
    DATABASES = {"default": _database(**env.database_from_url())}
else:
    EMBEDDED_POSTGRES = Cluster(
        env.STATE_DIR / "postgres" / ("test" if env.TESTING else "dev"),
        fsync="off" if env.TESTING else "on",
    )
    DATABASES = {
        "default": _database(
            ENGINE="pipeline.database",
            NAME="postgres",
            USER="postgres",
            HOST=str(EMBEDDED_POSTGRES.socket_dir),
        )
    }

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["pipeline.api.auth.BearerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["pipeline.api.rendering.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["pipeline.api.parsing.StrictJSONParser"],
    "DEFAULT_METADATA_CLASS": None,
    "URL_FORMAT_OVERRIDE": None,
    "EXCEPTION_HANDLER": "pipeline.api.problems.problem_response",
    "UNAUTHENTICATED_USER": "pipeline.api.callers.Nobody",
}

LOGGING_CONFIG = None
configure_logging(level=env.LOG_LEVEL, as_json=env.LOG_FORMAT == "json")
