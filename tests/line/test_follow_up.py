"""Tasks that follow from events are written by the statement that logs the events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from pipeline.domain.states import Move
from pipeline.line import write as follow_up
from pipeline.line.admission import admit
from pipeline.line.event_log import LogEntry
from pipeline.line.lock import lock_job_for, lock_job_of, read_locked_application
from pipeline.line.locked_job import LockedJob
from pipeline.line.moves import make_move
from pipeline.line.write import committed, write
from pipeline.live.announcer import start_announcing, stop_announcing
from pipeline.live.channel import connection_parameters
from pipeline.services.leaving import withdraw
from pipeline.services.settling import settle_next_due
from pipeline.services.turns import acknowledge
from tasks.enqueue import NewTask
from tasks.models import Task, TaskEvent, TaskType
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.round_trips import round_trips_of
from tests.support.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)


def one_for_each(job: LockedJob, entries: list[LogEntry]) -> list[NewTask]:
    """A task for each event of an application."""
    return [
        NewTask("demo.sleep", {"label": f"{entry.event} {entry.seq}"}, producer=str(job.id))
        for entry in entries
        if entry.application_id
    ]


@pytest.fixture
def followed() -> Iterator[None]:
    """Each event of an application is followed by a task."""
    follow_up.register_follow_up(one_for_each)
    yield
    follow_up.unregister_follow_up(one_for_each)


def labels() -> list[str]:
    return list(Task.objects.order_by("id").values_list("payload__label", flat=True))


def test_each_event_writes_its_task_and_the_tasks_history(followed: None) -> None:
    job_id = factories.job(capacity=1)

    factories.applications(job_id, 2)

    assert labels() == ["APPLIED 3", "APPLIED 4"]
    assert Task.objects.filter(producer=str(job_id), status="PENDING").count() == 2
    assert TaskEvent.objects.filter(kind="enqueued").count() == 2


def test_a_change_that_is_rolled_back_leaves_no_task(followed: None) -> None:
    job_id = factories.job()

    with transaction.atomic():
        person = factories.applicant()
        job, people = lock_job_for(job_id, applicant_ids=[person.id])
        admit(
            job,
            people.locked_person(person.id).history,
            applicant_id=person.id,
            name="Ana",
            actor=factories.as_applicant(person.id),
            verified=True,
        )
        write(job)
        written = Task.objects.count()
        transaction.set_rollback(True)

    assert written == 1
    assert labels() == []


def test_tasks_take_no_round_trip_of_their_own(followed: None) -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    holder, waiting = factories.applications(job_id, 2)
    owner = factories.owner_of(holder)

    confirmed = round_trips_of(lambda: acknowledge(application_id=holder.id, actor=owner))
    withdrawn = round_trips_of(lambda: withdraw(application_id=holder.id, actor=owner))

    assert factories.status_of(waiting) == "PENDING_ACKNOWLEDGMENT"
    assert (confirmed, withdrawn) == (2, 3)  # as without tasks: see test_round_trips.py
    assert labels()[2:] == ["ACKNOWLEDGED 5", "WITHDRAWN 6", "PROMOTED 7"]


def test_without_tasks_the_statement_is_the_same_as_ever() -> None:
    holder, _ = factories.applications(factories.job(), 2)
    connection.force_debug_cursor = True
    try:
        withdraw(application_id=holder.id, actor=factories.owner_of(holder))
        sent = [query["sql"] for query in connection.queries]
    finally:
        connection.force_debug_cursor = False

    assert sent
    assert not any("tasks_task" in text for text in sent)


@pytest.mark.slow
def test_a_cascade_of_a_thousand_events_writes_a_thousand_tasks_with_it(followed: None) -> None:
    job_id = factories.job(capacity=500, acknowledge_first_seat=True)
    factories.applications(job_id, 1_000)
    let_time_pass(job_id, factories.WINDOW)
    before = Task.objects.count()
    steps: list[Any] = []

    trips = round_trips_of(lambda: steps.append(settle_next_due()))

    assert [step.events for step in steps if step] == [1_000]
    assert Task.objects.count() - before == 1_000
    assert trips == 5  # as without tasks


def test_what_a_derivation_raises_fails_the_change() -> None:
    def fail(job: LockedJob, entries: list[LogEntry]) -> list[NewTask]:
        raise ValueError("no")

    job_id = factories.job()
    follow_up.register_follow_up(fail)
    try:
        with pytest.raises(ValueError, match="no"):
            factories.application(job_id)
    finally:
        follow_up.unregister_follow_up(fail)

    assert factories.event_names(job_id) == ["JOB_CREATED", "JOB_OPENED"]


def test_sleeping_workers_are_woken_after_the_commit(followed: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO tasks_taskworker (name, slots, sleeping) VALUES ('somebody', 1, true)"
        )
    job_id = factories.job()
    start_announcing()
    try:
        with psycopg.connect(**connection_parameters()) as ear:
            ear.execute("LISTEN tasks")
            application = factories.application(job_id)
            [heard] = ear.notifies(timeout=PATIENCE_SECONDS, stop_after=1)
    finally:
        stop_announcing()

    assert heard.payload == "work"
    assert factories.fresh(application)


def test_registering_twice_is_harmless(followed: None) -> None:
    follow_up.register_follow_up(one_for_each)

    factories.application(factories.job())

    assert labels() == ["APPLIED 3"]


def test_tasks_of_a_type_that_the_database_does_not_know_are_named_in_the_log(
    followed: None, caplog: pytest.LogCaptureFixture
) -> None:
    TaskType.objects.filter(key="demo.sleep").delete()

    person = factories.application(factories.job())

    assert factories.status_of(person) == "ACTIVE"
    assert "follow-up tasks are lost, a type has no row: {'demo.sleep'}" in caplog.text


def test_a_change_that_is_written_in_two_steps_is_announced_once() -> None:
    job_id = factories.job(capacity=2)
    people = factories.applications(job_id, 2)
    heard: list[Any] = []

    def listen(sender: Any, **about: Any) -> None:
        heard.append([entry.event for entry in about["entries"]])

    committed.connect(listen)
    try:
        with transaction.atomic():
            job = lock_job_of(people[0].id)
            attach_second = read_locked_application(job, people[1].id)
            for person in (job.application(people[0].id), attach_second):
                make_move(job, person, Move.WITHDRAW)
                write(job)
    finally:
        committed.disconnect(listen)

    assert heard == [["WITHDRAWN", "WITHDRAWN"]]


def test_a_value_that_no_column_takes_is_refused_before_anything_is_written() -> None:
    job_id = factories.job()
    person = factories.application(job_id)

    with transaction.atomic():
        job = lock_job_of(person.id)
        job.application(person.id).name = object()  # type: ignore[assignment]
        make_move(job, job.application(person.id), Move.WITHDRAW)
        with pytest.raises(TypeError, match="does not belong"):
            write(job)

    assert factories.status_of(person) == "ACTIVE"
