"""Reserved seats: only confirmed people of a group take them, and the log does not name them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from jobs.models import Job
from pipeline.audit.verify import verify_job
from pipeline.domain.errors import IllegalJobMove, IllegalMove, ReserveRefused
from pipeline.domain.states import ClaimState, GroupKind
from pipeline.models import Application, Event, GroupClaim
from pipeline.privacy.erase import erase_person
from pipeline.services.jobs import JobChanges, close_job, pause_job, update_job
from pipeline.services.joining import verify
from pipeline.services.leaving import withdraw
from pipeline.services.reserved import Reserve, decide_claim, reserve_seats, state_claim
from pipeline.services.turns import acknowledge
from tests.support import factories
from tests.support.clock import database_now, let_time_pass
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)

CODE = "STAFF-2026"


def reserve(job_id: UUID, seats: int = 1, **how: Any) -> None:
    how = {"kind": GroupKind.INTERNAL, "code": CODE} | how
    reserve_seats(job_id=job_id, reserve=Reserve(seats, **how), actor=factories.RECRUITER)


def a_job(capacity: int = 2, reserved: int = 1, **how: Any) -> UUID:
    job_id = factories.job(capacity=capacity)
    reserve(job_id, reserved, **how)
    return job_id


def member(job_id: UUID, code: str = CODE, **how: Any) -> Application:
    """Someone who applies and enters the code."""
    return factories.application(job_id, group_code=code, **how)


def leave(person: Application) -> None:
    withdraw(application_id=person.id, actor=factories.owner_of(person))


def test_a_reserved_seat_stays_free_for_the_group_and_the_others_go_by_the_line() -> None:
    job_id = a_job()
    first, second, third = factories.applications(job_id, 3)

    assert factories.statuses(first, second, third) == ["ACTIVE", "WAITLIST", "WAITLIST"]
    job = factories.row_of(job_id)
    assert (job.seats_free, job.reserved_seats_free) == (0, 1)
    assert_line_is_sound(job_id)
    own = member(job_id)

    assert factories.status_of(own) == "PENDING_ACKNOWLEDGMENT"
    assert factories.fresh(own).reserved_seat
    assert factories.statuses(second, third) == ["WAITLIST", "WAITLIST"]
    assert factories.row_of(job_id).reserved_count == 1
    assert_line_is_sound(job_id)


def test_people_of_the_group_take_reserved_seats_in_the_order_of_the_line() -> None:
    job_id = a_job(capacity=2, reserved=1)
    seated, outsider = factories.applications(job_id, 2)
    one, two = member(job_id, code=""), member(job_id, code="")
    for person in (two, one):
        decide_claim(application_id=person.id, confirms=True, actor=factories.RECRUITER)

    # The first to be confirmed got the seat that was free then.
    assert factories.statuses(one, two) == ["WAITLIST", "PENDING_ACKNOWLEDGMENT"]
    leave(two)
    assert factories.statuses(outsider, one) == ["WAITLIST", "PENDING_ACKNOWLEDGMENT"]
    leave(one)
    leave(seated)
    assert factories.status_of(outsider) == "PENDING_ACKNOWLEDGMENT"
    assert not factories.fresh(outsider).reserved_seat
    assert_line_is_sound(job_id)


def test_a_member_who_is_next_takes_any_seat_when_no_reserved_one_is_free() -> None:
    job_id = a_job(capacity=2, reserved=1)
    seated = factories.application(job_id)
    member(job_id)
    second, outsider = member(job_id), factories.application(job_id)

    leave(seated)

    assert factories.statuses(second, outsider) == ["PENDING_ACKNOWLEDGMENT", "WAITLIST"]
    assert not factories.fresh(second).reserved_seat
    assert_line_is_sound(job_id)


def test_several_seats_that_open_at_once_are_shared_as_the_rules_say() -> None:
    job_id = factories.job(capacity=1)
    factories.application(job_id)
    outsiders = factories.applications(job_id, 3)
    reserve(job_id)
    members = [member(job_id, code="") for _ in range(2)]
    factories.alter(job_id, capacity=4)  # one is reserved, and kept for the group
    for person in members:
        decide_claim(application_id=person.id, confirms=True, actor=factories.RECRUITER)

    pending, waits = "PENDING_ACKNOWLEDGMENT", "WAITLIST"
    assert factories.statuses(*outsiders) == [pending, pending, waits]
    assert factories.statuses(*members) == [pending, waits]
    assert_line_is_sound(job_id)


def test_a_wrong_code_is_a_statement_that_the_company_decides() -> None:
    job_id = a_job()
    factories.application(job_id)
    person = member(job_id, code="guess")

    assert GroupClaim.objects.get(application_id=person.id).state == ClaimState.STATED
    assert factories.status_of(person) == "WAITLIST"
    decide_claim(application_id=person.id, confirms=False, actor=factories.RECRUITER)
    with pytest.raises(ReserveRefused, match="declined"):
        state_claim(application_id=person.id, code=CODE, actor=factories.owner_of(person))

    assert factories.status_of(person) == "WAITLIST"
    decide_claim(application_id=person.id, confirms=True, actor=factories.RECRUITER)
    assert factories.status_of(person) == "PENDING_ACKNOWLEDGMENT"
    assert_line_is_sound(job_id)


def test_who_has_entered_too_many_codes_has_none_more_by_applying_again() -> None:
    job_id = a_job()
    factories.application(job_id)
    guesser = factories.applicant()
    for guess in range(10):
        leave(member(job_id, f"guess {guess}", person=guesser))

    again = member(job_id, person=guesser)
    assert GroupClaim.objects.get(application_id=again.id).state == ClaimState.STATED
    somebody_else = member(job_id)
    assert GroupClaim.objects.get(application_id=somebody_else.id).state == ClaimState.CONFIRMED


def test_a_job_keeps_the_seats_that_are_reserved() -> None:
    job_id = a_job(capacity=3, reserved=2)

    with pytest.raises(ReserveRefused, match="Reserve fewer first"):
        update_job(job_id=job_id, changes=JobChanges(capacity=1), actor=factories.RECRUITER)

    assert factories.row_of(job_id).capacity == 3
    update_job(job_id=job_id, changes=JobChanges(capacity=2), actor=factories.RECRUITER)
    reserve(job_id, 1)
    update_job(job_id=job_id, changes=JobChanges(capacity=1), actor=factories.RECRUITER)
    assert_line_is_sound(job_id)


def test_a_job_that_an_earlier_version_left_with_fewer_seats_than_are_reserved_keeps_those() -> (
    None
):
    job_id = a_job(capacity=3, reserved=3)
    Job.objects.filter(id=job_id).update(capacity=1)  # as a planned change once could

    same = JobChanges(capacity=1, posting={"title": "Baker"})
    update_job(job_id=job_id, changes=same, actor=factories.RECRUITER)
    update_job(job_id=job_id, changes=JobChanges(capacity=2), actor=factories.RECRUITER)
    with pytest.raises(ReserveRefused):
        update_job(job_id=job_id, changes=JobChanges(capacity=1), actor=factories.RECRUITER)

    assert factories.row_of(job_id).capacity == 2


def test_the_code_works_later_too_and_repeating_it_is_harmless() -> None:
    job_id = a_job()
    _seated, person = factories.applications(job_id, 2)

    for _ in range(2):
        if factories.status_of(person) == "WAITLIST":
            state_claim(application_id=person.id, code=CODE, actor=factories.owner_of(person))

    assert factories.status_of(person) == "PENDING_ACKNOWLEDGMENT"
    assert factories.event_names(job_id).count("GROUP_NOTED") == 1


def test_an_unverified_member_gets_the_seat_with_the_proof_of_the_address() -> None:
    job_id = a_job()
    factories.application(job_id)
    person = member(job_id, verified=False)

    assert factories.status_of(person) == "WAITLIST"
    assert factories.fresh(person).is_member
    assert not factories.fresh(person).is_verified
    assert_line_is_sound(job_id)
    verify(application_id=person.id, actor=factories.owner_of(person))

    assert factories.fresh(person).reserved_seat
    assert_line_is_sound(job_id)


def test_at_the_announced_time_free_reserved_seats_fall_to_the_line() -> None:
    job_id = a_job(capacity=3, reserved=2, until=database_now() + timedelta(hours=1))
    factories.application(job_id)
    own = member(job_id)
    acknowledge(application_id=own.id, actor=factories.owner_of(own))
    first, second = factories.applications(job_id, 2)

    let_time_pass(job_id, 3_601)
    factories.settle_all()

    event = next(e for e in factories.events(job_id)[::-1] if e.event == "RESERVE_CHANGED")
    promoted = Event.objects.get(application_id=first.id, event="PROMOTED")
    assert (event.actor_kind, promoted.cause_seq) == ("SYSTEM", event.seq)
    assert event.effective_at < event.at
    assert "reserved_seats" not in event.data
    job = factories.row_of(job_id)
    assert (job.reserved_seats, job.reserved_until, job.reserved_for) == (0, None, "")
    assert factories.statuses(first, second)[0] == "PENDING_ACKNOWLEDGMENT"
    assert factories.fresh(own).reserved_seat  # those that are taken stay so
    assert_line_is_sound(job_id)


def test_nobody_loses_a_seat_and_the_reserve_fills_as_they_leave() -> None:
    job_id = factories.job(capacity=2)
    first, second, outsider = factories.applications(job_id, 3)

    reserve(job_id, seats=2)
    assert factories.statuses(first, second) == ["ACTIVE", "ACTIVE"]
    leave(first)

    assert factories.status_of(outsider) == "WAITLIST"
    job = factories.row_of(job_id)
    assert (job.seats_free, job.reserved_seats_free) == (0, 1)
    reserve(job_id, seats=0, kind=None)
    assert factories.status_of(outsider) == "PENDING_ACKNOWLEDGMENT"
    assert_line_is_sound(job_id)


def test_what_is_refused_has_a_reason() -> None:
    job_id = a_job(capacity=2, reserved=1)
    seated, waiting = factories.applications(job_id, 2)
    member(job_id, code="")

    for wrong in (
        {"seats": 3},
        {"until": database_now() - timedelta(seconds=1)},
        {"until": database_now() + timedelta(days=800)},
        {"kind": GroupKind.DISABILITY},
    ):
        with pytest.raises(ReserveRefused):
            reserve(job_id, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ReserveRefused, match="has not said"):
        decide_claim(application_id=waiting.id, confirms=True, actor=factories.RECRUITER)
    with pytest.raises(IllegalMove):
        state_claim(application_id=seated.id, code=CODE, actor=factories.owner_of(seated))
    pause_job(job_id=job_id, actor=factories.RECRUITER)
    close_job(job_id=job_id, actor=factories.RECRUITER)
    with pytest.raises(IllegalJobMove):
        reserve(job_id)


def test_a_job_keeps_its_group_once_people_have_stated_to_belong_to_it() -> None:
    job_id = a_job(kind=GroupKind.OWN, sentence="For apprentices.")
    factories.application(job_id)
    person = member(job_id)
    leave(person)
    reserve(job_id, kind=GroupKind.OWN, sentence="For apprentices.", seats=2)
    reserve(job_id, seats=0)

    for other in (
        {"kind": GroupKind.DISABILITY},
        {"kind": GroupKind.OWN, "sentence": "For friends."},
    ):
        with pytest.raises(ReserveRefused, match="keeps its group"):
            reserve(job_id, **other)
    assert factories.row_of(job_id).reserved_seats == 0


def test_a_job_without_reserved_seats_takes_no_statements() -> None:
    job_id = factories.job()
    factories.application(job_id)

    person = member(job_id)

    assert factories.status_of(person) == "WAITLIST"
    assert not GroupClaim.objects.exists()


def test_the_log_holds_a_digest_that_only_the_row_opens_and_erasure_removes() -> None:
    job_id = a_job(kind=GroupKind.DISABILITY)
    factories.application(job_id)
    person, declined = member(job_id), member(job_id, code="")
    decide_claim(application_id=declined.id, confirms=False, actor=factories.RECRUITER)
    noted = Event.objects.filter(job_id=job_id, event="GROUP_NOTED")

    assert [sorted(each.data.keys() & {"claim_digest", "state", "kind"}) for each in noted] == [
        ["claim_digest"]
    ] * 2
    assert len({each.data["claim_digest"] for each in noted}) == 2
    assert not any(word in str(each.data) for each in noted for word in ("CONFIRMED", "DECLINED"))
    GroupClaim.objects.filter(application_id=declined.id).update(state=ClaimState.CONFIRMED)
    assert len(verify_job(job_id).differences) == 2
    GroupClaim.objects.filter(application_id=declined.id).update(state=ClaimState.DECLINED)

    for each in (person, declined):
        erase_person(applicant_id=each.applicant_id)

    assert not GroupClaim.objects.exists()
    assert not Application.objects.filter(is_member=True).exists()
    assert_line_is_sound(job_id)


def test_a_forged_member_and_a_forged_count_are_differences() -> None:
    job_id = a_job()
    _seated, waiting = factories.applications(job_id, 2)
    assert_line_is_sound(job_id)

    Application.objects.filter(id=waiting.id).update(is_member=True)
    Job.objects.filter(id=job_id).update(reserved_seats=2)

    found = verify_job(job_id).differences
    assert any("is_member" in each for each in found)
    assert any("reserved_seats" in each for each in found)


def test_applying_without_a_statement_writes_nothing_about_groups() -> None:
    job_id = a_job()

    applied = factories.application(job_id)

    assert "reserved" not in factories.events(job_id)[-1].data
    assert not GroupClaim.objects.exists()
    assert applied.status == "ACTIVE"
