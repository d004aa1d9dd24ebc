"""Quiet hours in the line: every offer has its deadline after them, in the person's time zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from applicants.models import Applicant
from jobs.models import Job
from jobs.policies import Policy
from jobs.quiet_hours import counted_time
from pipeline.audit.receipts import opaque_rows
from pipeline.domain.states import ReinstatementReason
from pipeline.models import Application, Event
from pipeline.services.jobs import JobChanges, update_job
from pipeline.services.joining import verify
from pipeline.services.leaving import reinstate, withdraw
from pipeline.services.turns import defer, extend_deadline
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.sandboxes import DAY, advance, line_with_offers, sandbox

pytestmark = pytest.mark.django_db(transaction=True)

TOKYO, LIMA = "Asia/Tokyo", "America/Lima"
HOUR = timedelta(hours=1)


def quiet_now(zone: str, **policy: Any) -> dict[str, Any]:
    """Rules with quiet hours that began an hour ago in a zone and end in two to three hours."""
    now = datetime.now(ZoneInfo(zone))
    begins, ends = (now - HOUR).strftime("%H:00"), (now + 3 * HOUR).strftime("%H:00")
    return {"quiet_from": begins, "quiet_to": ends, "quiet_time_zone": LIMA} | policy


def a_person(zone: str = TOKYO) -> Applicant:
    return factories.applicant(time_zone=zone)


def assert_quiet_hours_are_left_out(person: Application, zone: str) -> None:
    """The deadline is the one of the policy, hours from now, and the log names the zone."""
    row, policy = factories.fresh(person), Job.objects.get(id=person.job_id).policy
    assert row.promoted_at
    assert row.acknowledge_by
    assert row.acknowledge_by == policy.deadline(row.promoted_at, zone)
    assert row.acknowledge_by - row.promoted_at > timedelta(seconds=factories.WINDOW) + HOUR
    offer = Event.objects.filter(application_id=person.id).latest("seq")
    assert (offer.to_status, offer.data["time_zone"]) == ("PENDING_ACKNOWLEDGMENT", zone)
    assert_line_is_sound(person.job_id)


def test_whoever_is_next_has_until_after_their_quiet_hours() -> None:
    job_id = factories.job(**quiet_now(TOKYO))
    holder = factories.application(job_id)
    waiting = factories.application(job_id, a_person())

    withdraw(application_id=holder.id, actor=factories.owner_of(holder))

    assert_quiet_hours_are_left_out(waiting, TOKYO)


def test_a_first_seat_that_must_be_confirmed_has_the_same_deadline() -> None:
    job_id = factories.job(acknowledge_first_seat=True, **quiet_now(TOKYO))

    assert_quiet_hours_are_left_out(factories.application(job_id, a_person()), TOKYO)


def test_so_has_a_seat_that_is_offered_on_verification() -> None:
    job_id = factories.job(**quiet_now(TOKYO))
    person = factories.application(job_id, a_person(), verified=False)
    assert "time_zone" not in factories.events(job_id)[-1].data

    verify(application_id=person.id, actor=factories.owner_of(person))

    assert_quiet_hours_are_left_out(person, TOKYO)


def test_so_has_an_unverified_application_that_its_person_takes_over() -> None:
    job_id, ana = factories.job(**quiet_now(TOKYO)), a_person()
    unverified = factories.application(job_id, ana, verified=False)

    taken_over = factories.application(job_id, ana)

    assert taken_over.id == unverified.id
    assert_quiet_hours_are_left_out(taken_over, TOKYO)


def test_so_has_a_seat_that_is_offered_on_a_reinstatement() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    person = factories.application(job_id, a_person())
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    change_policy(job_id, **quiet_now(TOKYO))

    reason = ReinstatementReason.ACCOMMODATION
    reinstate(application_id=person.id, reason=reason, actor=factories.RECRUITER)

    assert_quiet_hours_are_left_out(person, TOKYO)


def change_capacity(job_id: UUID, capacity: int) -> None:
    update_job(job_id=job_id, changes=JobChanges(capacity=capacity), actor=factories.RECRUITER)


def change_policy(job_id: UUID, **policy: Any) -> None:
    update_job(job_id=job_id, changes=JobChanges(policy=policy), actor=factories.RECRUITER)


def test_so_has_a_seat_that_is_offered_when_a_deferral_ends() -> None:
    job_id = factories.job(capacity=2, **quiet_now(TOKYO))
    factories.applications(job_id, 2)
    person = factories.application(job_id, a_person())
    actor = factories.owner_of(person)
    later = factories.row_of(job_id).last_event_at + 5 * HOUR
    defer(application_id=person.id, not_before=later, actor=actor)
    change_capacity(job_id, 3)

    defer(application_id=person.id, not_before=None, actor=actor)

    assert_quiet_hours_are_left_out(person, TOKYO)


@pytest.mark.parametrize("zone", ["", "Moon/Crater"])
def test_the_jobs_zone_counts_for_a_person_without_a_known_one(zone: str) -> None:
    job_id = factories.job(acknowledge_first_seat=True, **quiet_now(LIMA))

    assert_quiet_hours_are_left_out(factories.application(job_id, a_person(zone)), LIMA)


def test_each_of_many_people_has_a_deadline_of_their_own() -> None:
    job_id = factories.job(**quiet_now(TOKYO))
    factories.application(job_id)
    here, elsewhere = (factories.application(job_id, a_person(z)) for z in (TOKYO, "Asia/Dubai"))

    change_capacity(job_id, 3)

    assert_quiet_hours_are_left_out(here, TOKYO)
    policy, row = Job.objects.get(id=job_id).policy, factories.fresh(elsewhere)
    assert row.promoted_at
    assert row.acknowledge_by == policy.deadline(row.promoted_at, "Asia/Dubai")
    assert row.acknowledge_by != factories.fresh(here).acknowledge_by


def test_a_change_of_the_quiet_hours_moves_no_running_deadline() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    person = factories.application(job_id, a_person())
    deadline = factories.fresh(person).acknowledge_by

    change_policy(job_id, **quiet_now(TOKYO))

    assert factories.fresh(person).acknowledge_by == deadline
    assert_line_is_sound(job_id)


def test_an_extension_leaves_out_the_quiet_hours_too() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    person = factories.application(job_id, a_person())
    change_policy(job_id, **quiet_now(TOKYO))
    before = factories.fresh(person).acknowledge_by
    assert before

    extend_deadline(application_id=person.id, seconds=300)

    row, quiet = factories.fresh(person), Policy(**quiet_now(TOKYO)).quiet_hours(TOKYO)
    assert row.acknowledge_by
    assert row.acknowledge_by > before + HOUR
    assert counted_time(before, row.acknowledge_by, quiet) == timedelta(seconds=300)
    event = factories.events(job_id)[-1]
    assert (event.event, event.data["time_zone"]) == ("DEADLINE_EXTENDED", TOKYO)
    assert_line_is_sound(job_id)


def test_the_log_without_names_does_not_say_where_people_live() -> None:
    job_id = factories.job(acknowledge_first_seat=True, **quiet_now(TOKYO))
    factories.application(job_id, a_person())

    rows = list(opaque_rows(job_id, after=0, upto=100))

    assert rows[-1]["data"]["deadline"]
    assert TOKYO not in str(rows)


def test_without_quiet_hours_the_log_names_no_zone() -> None:
    job_id = factories.job(acknowledge_first_seat=True)

    person = factories.application(job_id, a_person())

    assert "time_zone" not in factories.events(job_id)[-1].data
    row = factories.fresh(person)
    assert row.promoted_at
    assert row.acknowledge_by == row.promoted_at + timedelta(seconds=factories.WINDOW)
    assert row.acknowledge_by > datetime.now(UTC)


def test_in_a_sandbox_every_miss_is_at_its_deadline_after_the_quiet_hours() -> None:
    company = sandbox()
    quiet: dict[str, Any] = {"quiet_from": "20:00", "quiet_to": "08:00", "quiet_weekends": True}
    policy = {"acknowledgment_window_seconds": DAY, "max_decays": 0} | quiet
    job_id, people = line_with_offers(company, people=5, **policy)

    advance(company, 21 * DAY)
    factories.settle_all()

    rows = [factories.fresh(person) for person in people]
    hours = Policy(**policy).quiet_hours()
    assert {row.outcome for row in rows} == {"LAPSED"}
    for row in rows:
        assert row.promoted_at
        assert row.ended_at
        assert counted_time(row.promoted_at, row.ended_at, hours) == timedelta(seconds=DAY)
        assert row.ended_at - row.promoted_at > timedelta(days=1)
        assert row.ended_at.isoweekday() < 6
    assert_line_is_sound(job_id)
