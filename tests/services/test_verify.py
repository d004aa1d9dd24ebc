"""Unverified applications: a place in line, no seat, no trace on whose address it is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection

from pipeline.domain.errors import (
    AlreadyApplied,
    AlreadyDecided,
    ApplicationNotFound,
    IllegalMove,
)
from pipeline.domain.states import Outcome
from pipeline.models import Application
from pipeline.services.jobs import close_job, open_job, pause_job, rename
from pipeline.services.joining import apply, verify
from pipeline.services.leaving import remove, withdraw
from pipeline.services.settling import seconds_until_settlement
from pipeline.services.turns import acknowledge
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.offers import let_the_offer_run_out

pytestmark = pytest.mark.django_db(transaction=True)

A_DAY = 24 * 3_600


def unverified(job_id: Any, person: Any = None) -> Application:
    return factories.application(job_id, person, verified=False)


def prove(application: Application) -> Application:
    return verify(application_id=application.id, actor=factories.owner_of(application))


@pytest.mark.parametrize("first_seat", [True, False])
def test_nobody_unverified_gets_a_seat_even_if_all_are_free(first_seat: bool) -> None:
    job_id = factories.job(capacity=3, acknowledge_first_seat=first_seat)

    person = unverified(job_id)

    assert factories.status_of(person) == "WAITLIST"
    assert person.verify_by == person.applied_at + timedelta(hours=24)
    job = factories.row_of(job_id)
    assert (job.waitlist_count, job.unverified_count, job.people_waiting) == (1, 1, 0)
    assert_line_is_sound(job_id)


def test_whoever_comes_verified_takes_the_seat_that_an_unverified_one_does_not_get() -> None:
    job_id = factories.job()
    unverified(job_id)

    person = factories.application(job_id)

    assert factories.status_of(person) == "ACTIVE"
    assert_line_is_sound(job_id)


def test_proving_the_address_fills_a_free_seat_at_once_and_says_why() -> None:
    job_id = factories.job()
    person = unverified(job_id)

    verified = prove(person)

    assert (verified.status, verified.verify_by) == ("PENDING_ACKNOWLEDGMENT", None)
    said, promoted = factories.events(job_id)[-2:]
    assert (said.event, said.from_status, said.to_status) == ("VERIFIED", "WAITLIST", "WAITLIST")
    assert (promoted.event, promoted.cause_seq) == ("PROMOTED", said.seq)
    acknowledge(application_id=person.id, actor=factories.owner_of(person))
    assert factories.row_of(job_id).unverified_count == 0
    assert_line_is_sound(job_id)


def test_an_unverified_one_is_passed_over_and_gets_the_place_it_has_once_verified() -> None:
    job_id = factories.job()
    holder = factories.application(job_id)
    first, second, third = unverified(job_id), *factories.applications(job_id, 2)

    withdraw(application_id=holder.id, actor=factories.owner_of(holder))
    assert factories.statuses(first, second) == ["WAITLIST", "PENDING_ACKNOWLEDGMENT"]
    prove(first)
    assert factories.line(job_id) == [first.id, third.id]
    withdraw(application_id=second.id, actor=factories.owner_of(second))

    assert factories.statuses(first, third) == ["PENDING_ACKNOWLEDGMENT", "WAITLIST"]
    assert_line_is_sound(job_id)


def test_proving_twice_is_harmless_and_after_the_end_it_is_too_late() -> None:
    job_id = factories.job()
    factories.application(job_id)
    person, left = unverified(job_id), unverified(job_id)

    prove(person)
    seq = factories.row_of(job_id).seq
    assert prove(person).verify_by is None
    assert factories.row_of(job_id).seq == seq
    withdraw(application_id=left.id, actor=factories.owner_of(left))

    with pytest.raises(IllegalMove):
        prove(left)
    assert_line_is_sound(job_id)


def test_after_24_hours_it_lapses_by_itself_without_a_miss() -> None:
    job_id = factories.job()
    factories.application(job_id)
    person = unverified(job_id)
    assert A_DAY - 60 < (seconds_until_settlement() or 0) <= A_DAY

    let_time_pass(job_id, A_DAY - 60)
    assert factories.settle_all() == 0
    let_time_pass(job_id, 60)
    factories.settle_all()

    row, event = factories.fresh(person), factories.events(job_id)[-1]
    assert (row.status, row.outcome, row.decay_count, row.eligible_at) == (
        "INACTIVE",
        "LAPSED",
        0,
        None,
    )
    assert (event.event, event.data["reason"]) == ("LAPSED", "UNVERIFIED")
    assert event.effective_at == row.verify_by
    assert factories.row_of(job_id).unverified_count == 0
    assert_line_is_sound(job_id)


@pytest.mark.parametrize(
    "verb", [prove, lambda who: factories.application(who.job_id, who.applicant)]
)
def test_proving_it_too_late_finds_it_lapsed(verb: Any) -> None:
    job_id = factories.job()
    person = unverified(job_id)
    let_time_pass(job_id, A_DAY)

    if verb is prove:
        with pytest.raises(IllegalMove):
            prove(person)
    else:
        assert verb(person).status == "ACTIVE"

    assert factories.status_of(person) == "LAPSED"
    assert_line_is_sound(job_id)


def test_a_paused_job_lapses_them_too_and_a_closed_one_closes_them_out() -> None:
    job_id = factories.job()
    lapsing = unverified(job_id)
    pause_job(job_id=job_id, actor=factories.RECRUITER)
    let_time_pass(job_id, A_DAY)
    factories.settle_all()
    open_job(job_id=job_id, actor=factories.RECRUITER)
    closed_out = unverified(job_id)

    close_job(job_id=job_id, actor=factories.RECRUITER)
    factories.settle_all()

    assert factories.statuses(lapsing, closed_out) == ["LAPSED", "JOB_CLOSED"]
    assert factories.row_of(job_id).unverified_count == 0
    assert_line_is_sound(job_id)


def test_an_application_in_a_victims_name_leaves_no_trace_on_the_victim() -> None:
    job_id, control = factories.job(max_decays=0), factories.job(max_decays=0)
    victim = factories.applicant()
    for _ in range(2):
        apply(
            job_id=job_id,
            applicant_id=victim.id,
            name="Total Idiot",
            actor=factories.as_applicant(victim.id),
            verified=False,
        )
        let_time_pass(job_id, A_DAY + factories.WINDOW)
        factories.settle_all()

    hers = factories.application(job_id, victim)
    untouched = factories.application(control, factories.applicant())

    what = ("status", "decay_count", "eligible_at", "acknowledge_by", "outcome", "verify_by")
    assert [getattr(hers, name) for name in what] == [getattr(untouched, name) for name in what]
    assert hers.status == "ACTIVE"
    assert hers.name == victim.name
    assert not [e for e in factories.events(job_id) if e.event in ("PROMOTED", "DECAYED")]
    assert_line_is_sound(job_id)


def test_applying_while_signed_in_takes_over_what_a_stranger_made() -> None:
    job_id = factories.job()
    holder = factories.application(job_id)
    victim = factories.applicant(name="Ana Li")
    strangers = unverified(job_id, victim)
    Application.objects.filter(id=strangers.id).update(name="Total Idiot")
    later = factories.application(job_id)

    hers = factories.application(job_id, victim)

    assert (hers.id, hers.name, hers.verify_by) == (strangers.id, "Ana Li", None)
    assert factories.fresh(strangers).name == "Ana Li"
    assert factories.line(job_id) == [hers.id, later.id]
    with pytest.raises(AlreadyApplied):
        factories.application(job_id, victim)
    withdraw(application_id=holder.id, actor=factories.owner_of(holder))
    assert factories.status_of(hers) == "PENDING_ACKNOWLEDGMENT"
    assert_line_is_sound(job_id)


def test_a_company_that_adds_the_person_verifies_them() -> None:
    job_id = factories.job()
    strangers = unverified(job_id)

    added = factories.application(job_id, strangers.applicant, actor=factories.RECRUITER)

    assert (added.id, added.status) == (strangers.id, "PENDING_ACKNOWLEDGMENT")
    assert factories.events(job_id)[-2].actor_kind == "COMPANY"
    assert_line_is_sound(job_id)


def test_a_second_stranger_changes_nothing() -> None:
    job_id = factories.job()
    first = unverified(job_id)
    seq = factories.row_of(job_id).seq

    with pytest.raises(AlreadyApplied):
        unverified(job_id, first.applicant)

    assert factories.row_of(job_id).seq == seq


def test_a_decision_on_what_nobody_verified_does_not_bind_the_person() -> None:
    job_id = factories.job(capacity=2)
    strangers = unverified(job_id)
    remove(application_id=strangers.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)

    hers = factories.application(job_id, strangers.applicant)
    remove(application_id=hers.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)

    with pytest.raises(AlreadyDecided):
        factories.application(job_id, strangers.applicant)
    assert_line_is_sound(job_id)


def test_a_cool_down_still_counts_after_proving_and_the_job_wakes_at_its_end() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    person = factories.applicant()
    missed = factories.application(job_id, person)
    let_the_offer_run_out(job_id)
    withdraw(application_id=missed.id, actor=factories.owner_of(missed))
    again = unverified(job_id, person)

    assert prove(again).status == "WAITLIST"
    assert_line_is_sound(job_id)
    let_time_pass(job_id, factories.COOLDOWN)
    factories.settle_all()

    assert factories.status_of(again) == "PENDING_ACKNOWLEDGMENT"
    assert factories.fresh(again).decay_count == 1
    assert_line_is_sound(job_id)


def test_the_owner_renames_a_live_application_and_nobody_an_ended_one() -> None:
    job_id = factories.job()
    person = unverified(job_id)

    assert rename(application_id=person.id, name="Ana Li").name == "Ana Li"
    withdraw(application_id=person.id, actor=factories.owner_of(person))

    with pytest.raises(IllegalMove):
        rename(application_id=person.id, name="Bo")
    assert factories.fresh(person).name == "Ana Li"
    with pytest.raises(ApplicationNotFound):
        rename(application_id=uuid4(), name="Bo")


def test_the_database_itself_gives_no_seat_to_an_unverified_application() -> None:
    person = unverified(factories.job())

    with pytest.raises(IntegrityError, match="no_seat_unverified"), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE pipeline_application SET status = 'ACTIVE', ticket = NULL, tie = NULL"
            " WHERE id = %s",
            [person.id],
        )
