"""Schedules: one task for each time, by the zone's clocks, whoever leads."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from uuid import uuid4

import pytest
from django.db import connection

from tasks.errors import BadSchedule, InvalidPayload, UnknownType
from tasks.models import Schedule, Task
from tasks.scheduling import schedules
from tasks.scheduling.schedules import MOST_MADE_UP, MOST_TASKS, next_times


class DueSince(Protocol):
    def __call__(self, minutes: float, **columns: Any) -> Schedule: ...


@pytest.fixture
def due_since() -> DueSince:
    """Make schedules of every minute, whose next time was this many minutes ago.

    The test begins early in a minute: at the turn of one, all that was made before it would be due
    again.
    """
    while datetime.now(UTC).second >= 45:
        time.sleep(0.5)
    now = datetime.now(UTC).replace(second=0, microsecond=0)

    def make(minutes: float, **columns: Any) -> Schedule:
        made = schedules.create(name="s", cron="* * * * *", type_key="test.noop", **columns)
        Schedule.objects.filter(id=made.id).update(next_at=now - timedelta(minutes=minutes))
        return made

    return make


@pytest.mark.django_db(transaction=True)
def test_a_new_schedule_waits_for_its_next_time() -> None:
    made = schedules.create(name="s", cron="* * * * *", type_key="test.noop")

    rest = schedules.enqueue_due()

    assert not Task.objects.exists()
    assert 0 <= rest <= 5
    assert made.next_at.second == 0


@pytest.mark.django_db(transaction=True)
def test_a_due_time_becomes_exactly_one_task_whoever_is_asked(due_since: DueSince) -> None:
    made = due_since(0, payload={"a": 1}, priority=3)

    def ask() -> None:
        schedules.enqueue_due()
        connection.close()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    schedules.enqueue_due()

    [task] = Task.objects.all()
    assert (task.payload, task.priority) == ({"a": 1}, 3)
    assert task.producer == f"schedule:{made.id}"
    made.refresh_from_db()
    assert made.next_at > task.created_at


@pytest.mark.django_db(transaction=True)
def test_even_a_schedule_that_was_set_back_repeats_no_time(due_since: DueSince) -> None:
    made = due_since(0)
    schedules.enqueue_due()
    made.refresh_from_db()
    Schedule.objects.update(next_at=made.last_enqueued_for)

    schedules.enqueue_due()

    assert Task.objects.count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("catch_up", "made"), [(True, 11), (False, 1)])
def test_missed_times_are_made_up_only_if_asked_for(
    catch_up: bool, made: int, due_since: DueSince
) -> None:
    due_since(10, catch_up=catch_up)

    schedules.enqueue_due()

    assert Task.objects.count() in (made, made + 1)  # a minute may have begun meanwhile


@pytest.mark.django_db(transaction=True)
def test_the_last_missed_time_is_made_up_only_while_it_is_nearer_than_the_next(
    due_since: DueSince,
) -> None:
    nearer, farther = (due_since(5 * 60 + late) for late in (20, 40))
    for each in (nearer, farther):
        at = Schedule.objects.get(id=each.id).next_at
        Schedule.objects.filter(id=each.id).update(cron=f"{at.minute} * * * *")

    schedules.enqueue_due()

    assert [task.producer for task in Task.objects.all()] == [f"schedule:{nearer.id}"]


@pytest.mark.django_db(transaction=True)
def test_a_schedule_that_cannot_run_is_switched_off_and_stops_no_other(due_since: DueSince) -> None:
    bad, good = due_since(61), due_since(0)
    Schedule.objects.filter(id=bad.id).update(type_key="no.such")

    schedules.enqueue_due()

    bad.refresh_from_db()
    assert (bad.enabled, "no.such" in bad.problem) == (False, True)
    assert Task.objects.get().producer == f"schedule:{good.id}"


@pytest.mark.django_db(transaction=True)
def test_one_of_a_type_that_is_not_known_here_is_left_to_another_release_for_an_hour(
    due_since: DueSince,
) -> None:
    newer = due_since(59)
    Schedule.objects.update(type_key="no.such")

    rest = schedules.enqueue_due()

    Schedule.objects.update(type_key="test.noop")
    newer.refresh_from_db()
    assert (newer.enabled, newer.problem, rest) == (True, "", 5)
    schedules.enqueue_due()
    assert Task.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_schedules_add_nothing_to_what_waits_too_much_already(
    settings: Any, due_since: DueSince
) -> None:
    settings.TASK_BACKLOG_PER_COMPANY = 3
    company = uuid4()
    for _ in range(2):
        due_since(5, owner_id=company, catch_up=True)
    theirs, sites = due_since(0, owner_id=uuid4()), due_since(0)

    schedules.enqueue_due()
    Schedule.objects.filter(owner_id=company).update(next_at=sites.created_at)
    schedules.enqueue_due()

    waiting = Task.objects.filter(owner_id=company).count()
    assert waiting in (12, 13)  # what one turn has made, and no more
    assert all(each.next_at > sites.created_at for each in Schedule.objects.filter(enabled=True))
    assert Task.objects.filter(producer__in=[f"schedule:{s.id}" for s in (theirs, sites)]).exists()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_turn_is_short_however_much_was_missed(due_since: DueSince) -> None:
    for _ in range(15):
        due_since(60, catch_up=True)

    rest = schedules.enqueue_due()

    assert MOST_TASKS <= Task.objects.count() < MOST_TASKS + MOST_MADE_UP
    assert rest == 0
    for _ in range(5):
        schedules.enqueue_due()
    assert Task.objects.count() >= 15 * 61


@pytest.mark.django_db(transaction=True)
def test_a_disabled_schedule_does_nothing_and_starts_from_now_when_enabled(
    due_since: DueSince,
) -> None:
    made = due_since(10, catch_up=True)
    Schedule.objects.update(enabled=False)
    schedules.enqueue_due()

    made.refresh_from_db()
    made.enabled = True
    schedules.save(made)
    schedules.enqueue_due()

    assert not Task.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_schedule_of_what_cannot_be_enqueued_is_refused() -> None:
    with pytest.raises(UnknownType):
        schedules.create(name="s", cron="* * * * *", type_key="no.such")
    with pytest.raises(InvalidPayload):
        schedules.create(
            name="s", cron="* * * * *", type_key="demo.sleep", payload={"seconds": "long"}
        )


@pytest.mark.django_db(transaction=True)
def test_a_standing_schedule_is_made_once_by_however_many_and_then_left_alone() -> None:
    made = []

    def start() -> None:
        made.append(schedules.ensure("retention", "0 3 * * *", "test.noop", {"a": 1}).id)
        connection.close()

    threads = [threading.Thread(target=start) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    Schedule.objects.update(cron="0 4 * * *")
    schedules.ensure("retention", "0 3 * * *", "test.noop")

    [kept] = Schedule.objects.all()
    assert set(made) == {kept.id}
    assert (kept.cron, kept.payload, kept.owner_id) == ("0 4 * * *", {"a": 1}, None)


@pytest.mark.django_db
def test_an_owners_schedule_of_the_same_name_is_another_one() -> None:
    schedules.create(name="weekly", cron="0 3 * * *", type_key="test.noop", owner_id=uuid4())

    schedules.ensure("weekly", "0 3 * * *", "test.noop")

    assert Schedule.objects.count() == 2


@pytest.mark.django_db
def test_the_next_times_of_a_schedule_can_be_shown() -> None:
    found = next_times("0 9 * * *", "Asia/Tokyo", count=3)

    assert [(at.hour, at.minute, at.tzinfo) for at in found] == [(0, 0, UTC)] * 3
    assert found[1] - found[0] == found[2] - found[1] == timedelta(days=1)
    with pytest.raises(BadSchedule):
        next_times("never")
