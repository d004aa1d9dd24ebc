"""Audit of paused types and changed schedules, written with the change and kept for a year."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction

from tasks import control, errors
from tasks.models import Breaker, TaskAct, TaskType
from tasks.scheduling import schedules
from tasks.worker import chores

pytestmark = pytest.mark.django_db


def acts() -> list[tuple[Any, ...]]:
    return list(TaskAct.objects.order_by("id").values_list("what", "target", "actor", "owner_id"))


def test_pauses_and_resumes_are_written_down_for_whom_they_count() -> None:
    owner = uuid4()

    control.pause("test.noop", actor="ana", owner_id=owner)
    control.pause("test.versions", version=2, actor="ben")
    control.resume("test.noop", actor="cleo", owner_id=owner)

    assert acts() == [
        ("paused", "test.noop", "ana", owner),
        ("paused", "test.versions@2", "ben", None),
        ("resumed", "test.noop", "cleo", owner),
    ]


def test_what_changes_nothing_for_an_owner_is_no_act() -> None:
    owner = uuid4()

    control.resume("test.noop", actor="ana", owner_id=owner)
    for actor in ("ben", "cleo"):
        control.pause("test.noop", actor=actor, owner_id=owner)
    for actor in ("dora", "emil"):
        control.resume("test.noop", actor=actor, owner_id=owner)

    assert [act[::2] for act in acts()] == [("paused", "ben"), ("resumed", "dora")]


def test_that_somebody_closed_a_breaker_stands_there_only_if_it_was_open() -> None:
    control.resume("test.versions", actor="ana")
    TaskType.objects.filter(key="test.versions", version=1).update(breaker=Breaker.OPEN)

    control.resume("test.versions", actor="ben")

    assert [act[:3] for act in acts()] == [
        ("resumed", "test.versions", "ana"),
        ("resumed", "test.versions", "ben"),
        ("breaker_closed", "test.versions@1", "ben"),
    ]


def test_what_is_refused_or_rolled_back_was_no_act() -> None:
    with pytest.raises(errors.UnknownType):
        control.pause("no.such", actor="ana")
    with transaction.atomic():
        control.pause("test.noop", actor="ana")
        transaction.set_rollback(True)

    assert acts() == []
    assert not TaskType.objects.get(key="test.noop").paused


def test_schedules_are_made_changed_and_ended_in_somebodys_name() -> None:
    made = schedules.create(
        name="s", cron="0 9 * * *", type_key="test.noop", owner_id=uuid4(), actor="ana"
    )
    made.cron = "0 10 * * *"
    schedules.save(made, actor="ben")
    name, owner = str(made.id), made.owner_id
    schedules.delete(made, actor="cleo")
    schedules.ensure("tidy", "0 3 * * *", "test.noop")

    assert acts()[:3] == [
        ("schedule_created", name, "ana", owner),
        ("schedule_changed", name, "ben", owner),
        ("schedule_deleted", name, "cleo", owner),
    ]
    assert acts()[3][2:] == ("site", None)
    assert [act.data["cron"] for act in TaskAct.objects.order_by("id")[:2]] == [
        *("0 9 * * *", "0 10 * * *")
    ]


def test_that_the_scheduler_switched_one_off_stands_there_with_the_reason() -> None:
    made = schedules.create(name="s", cron="* * * * *", type_key="test.noop")
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE tasks_schedule SET type_key = 'no.such', next_at = now() - interval '2 hours'"
        )

    schedules.enqueue_due()

    [told] = TaskAct.objects.filter(what="schedule_switched_off")
    assert (told.actor, told.target, told.data["enabled"]) == ("site", str(made.id), False)
    assert "no.such" in told.data["problem"]


def test_acts_are_kept_for_a_year() -> None:
    for days in (364, 367):
        control.pause("test.noop", actor=f"{days} days ago")
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE tasks_taskact SET at = now() - %s * interval '1 day' WHERE actor = %s",
                [days, f"{days} days ago"],
            )

    chores.remove_old()

    assert [act[2] for act in acts()] == ["364 days ago"]
