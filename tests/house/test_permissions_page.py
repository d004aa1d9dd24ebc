"""`docs/permissions.md` shows the table of permissions that the code enforces."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.models import JobRole
from pipeline.domain import permissions
from pipeline.domain.permissions import Action
from tools.permissions import PAGE, drawn

TEXT = PAGE.read_text()


def test_the_page_shows_the_table_in_code() -> None:
    assert drawn(TEXT) == TEXT, "run `python -m tools.permissions`"
    assert TEXT.count("\n| ") > len(Action)


def test_a_permission_that_changes_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = replace(permissions.RULES[Action.CLOSE_JOB], job_role=JobRole.INTERVIEWER)
    monkeypatch.setitem(permissions.RULES, Action.CLOSE_JOB, rule)

    assert drawn(TEXT) != TEXT
