"""`manage.py tasks`: an operator inspects and controls background work, and is recorded."""

from __future__ import annotations

from io import StringIO
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db.models.functions import Now

from tasks.enqueue import enqueue
from tasks.models import Task, TaskEvent, TaskType

pytestmark = pytest.mark.django_db


def tasks(*words: Any) -> str:
    said = StringIO()
    call_command("tasks", "--actor", "operator:ann", *map(str, words), stdout=said)
    return said.getvalue()


def dead_task() -> UUID:
    task_id = enqueue("demo.sleep", {"label": "porridge"}).id
    error = {"class": "RuntimeError", "message": "too hot", "traceback": "line 1\nline 2"}
    Task.objects.filter(id=task_id).update(status="DEAD", finished_at=Now(), errors=[error])
    return task_id


def status_of(task_id: UUID) -> str:
    return Task.objects.get(id=task_id).status


def test_the_numbers_tell_what_waits_and_who_works() -> None:
    enqueue("demo.sleep", {}, priority=7)
    dead_task()

    said = tasks("stats")

    assert "pending  demo.sleep@1" in said
    assert "priority    7  1" in said
    assert "dead     demo.sleep@1                     1" in said
    assert "workers  0 alive" in said


def test_tasks_are_listed_and_shown_whole() -> None:
    task_id = dead_task()
    enqueue("demo.sleep", {})

    assert len(tasks("list", "--type", "demo.sleep").splitlines()) == 1 + 2  # and a heading
    assert str(task_id) in tasks("list", "--status", "DEAD")
    assert "RuntimeError too hot" in tasks("dead")
    assert tasks("dead", "--type", "no.such") == "none\n"
    shown = tasks("show", task_id)
    assert "porridge" in shown
    assert "line 1\nline 2" in shown


def test_dead_letters_are_replayed_and_discarded_under_the_operators_name() -> None:
    first, second = dead_task(), dead_task()

    tasks("replay", first)
    tasks("discard", second)

    assert (status_of(first), status_of(second)) == ("PENDING", "DISCARDED")
    told = TaskEvent.objects.filter(actor="operator:ann").values_list("task_id", "kind")
    assert set(told) == {(first, "replayed"), (second, "discarded")}


def test_all_dead_letters_of_a_type_are_replayed_but_for_a_limit() -> None:
    for _ in range(3):
        dead_task()

    assert tasks("replay-all", "demo.sleep", "--limit", 2) == "2 pending\n"
    assert Task.objects.filter(status="DEAD").count() == 1


def test_a_sensitive_type_wants_a_word_more() -> None:
    TaskType.objects.filter(key="demo.sleep").update(sensitive=True)
    task_id = dead_task()

    with pytest.raises(CommandError, match="--confirmed"):
        tasks("replay", task_id)
    tasks("replay", task_id, "--confirmed")

    assert status_of(task_id) == "PENDING"


def test_a_task_is_cancelled_and_a_type_paused_and_resumed() -> None:
    task_id = enqueue("demo.sleep", {}).id

    assert tasks("cancel", task_id) == "CANCELLED\n"
    tasks("pause", "demo.sleep")
    assert TaskType.objects.get(key="demo.sleep").paused_by == "operator:ann"
    tasks("resume", "demo.sleep")

    assert not TaskType.objects.get(key="demo.sleep").paused


def test_a_task_that_does_harm_is_put_away_and_comes_back() -> None:
    task_id = enqueue("demo.sleep", {}).id

    tasks("bury", task_id, "--reason", "too hot")

    assert str(task_id) in tasks("dead")
    [told] = TaskEvent.objects.filter(task_id=task_id, kind="dead")
    assert (told.actor, told.data["reason"]) == ("operator:ann", "too hot")
    tasks("replay", task_id)
    assert status_of(task_id) == "PENDING"
    with pytest.raises(CommandError, match="not dead"):
        tasks("discard", task_id)


@pytest.mark.parametrize("verb", ["show", "cancel", "bury", "replay", "discard"])
def test_what_is_not_there_is_said_in_a_sentence(verb: str) -> None:
    with pytest.raises(CommandError, match="no task"):
        tasks(verb, uuid4())


@pytest.mark.parametrize("words", [("replay-all", "demo.sleep", "--limit", "0"), ("pause",), ()])
def test_slips_are_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        tasks(*words)


def test_a_type_that_is_none_cannot_be_paused() -> None:
    with pytest.raises(CommandError, match="no task type"):
        tasks("pause", "no.such")
