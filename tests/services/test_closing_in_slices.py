"""Closing a job: the worker closes out its line in slices, and nobody moves up meanwhile."""

from __future__ import annotations

from uuid import UUID

import pytest

from pipeline.domain.errors import IllegalMove
from pipeline.domain.states import Outcome
from pipeline.line import settle as line_settle
from pipeline.services.jobs import close_job
from pipeline.services.leaving import remove, withdraw
from pipeline.services.settling import settle_next_due
from pipeline.services.turns import acknowledge
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)


def closing_job() -> tuple[UUID, list[str], list[UUID]]:
    """A job with 2 active, 2 pending and 5 waiting people, two of them in a cool-down."""
    job_id = factories.job(capacity=4, acknowledge_first_seat=True, penalty_places=5)
    people = factories.applications(job_id, 7)
    let_time_pass(job_id, factories.WINDOW - 60)
    for person in people[:2]:
        acknowledge(application_id=person.id, actor=factories.owner_of(person))
    let_time_pass(job_id, 60)
    factories.settle_all()
    people += factories.applications(job_id, 2)
    return job_id, factories.statuses(*people), [person.id for person in people]


def test_closing_in_slices_ends_with_everybody_closed_out_but_who_is_active(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert line_settle.SLICE <= 5_000
    monkeypatch.setattr(line_settle, "SLICE", 3)
    job_id, before, _ = closing_job()
    assert (
        before
        == ["ACTIVE"] * 2 + ["WAITLIST"] * 2 + ["PENDING_ACKNOWLEDGMENT"] * 2 + ["WAITLIST"] * 3
    )
    close_job(job_id=job_id, actor=factories.RECRUITER)
    closing = factories.events(job_id)[-1]

    steps = 0
    while settle_next_due() is not None:
        steps += 1
        assert factories.row_of(job_id).active_count == 2
        assert_line_is_sound(job_id)

    assert steps == 3
    ended = factories.events(job_id, after=closing.seq)
    assert [event.event for event in ended] == ["CLOSED_OUT"] * 7
    assert {event.cause_seq for event in ended} == {closing.seq}
    assert {event.effective_at for event in ended} == {factories.row_of(job_id).closed_at}
    row = factories.row_of(job_id)
    assert (row.active_count, row.pending_count, row.waitlist_count) == (2, 0, 0)
    assert row.next_due_at is None


def test_while_a_job_closes_people_can_leave_but_nobody_moves_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(line_settle, "SLICE", 1)
    job_id = factories.job(capacity=1)
    holder, first, second, third = factories.applications(job_id, 4)
    close_job(job_id=job_id, actor=factories.RECRUITER)

    withdraw(application_id=holder.id, actor=factories.owner_of(holder))
    withdraw(application_id=second.id, actor=factories.owner_of(second))
    assert factories.statuses(first, third) == ["WAITLIST", "WAITLIST"]
    with pytest.raises(IllegalMove):
        acknowledge(application_id=first.id, actor=factories.owner_of(first))
    factories.settle_all()

    assert factories.statuses(holder, first, second, third) == [
        "WITHDRAWN",
        "JOB_CLOSED",
        "WITHDRAWN",
        "JOB_CLOSED",
    ]
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("outcome", [Outcome.HIRED, Outcome.REJECTED, Outcome.REMOVED])
def test_the_company_decides_on_who_is_active_in_a_closed_job(outcome: Outcome) -> None:
    job_id = factories.job()
    person, waiting = factories.applications(job_id, 2)
    close_job(job_id=job_id, actor=factories.RECRUITER)

    remove(application_id=person.id, outcome=outcome, actor=factories.RECRUITER)
    factories.settle_all()

    assert factories.statuses(person, waiting) == [outcome, "JOB_CLOSED"]
    assert_line_is_sound(job_id)


def test_an_offer_ends_with_the_job_also_if_nobody_waits() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    offered = factories.application(job_id)
    assert offered.status == "PENDING_ACKNOWLEDGMENT"

    close_job(job_id=job_id, actor=factories.RECRUITER)
    factories.settle_all()

    assert factories.status_of(offered) == "JOB_CLOSED"
    assert_line_is_sound(job_id)


def test_who_was_overdue_when_the_job_closed_has_missed_first() -> None:
    job_id = factories.job(acknowledge_first_seat=True, max_decays=0)
    person = factories.application(job_id)
    let_time_pass(job_id, factories.WINDOW)

    close_job(job_id=job_id, actor=factories.RECRUITER)
    factories.settle_all()

    assert factories.status_of(person) == "LAPSED"
    assert_line_is_sound(job_id)
