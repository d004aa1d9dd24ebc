"""Load the shared fixtures of `tests/support`, and prepare the test database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.register_assert_rewrite("tests.support")

from tests.support.clean_database import switch_truncate_trigger  # noqa: E402

pytest_plugins = (
    "tests.support.clean_database",
    "tests.support.decay_worker",
    "tests.support.environment",
    "tests.support.fast",
    "tests.support.history",
    "tests.support.live",
    "tests.support.logs",
    "tests.support.members",
    "tests.support.outbox",
    "tests.support.receiver",
    "tests.support.task_workers",
)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """Let transactional tests empty the log between them; UPDATE and DELETE stay refused."""
    with django_db_blocker.unblock():
        switch_truncate_trigger("DISABLE")


@pytest.fixture
def truncate_is_refused() -> Iterator[None]:
    """Switch on the trigger that refuses TRUNCATE on the log, as in production."""
    switch_truncate_trigger("ENABLE")
    yield
    switch_truncate_trigger("DISABLE")
