"""`manage.py submit_tasks` against a running site."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from jobs.models import Scope
from pipeline.management.commands import submit_tasks
from tasks.models import Task
from tests.support import factories
from tests.support.callers import Caller, key_of
from tests.support.server import serving
from tests.support.task_workers import StartWorker

pytestmark = pytest.mark.django_db(transaction=True)


def submit(**options: Any) -> str:
    """Run the command; what it says."""
    said = StringIO()
    call_command("submit_tasks", stdout=said, stderr=said, **options)
    return said.getvalue()


@pytest.mark.slow
def test_it_shows_tasks_being_done_on_time_or_ends_with_an_error(
    environment: dict[str, str],
    tmp_path: Path,
    acme: Caller,
    start_worker: StartWorker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(environment, tmp_path / "web.log", workers=1) as url:
        with monkeypatch.context() as hurried:
            hurried.setattr(submit_tasks, "PATIENCE_SECONDS", 0.0)
            with pytest.raises(CommandError, match="3 of 3 were not done"):
                submit(count=3, within=0.0, url=url, key=acme.token)
        start_worker("--slots", "1")
        said = submit(count=150, within=1.0, url=url, key=acme.token)

        with pytest.raises(CommandError, match="scope 'write'"):
            submit(count=1, url=url, key=key_of(factories.company().id, Scope.READ).token)
        with pytest.raises(CommandError, match="does not accept this key"):
            submit(count=1, url=url, key="nilk_nobodys")

    assert "150 tasks submitted" in said
    assert "150 succeeded" in said
    assert "p50" in said
    assert "All 150 were done." in said
    assert Task.objects.count() == 153


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:1", "Nothing answers at http://127.0.0.1:1"),
        ("localhost", "is not an address like"),
    ],
)
def test_a_site_that_is_not_there_is_named(acme: Caller, url: str, why: str) -> None:
    with pytest.raises(CommandError, match=why):
        submit(count=1, url=url, key=acme.token)
