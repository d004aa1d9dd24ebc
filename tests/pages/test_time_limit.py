"""Time limit of pages that read too much."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client

from tests.support.history import History, page


@pytest.mark.parametrize(
    ("room", "tab"),
    [("history", "timeline"), ("history", "replay"), ("figures.figures", "figures")],
)
def test_a_page_that_takes_too_long_says_so_and_harms_nothing(
    viewer: Client, past: History, monkeypatch: pytest.MonkeyPatch, room: str, tab: str
) -> None:
    monkeypatch.setattr("pipeline.pages.limits.LONGEST_SECONDS", 0.05)
    monkeypatch.setattr(f"pipeline.pages.{room}.own_job", slow)

    answer = viewer.get(page(past.job, f"{tab}/"))

    assert answer.status_code == 503
    assert answer["Retry-After"]
    assert "This is taking too long" in answer.content.decode()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.1), current_setting('statement_timeout')")
        assert cursor.fetchone()[1] == "0"


def slow(*_: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(3)")
