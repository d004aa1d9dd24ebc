"""Contests that are refused, or end in another way than by an answer."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from pipeline.domain.errors import (
    AlreadyApplied,
    ApplicationNotFound,
    ContestAnswered,
    ContestNotFound,
    NotReinstatable,
)
from pipeline.domain.states import Actor, ActorKind, ReinstatementReason
from pipeline.models import Contest
from pipeline.services.contests import drop_contest
from pipeline.services.jobs import close_job
from pipeline.services.leaving import reinstate
from tests.services.test_contest import a_lapsed_person, answer, ask, end
from tests.support import factories
from tests.support.invariants import assert_line_is_sound
from tests.support.lottery import draw, lottery

pytestmark = pytest.mark.django_db(transaction=True)


def test_only_the_person_can_ask() -> None:
    lapsed, other, _last = a_lapsed_person()

    with pytest.raises(ApplicationNotFound):
        ask(lapsed, actor=factories.owner_of(other))


def test_a_contest_is_answered_once() -> None:
    lapsed, *_others = a_lapsed_person()
    asked = ask(lapsed)
    answer(asked, "UPHELD", "DECISION_STANDS")

    with pytest.raises(ContestAnswered):
        answer(asked)
    with pytest.raises(ContestNotFound):
        answer(Contest(id=uuid4(), application_id=lapsed.id))

    assert factories.fresh(lapsed).status == "INACTIVE"


def test_no_place_is_given_back_in_a_closed_job() -> None:
    lapsed, *_others = a_lapsed_person()
    asked = ask(lapsed)
    close_job(job_id=lapsed.job_id, actor=factories.RECRUITER)

    with pytest.raises(NotReinstatable, match="closed"):
        answer(asked)
    answer(asked, "UPHELD", "NO_PLACE_LEFT")

    factories.settle_all()
    assert_line_is_sound(lapsed.job_id)


def test_no_place_is_given_back_to_somebody_who_applied_again() -> None:
    lapsed, *_others = a_lapsed_person()
    asked = ask(lapsed)
    factories.application(lapsed.job_id, lapsed.applicant)

    with pytest.raises(AlreadyApplied):
        answer(asked)

    assert Contest.objects.get(id=asked.id).is_open
    assert_line_is_sound(lapsed.job_id)


def test_giving_the_place_back_answers_the_contest() -> None:
    lapsed, *_others = a_lapsed_person()
    asked = ask(lapsed)

    reinstate(
        application_id=lapsed.id,
        reason=ReinstatementReason.MAIL_FAILURE,
        actor=factories.RECRUITER,
    )

    kept = Contest.objects.get(id=asked.id)
    assert (kept.answer, kept.reason) == ("CHANGED", "MAIL_FAILURE")
    assert factories.event_names(lapsed.job_id)[-2:] == ["CONTEST_ANSWERED", "REINSTATED"]
    assert_line_is_sound(lapsed.job_id)


def test_a_dropped_contest_is_no_answer() -> None:
    lapsed, *_others = a_lapsed_person()
    ask(lapsed)
    actor = Actor(ActorKind.APPLICANT, lapsed.applicant_id)

    dropped = [drop_contest(application_id=lapsed.id, actor=actor) for _ in range(2)]

    event = factories.events(lapsed.job_id)[-1]
    assert dropped == [True, False]
    assert (event.data["answer"], event.data["reason"]) == ("DROPPED", "PERSON_ERASED")
    assert_line_is_sound(lapsed.job_id)


def test_a_place_from_before_a_draw_by_lot_is_gone() -> None:
    job_id = lottery(capacity=1)
    people = factories.applications(job_id, 3)
    end(people[0])
    asked, early = ask(people[0]), people[1]
    end(early)
    answer(ask(early))
    assert early.id in factories.line(job_id)

    draw(job_id)
    with pytest.raises(NotReinstatable, match="by lot"):
        answer(asked)

    answer(asked, "UPHELD", "NO_PLACE_LEFT")
    assert_line_is_sound(job_id)


def test_a_place_from_after_the_draw_is_given_back() -> None:
    job_id = lottery(capacity=1)
    people = factories.applications(job_id, 3)
    draw(job_id)
    first, second = factories.line(job_id)
    waiting = next(each for each in people if each.id == first)
    end(waiting)

    answer(ask(waiting))

    assert factories.line(job_id) == [first, second]
    assert_line_is_sound(job_id)


def test_an_answer_that_is_repeated_is_the_same_one_and_another_one_is_refused() -> None:
    lapsed, *_others = a_lapsed_person()
    asked, request_id = ask(lapsed), uuid4()
    first = answer(asked, request_id=request_id)

    again = answer(asked, request_id=request_id)

    assert (first.answer_seq, first.id) == (again.answer_seq, again.id)
    for other in (UUID(int=0), UUID(int=2**128 - 1)):
        with pytest.raises(ContestAnswered):
            answer(asked, request_id=other)
