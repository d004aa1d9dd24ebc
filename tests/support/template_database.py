"""The database of a test run: a copy of a template, which is migrated once for all workers.

Migrating takes seconds, and each worker of each run needs a database. The template stays in the
embedded PostgreSQL of the tests until the product's code or its requirements change.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection
from django.test.utils import setup_databases, teardown_databases

from pipeline.database import file_locks
from tests.support.clean_database import (
    close_cleaner,
    empty_the_database,
    switch_truncate_trigger,
)
from tests.support.environment import ROOT

PRODUCT = ("applicants", "jobs", "pipeline", "tasks")
PREFIX = "migrated_"


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_modify_db_settings: None, django_db_blocker: Any
) -> Iterator[None]:
    """Make the test database. Let tests empty the log; UPDATE and DELETE stay refused.

    This is for modules with `kept_database` too, whose tests have no mark for the database: without
    a marked test, pytest-django's own fixture would leave them the database of the site.
    """
    creation = connection.creation
    if settings.EMBEDDED_POSTGRES:
        migrate = creation.create_test_db
        creation.create_test_db = partial(copy_migrated_database, migrate)  # type: ignore[method-assign]
    with django_db_blocker.unblock():
        made = setup_databases(verbosity=0, interactive=False, aliases={DEFAULT_DB_ALIAS: False})
        switch_truncate_trigger("DISABLE")
        empty_the_database()
    yield
    close_cleaner()
    with django_db_blocker.unblock():
        teardown_databases(made, verbosity=0)


def copy_migrated_database(migrate: Callable[..., str], **options: Any) -> str:
    """Make the test database from the template, and the template first if there is none.

    `migrate` is Django's way to make a test database. Returns the name of the database.
    """
    creation: Any = connection.creation
    own = connection.settings_dict
    cluster: Any = settings.EMBEDDED_POSTGRES
    cluster.ensure()
    name, template = own_name(cluster.base), f"{PREFIX}{fingerprint_of_product()}"
    with file_locks.hold(cluster.base / "template.lock"):
        with creation._nodb_cursor() as cursor:
            cursor.execute(
                "SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [PREFIX]
            )
            found = [each for (each,) in cursor.fetchall()]
            for outdated in set(found) - {template}:
                cursor.execute(f'DROP DATABASE "{outdated}" WITH (FORCE)')
        if template not in found:
            usual, own["TEST"]["NAME"] = own["TEST"]["NAME"], f"{template}_unfinished"
            migrate(**options | {"serialize": False, "autoclobber": True})
            connection.close()
            own["TEST"]["NAME"] = usual
        with creation._nodb_cursor() as cursor:
            if template not in found:
                cursor.execute(f'ALTER DATABASE "{template}_unfinished" RENAME TO "{template}"')
            cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
            cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    own["NAME"] = settings.DATABASES["default"]["NAME"] = name
    return name


def own_name(base: Path) -> str:
    """Return a name for a database that no other process of the tests uses while this one lives."""
    for number in count():
        place = file_locks.open_private(base / f"test-{number}.lock")
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(place)
        else:
            return f"test_{number}"  # the lock is held until this process ends
    raise AssertionError("there is always a next number")


def fingerprint_of_product() -> str:
    """Return a hash of everything that can change the content of a migrated database."""
    code = (path for folder in PRODUCT for path in sorted((ROOT / folder).rglob("*.py")))
    found = sha256()
    for path in (*code, ROOT / "requirements-dev.txt"):
        found.update(f"{path}\0".encode() + path.read_bytes())
    return found.hexdigest()[:16]
