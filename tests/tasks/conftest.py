from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection

from tests.tasks.handlers import MARKS
from tests.tasks.workers import start_worker

__all__ = ["start_worker"]


@pytest.fixture
def marks(transactional_db: None) -> Iterator[None]:
    """A table in which handlers leave marks."""
    with connection.cursor() as cursor:
        cursor.execute(MARKS)
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE task_marks")
