"""A company gives a place back that a miss cost: the former one, once, and nobody's seat."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from pipeline.domain.errors import AcknowledgmentExpired, IllegalMove
from pipeline.domain.states import Outcome, ReinstatementReason
from pipeline.line.event_log import logged_time
from pipeline.models import Application, DecisionNote, Event
from pipeline.services.jobs import pause_job
from pipeline.services.leaving import reinstate, remove, withdraw
from pipeline.services.turns import acknowledge
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)


def give_back(application: Application, **more: Any) -> Application:
    how = {"reason": ReinstatementReason.OUR_ERROR, "actor": factories.RECRUITER} | more
    return reinstate(application_id=application.id, **how)


def miss(job_id: Any) -> None:
    """The open offers run out."""
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()


def a_miss_from_the_waitlist(**policy: Any) -> list[Application]:
    """The first of four has the seat and leaves; the second is promoted and misses it."""
    job_id = factories.job(penalty_places=2, **policy)
    people = factories.applications(job_id, 4)
    withdraw(application_id=people[0].id, actor=factories.owner_of(people[0]))
    miss(job_id)
    return people


@pytest.mark.parametrize("misses_kept", [0, 3])
def test_the_place_is_the_former_one_and_the_miss_no_longer_counts(misses_kept: int) -> None:
    _first, missed, offered, _last = a_miss_from_the_waitlist(max_decays=misses_kept)
    job_id = missed.job_id
    newcomer = factories.application(job_id)

    answer = give_back(missed)

    row = factories.fresh(missed)
    assert (row.status, row.outcome, row.ended_at) == ("WAITLIST", None, None)
    assert (row.ticket, row.tie) == (missed.ticket, missed.tie)
    assert (row.decay_count, row.eligible_at) == (0, None)
    assert factories.line(job_id)[0] == missed.id
    assert factories.line(job_id)[-1] == newcomer.id
    assert factories.status_of(offered) == "PENDING_ACKNOWLEDGMENT"
    assert answer.status == "WAITLIST"
    assert_line_is_sound(job_id)


def test_the_log_names_the_miss_the_reason_and_who_gave_it_back() -> None:
    _first, missed, *_others = a_miss_from_the_waitlist()
    lost = Event.objects.get(application_id=missed.id, event="DECAYED")

    give_back(missed, note="The mail server was down, says Bo.")

    event = factories.events(missed.job_id)[-1]
    assert (event.event, event.cause_seq) == ("REINSTATED", lost.seq)
    assert (event.from_status, event.to_status, event.outcome) == ("WAITLIST", "WAITLIST", None)
    assert event.actor_id == factories.RECRUITER.id
    assert event.data["reason"] == "OUR_ERROR"
    assert event.data["missed"] == logged_time(lost.effective_at)
    assert "Bo" not in str(event.data)
    note = DecisionNote.objects.get(application_id=missed.id)
    assert (note.seq, note.text) == (event.seq, "The mail server was down, says Bo.")


def test_a_free_seat_is_offered_at_once() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    alone = factories.application(job_id)
    miss(job_id)
    assert factories.status_of(alone) == "WAITLIST"  # in the cool-down

    give_back(alone)

    back, promoted = factories.events(job_id)[-2:]
    assert (back.event, promoted.event) == ("REINSTATED", "PROMOTED")
    assert promoted.cause_seq == back.seq
    assert factories.status_of(alone) == "PENDING_ACKNOWLEDGMENT"
    assert_line_is_sound(job_id)
    assert acknowledge(application_id=alone.id, actor=factories.owner_of(alone)).status == "ACTIVE"


def test_in_a_paused_job_the_place_is_given_back_and_no_seat() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    alone = factories.application(job_id)
    miss(job_id)
    pause_job(job_id=job_id, actor=factories.RECRUITER)

    give_back(alone)

    assert factories.status_of(alone) == "WAITLIST"
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("places", [0, 2])
def test_who_was_offered_a_seat_on_applying_stands_where_they_would_have_joined(
    places: int,
) -> None:
    job_id = factories.job(capacity=2, acknowledge_first_seat=True, penalty_places=places)
    early, _second, *waiting = factories.applications(job_id, 4)
    let_time_pass(job_id, factories.WINDOW)
    factories.alter(job_id, policy={"penalty_places": 7})
    factories.settle_all()
    later = factories.applications(job_id, 2)

    give_back(early)

    assert factories.statuses(*waiting) == ["PENDING_ACKNOWLEDGMENT"] * 2
    assert factories.line(job_id)[0] == early.id
    assert factories.line(job_id).index(later[0].id) > 0
    assert_line_is_sound(job_id)


def test_misses_inherited_from_an_earlier_application_count_for_the_place_on_applying() -> None:
    job_id = factories.job(acknowledge_first_seat=True, penalty_places=2)
    person = factories.applicant()
    first = factories.application(job_id, person)
    miss(job_id)
    let_time_pass(job_id, factories.COOLDOWN)
    withdraw(application_id=first.id, actor=factories.owner_of(first))
    again = factories.application(job_id, person)
    assert again.status == "PENDING_ACKNOWLEDGMENT"
    joins_at = factories.row_of(job_id).next_ticket + 2
    miss(job_id)
    factories.application(job_id)

    give_back(again)

    assert factories.fresh(again).decay_count == 1
    assert factories.fresh(again).ticket == joins_at
    assert_line_is_sound(job_id)


def test_only_the_last_miss_is_given_back_and_only_once() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    missed = factories.application(job_id)
    miss(job_id)
    first_place = factories.fresh(missed)
    let_time_pass(job_id, factories.COOLDOWN)
    factories.settle_all()
    _next = factories.application(job_id)
    miss(job_id)
    assert factories.fresh(missed).decay_count == 2

    give_back(missed)
    seq = factories.row_of(job_id).seq
    again = give_back(missed)

    assert (again.ticket, again.tie) == (first_place.ticket, first_place.tie)
    assert again.decay_count == 1
    assert factories.row_of(job_id).seq == seq
    assert_line_is_sound(job_id)


def test_a_later_miss_can_be_given_back_too_and_keeps_both_notes() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    missed = factories.application(job_id)
    for note in ("once", "twice"):
        miss(job_id)
        give_back(missed, note=note)
    remove(
        application_id=missed.id,
        outcome=Outcome.REJECTED,
        actor=factories.RECRUITER,
        note="no more",
    )

    notes = DecisionNote.objects.filter(application_id=missed.id).order_by("seq")
    assert [note.text for note in notes] == ["once", "twice", "no more"]
    assert factories.fresh(missed).decay_count == 0
    assert_line_is_sound(job_id)


def test_after_it_the_old_offer_is_no_expired_one() -> None:
    _first, missed, *_others = a_miss_from_the_waitlist()
    with pytest.raises(AcknowledgmentExpired):
        acknowledge(application_id=missed.id, actor=factories.owner_of(missed))

    give_back(missed)

    with pytest.raises(IllegalMove):
        acknowledge(application_id=missed.id, actor=factories.owner_of(missed))


def test_a_repeated_request_is_not_about_a_later_miss() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    missed = factories.application(job_id)
    request = uuid4()
    miss(job_id)
    give_back(missed, request_id=request)
    miss(job_id)

    give_back(missed, request_id=request)

    assert factories.fresh(missed).decay_count == 1
    assert factories.event_names(job_id).count("REINSTATED") == 1


def test_two_at_once_give_one_place_back() -> None:
    _first, missed, *_others = a_miss_from_the_waitlist()

    together([lambda: give_back(missed), lambda: give_back(missed)])

    assert factories.event_names(missed.job_id).count("REINSTATED") == 1
    assert factories.fresh(missed).decay_count == 0
    assert_line_is_sound(missed.job_id)
