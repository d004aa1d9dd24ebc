"""Load the shared fixtures of `tests/support`, and prepare the test database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("tests.support")

from tests.support.clean_database import switch_truncate_trigger  # noqa: E402

pytest_plugins = (
    "tests.support.chat",
    "tests.support.clean_database",
    "tests.support.collector",
    "tests.support.decay_worker",
    "tests.support.documents",
    "tests.support.durations",
    "tests.support.environment",
    "tests.support.fast",
    "tests.support.forked",
    "tests.support.history",
    "tests.support.live",
    "tests.support.logs",
    "tests.support.members",
    "tests.support.outbox",
    "tests.support.page_templates",
    "tests.support.passwords",
    "tests.support.push",
    "tests.support.receiver",
    "tests.support.schedule",
    "tests.support.sdks",
    "tests.support.server",
    "tests.support.spans",
    "tests.support.task_workers",
    "tests.support.template_database",
    "tests.support.turns",
)


@pytest.fixture
def truncate_is_refused() -> Iterator[None]:
    """Switch on the trigger that refuses TRUNCATE on the log, as in production."""
    switch_truncate_trigger("ENABLE")
    yield
    switch_truncate_trigger("DISABLE")
