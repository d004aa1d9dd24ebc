"""`next_due_at`: the decay workers are woken only for jobs due before they would look again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connection

from pipeline.line.write import LOOK_AHEAD
from pipeline.services.jobs import close_job
from pipeline.services.leaving import withdraw
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def listening() -> Iterator[list[str]]:
    """A worker's ear: after the block, the channels on which something was said meanwhile."""
    heard: list[str] = []
    parameters = connection.get_connection_params()
    with psycopg.connect(
        host=parameters.get("host"),
        port=parameters.get("port"),
        user=parameters["user"],
        password=parameters.get("password"),
        dbname=parameters["dbname"],
        autocommit=True,
    ) as ear:
        ear.execute("LISTEN line_due")
        yield heard
        # Notifications arrive in the order of their commits: nothing comes after this one.
        ear.execute("LISTEN the_end")
        ear.execute("NOTIFY the_end")
        for message in ear.notifies(timeout=PATIENCE_SECONDS):
            if message.channel == "the_end":
                return
            heard.append(message.channel)
        raise AssertionError("even the own notification did not arrive")


def test_closing_a_job_wakes_the_workers_because_people_must_be_closed_out() -> None:
    job_id = factories.job()
    factories.applications(job_id, 2)

    with listening() as heard:
        close_job(job_id=job_id, actor=factories.RECRUITER)

    assert heard == ["line_due"]


def test_a_cooldown_of_a_second_wakes_the_workers() -> None:
    job_id = factories.job(acknowledge_first_seat=True, cooldown_seconds=1)
    factories.application(job_id)
    let_time_pass(job_id, factories.WINDOW)

    with listening() as heard:
        factories.settle_all()

    assert LOOK_AHEAD.total_seconds() > 1
    assert heard == ["line_due"]


def test_a_deadline_in_ten_minutes_wakes_nobody() -> None:
    job_id = factories.job(acknowledge_first_seat=True)

    with listening() as heard:
        person = factories.application(job_id)
        withdraw(application_id=person.id, actor=factories.owner_of(person))

    assert factories.row_of(job_id).next_due_at is not None
    assert heard == []
