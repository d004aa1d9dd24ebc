"""One sentence instead of a traceback, if a command or server ends because of its database.

Every process of the site installs this, so no command has to catch such errors itself.
"""

from __future__ import annotations

import sys
from types import TracebackType

import psycopg
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from pipeline.database.errors import ClusterError

MIGRATING = "MIGRATION_DATABASE_URL"


def address_variable(error: BaseException | None = None) -> str:
    """Return the name of the setting with the address that failed."""
    if error is not None and MIGRATING in getattr(error, "__notes__", ()):
        return MIGRATING
    return "DATABASE_DIRECT_URL" if settings.POOLED_DATABASE else "DATABASE_URL"


def connection_advice(error: BaseException) -> str:
    """Return what to do about an error of connection, rights or tables; empty for any other."""
    cause = error if isinstance(error, psycopg.Error) else error.__cause__
    said, variable = str(error), address_variable(error)
    if isinstance(cause, psycopg.errors.InsufficientPrivilege):
        return f"The role in {variable} lacks this right. Set {MIGRATING} to the owner's address."
    if isinstance(cause, psycopg.errors.UndefinedTable | psycopg.errors.UndefinedColumn):
        return "Run manage.py migrate."
    if not isinstance(cause, psycopg.OperationalError) or cause.sqlstate is not None:
        return ""
    if "unsupported startup parameter" in said:
        if variable == "DATABASE_URL":
            return "It is a pooler's address. Set DATABASE_DIRECT_URL to PostgreSQL's own address."
        return f"{variable} is a pooler's address. Set it to PostgreSQL's own address."
    is_refused = "password authentication failed" in said or (
        'role "' in said and "does not exist" in said
    )
    if is_refused and variable != MIGRATING:
        return (
            f"Run manage.py migrate with {MIGRATING} if it has not created the role yet, or correct"
            f" {variable}."
        )
    if 'database "' in said and "does not exist" in said:
        return f"Create the database, or correct {variable}."
    return f"Correct {variable}." if is_refused else f"Start PostgreSQL, or correct {variable}."


def install_hook() -> None:
    """End this process with one sentence if it fails for a reason that an operator can mend.

    With --traceback on the command line, the traceback follows.
    """
    usual = sys.excepthook

    def end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        said = " ".join(str(error).split())
        if isinstance(error, ImproperlyConfigured | ClusterError):
            sys.stderr.write(f"{said}\n")
        elif advice := connection_advice(error):
            sys.stderr.write(f"The database refuses this: {said.rstrip('.')}. {advice}\n")
        else:
            usual(kind, error, trace)
            return
        if "--traceback" in sys.argv:
            usual(kind, error, trace)

    sys.excepthook = end
