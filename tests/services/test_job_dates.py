"""Opening and closing dates: done once, at their times, however late somebody looks."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from pipeline.audit.verify import verify_job
from pipeline.domain.errors import DatesRefused, IllegalJobMove, IllegalMove, JobNotOpen
from pipeline.services.jobs import JobChanges, close_job, delete_draft, open_job, update_job
from pipeline.services.joining import apply
from pipeline.services.settling import settle
from pipeline.services.turns import acknowledge
from tests.figures.whatif.test_simulate import logged, simulated
from tests.support import factories
from tests.support.applicants import leave
from tests.support.clock import database_now, let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.lottery import lottery
from tests.support.planned_seats import planned
from tests.support.sandboxes import advance, sandbox

pytestmark = pytest.mark.django_db(transaction=True)


def ahead(seconds: float) -> datetime:
    return database_now() + timedelta(seconds=seconds)


def draft(*, opens: float | None = None, closes: float | None = None, **more: Any) -> UUID:
    dates = {"opens_at": opens, "closes_at": closes}
    hiring = {name: ahead(seconds) for name, seconds in dates.items() if seconds}
    return factories.job(open_now=False, hiring=hiring, **more)


def open_until(seconds: float, **more: Any) -> UUID:
    return factories.job(hiring={"closes_at": ahead(seconds)}, **more)


def change(job_id: UUID, **dates: datetime | None) -> None:
    update_job(job_id=job_id, changes=JobChanges(hiring=dates), actor=factories.RECRUITER)


def assert_sound(job_id: UUID) -> None:
    assert_line_is_sound(job_id)
    assert verify_job(job_id).is_sound


def test_the_worker_opens_a_draft_at_its_time_once() -> None:
    job_id = draft(opens=600)
    factories.settle_all()
    assert factories.row_of(job_id).status == "DRAFT"

    let_time_pass(job_id, 601)
    factories.settle_all()
    factories.settle_all()

    job, [opened] = factories.row_of(job_id), factories.events(job_id)[1:]
    assert (job.status, opened.event, opened.actor_kind) == ("OPEN", "JOB_OPENED", "SYSTEM")
    assert opened.effective_at == job.opens_at
    assert_sound(job_id)


def test_whoever_applies_first_finds_the_job_open() -> None:
    job_id = draft(opens=600)
    let_time_pass(job_id, 601)

    person = factories.application(job_id)

    assert factories.statuses(person) == ["ACTIVE"]
    assert factories.event_names(job_id) == ["JOB_CREATED", "JOB_OPENED", "APPLIED"]


def test_the_worker_closes_a_job_at_its_time_and_releases_people_without_a_seat() -> None:
    job_id = open_until(600)
    seated, waiting = factories.applications(job_id, 2)
    factories.settle_all()
    assert factories.row_of(job_id).status == "OPEN"

    let_time_pass(job_id, 601)
    factories.settle_all()
    factories.settle_all()

    job = factories.row_of(job_id)
    assert (job.status, factories.statuses(seated, waiting)) == ("CLOSED", ["ACTIVE", "JOB_CLOSED"])
    closed, released = factories.events(job_id)[-2:]
    assert (closed.event, closed.actor_kind) == ("JOB_CLOSED", "SYSTEM")
    assert closed.effective_at == job.closes_at
    assert released.cause_seq == closed.seq
    assert_sound(job_id)


def test_nobody_joins_after_the_closing_however_late_the_worker_is() -> None:
    job_id = open_until(600)
    let_time_pass(job_id, 700)

    with pytest.raises(JobNotOpen):
        factories.application(job_id)

    assert factories.row_of(job_id).status == "CLOSED"
    assert_sound(job_id)


def test_an_offer_that_still_ran_at_the_closing_is_released_and_no_miss() -> None:
    job_id = open_until(600, acknowledgment_window_seconds=900)
    seated, offered, _ = factories.applications(job_id, 3)
    leave(seated)
    let_time_pass(job_id, 2_000)  # the closing has come at 600, the deadline at 900

    with pytest.raises(IllegalMove):
        acknowledge(application_id=offered.id, actor=factories.owner_of(offered))
    settle(job_id=job_id)

    assert factories.statuses(offered) == ["JOB_CLOSED"]
    assert factories.fresh(offered).decay_count == 0
    assert_sound(job_id)


def test_an_offer_that_was_overdue_at_the_closing_is_a_miss_and_nobody_else_gets_the_seat() -> None:
    job_id = open_until(1_200, acknowledgment_window_seconds=900)
    seated, offered, behind = factories.applications(job_id, 3)
    leave(seated)
    let_time_pass(job_id, 2_000)

    settle(job_id=job_id)

    names = factories.event_names(job_id)
    assert names[-2:] == ["DECAYED", "JOB_CLOSED"]
    settle(job_id=job_id)
    assert factories.statuses(offered, behind) == ["JOB_CLOSED", "JOB_CLOSED"]
    assert_sound(job_id)


def test_planned_seats_that_a_late_worker_finds_after_the_closing_do_not_open() -> None:
    job_id = open_until(600)
    _, waiting = factories.applications(job_id, 2)
    planned(job_id, 2, seconds=300)
    let_time_pass(job_id, 700)

    settle(job_id=job_id)
    settle(job_id=job_id)

    assert factories.statuses(waiting) == ["JOB_CLOSED"]
    assert "CAPACITY_CHANGED" not in factories.event_names(job_id)
    assert_sound(job_id)


def test_a_late_worker_opens_and_closes_a_job_in_one_settlement() -> None:
    job_id = draft(opens=600, closes=1_200)
    let_time_pass(job_id, 2_000)

    settle(job_id=job_id)

    assert factories.event_names(job_id) == ["JOB_CREATED", "JOB_OPENED", "JOB_CLOSED"]
    assert_sound(job_id)


def test_a_changed_or_cancelled_date_does_not_come() -> None:
    job_id = open_until(600)

    change(job_id, closes_at=None)
    let_time_pass(job_id, 700)
    factories.settle_all()
    assert factories.row_of(job_id).status == "OPEN"
    change(job_id, closes_at=ahead(300))
    change(job_id, closes_at=ahead(900))
    let_time_pass(job_id, 400)
    factories.settle_all()

    assert factories.row_of(job_id).status == "OPEN"
    assert factories.event_names(job_id).count("DATES_CHANGED") == 3
    assert_sound(job_id)


def test_a_job_closed_before_its_date_stays_as_it_is() -> None:
    job_id = open_until(600)
    close_job(job_id=job_id, actor=factories.RECRUITER)
    seq = factories.row_of(job_id).seq

    let_time_pass(job_id, 700)
    factories.settle_all()

    assert factories.row_of(job_id).seq == seq
    assert_sound(job_id)


def test_a_deleted_draft_never_opens() -> None:
    job_id = draft(opens=600)

    delete_draft(job_id=job_id, actor=factories.RECRUITER)
    let_time_pass(job_id, 700)
    factories.settle_all()

    assert factories.row_of(job_id).status == "DRAFT"
    assert_sound(job_id)


@pytest.mark.parametrize(
    ("opens", "closes"), [(-1, None), (None, -1), (600, 300), (None, 800 * 86_400)]
)
def test_dates_that_cannot_be_kept_are_refused(opens: float | None, closes: float | None) -> None:
    with pytest.raises(DatesRefused):
        draft(opens=opens, closes=closes)


def test_only_a_draft_has_an_opening_and_only_a_running_job_a_closing() -> None:
    job_id = factories.job()

    with pytest.raises(IllegalJobMove):
        change(job_id, opens_at=ahead(600))
    close_job(job_id=job_id, actor=factories.RECRUITER)
    with pytest.raises(IllegalJobMove):
        change(job_id, closes_at=ahead(600))
    with pytest.raises(DatesRefused):
        factories.job(hiring={"opens_at": ahead(600)})


def test_a_draft_whose_closing_has_passed_is_not_opened_by_hand() -> None:
    job_id = draft(closes=600)
    let_time_pass(job_id, 700)

    with pytest.raises(DatesRefused):
        open_job(job_id=job_id, actor=factories.RECRUITER)

    change(job_id, closes_at=None)
    open_job(job_id=job_id, actor=factories.RECRUITER)
    assert factories.row_of(job_id).status == "OPEN"


def test_the_closing_comes_after_the_draw_by_lot() -> None:
    job_id = lottery(seconds=600)

    with pytest.raises(DatesRefused):
        change(job_id, closes_at=ahead(300))
    change(job_id, closes_at=ahead(900))

    assert_sound(job_id)


def test_in_a_sandbox_everything_comes_at_its_own_instant() -> None:
    company = sandbox()
    job_id = draft(opens=3_600, closes=7_200, company_id=company.id)

    advance(company, 4_000)
    seated, waiting = factories.applications(job_id, 2)
    advance(company, 40_000)

    log = {each.event: each for each in factories.events(job_id)}
    job = factories.row_of(job_id)
    assert log["JOB_OPENED"].at == log["JOB_OPENED"].effective_at == job.opens_at
    assert log["JOB_CLOSED"].at == log["JOB_CLOSED"].effective_at == job.closes_at
    assert factories.statuses(seated, waiting) == ["ACTIVE", "JOB_CLOSED"]
    assert_sound(job_id)


def test_a_what_if_runs_a_past_with_dates_again() -> None:
    job_id = draft(opens=600, closes=7_200)
    let_time_pass(job_id, 700)
    seated, *_ = factories.applications(job_id, 3)
    leave(seated)
    let_time_pass(job_id, 8_000)
    factories.settle_all()
    factories.settle_all()

    assert factories.row_of(job_id).status == "CLOSED"
    assert simulated(job_id) == logged(job_id)


def test_applying_while_the_closing_comes_is_refused_after_the_settlement_is_kept() -> None:
    job_id = open_until(600)
    person = factories.applicant()
    let_time_pass(job_id, 601)

    with pytest.raises(JobNotOpen):
        apply(
            job_id=job_id,
            applicant_id=person.id,
            name="Someone",
            actor=factories.as_applicant(person.id),
        )

    assert factories.event_names(job_id)[-1] == "JOB_CLOSED"
