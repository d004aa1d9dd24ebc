"""Round trips of each service to the database: a number that must not creep up."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from pipeline.services.joining import apply
from pipeline.services.leaving import withdraw
from pipeline.services.settling import settle_next_due
from pipeline.services.turns import acknowledge
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.round_trips import round_trips_of, trace_of, waits_in

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_is_counted_is_each_text_that_is_sent() -> None:
    def two_statements_in_one_transaction() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT 1; SELECT 2")
            cursor.execute("SELECT %s", [3])

    messages = waits_in(trace_of(two_statements_in_one_transaction))

    texts = [message[3].strip().strip('"') for message in messages]
    assert texts == ["BEGIN", "SELECT 1; SELECT 2", "SELECT 3", "COMMIT"]


@pytest.mark.parametrize("free_seats", [0, 1])
def test_applying_takes_two(free_seats: int) -> None:
    job_id = factories.job(capacity=1 + free_seats)
    factories.application(job_id)
    person = factories.applicant()
    who = {
        "applicant_id": person.id,
        "name": "Someone",
        "actor": factories.as_applicant(person.id),
    }

    count = round_trips_of(lambda: apply(job_id=job_id, **who))

    assert factories.row_of(job_id).waitlist_count == 1 - free_seats
    assert count == 2  # with BEGIN and COMMIT


def test_acknowledging_takes_two() -> None:
    person = factories.application(factories.job(acknowledge_first_seat=True))

    count = round_trips_of(
        lambda: acknowledge(application_id=person.id, actor=factories.owner_of(person))
    )

    assert factories.status_of(person) == "ACTIVE"
    assert count == 2  # with BEGIN and COMMIT


def test_withdrawing_with_a_promotion_takes_three() -> None:
    job_id = factories.job()
    holder, waiting = factories.applications(job_id, 2)

    count = round_trips_of(
        lambda: withdraw(application_id=holder.id, actor=factories.owner_of(holder))
    )

    assert factories.status_of(waiting) == "PENDING_ACKNOWLEDGMENT"
    assert count == 3  # with BEGIN and COMMIT


def overdue_job(count: int) -> None:
    """A job where so many seats were offered in vain, and as many people wait for them."""
    job_id = factories.job(capacity=count, acknowledge_first_seat=True)
    factories.applications(job_id, 2 * count)
    let_time_pass(job_id, factories.WINDOW)


@pytest.mark.slow
def test_a_thousand_overdue_offers_in_one_job_take_as_few_as_ten() -> None:
    overdue_job(10)
    few = round_trips_of(settle_next_due)
    overdue_job(1_000)
    steps = []

    many = round_trips_of(lambda: steps.append(settle_next_due()))

    assert [step.events for step in steps if step] == [2_000]
    assert many == few == 5
