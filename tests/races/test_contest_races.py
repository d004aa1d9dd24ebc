"""Contests at the very moment of something else: whichever is first counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from django.db import IntegrityError

from applicants.models import ERASED_NAME
from pipeline.domain.contests import ContestAnswer, ContestReason
from pipeline.domain.states import Outcome, ReinstatementReason
from pipeline.models import Application, Contest
from pipeline.privacy.erase import erase_person
from pipeline.services import contests as answering
from pipeline.services import contests as contesting
from pipeline.services import leaving as reinstating
from pipeline.services.leaving import remove, withdraw
from tests.races.thinking import with_and_without_lock
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.together import kinds, together

pytestmark = pytest.mark.django_db(transaction=True)

locked = with_and_without_lock(answering, contesting, reinstating)


def lapsed() -> Application:
    """The first of two who waited missed the only offer; the second has it now."""
    job_id = factories.job(max_decays=0)
    seated, missed, _second = factories.applications(job_id, 3)
    withdraw(application_id=seated.id, actor=factories.owner_of(seated))
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    assert factories.status_of(missed) == "LAPSED"
    return missed


def asking(person: Application) -> Callable[[], Contest]:
    actor = factories.owner_of(person)
    return partial(contesting.contest, application_id=person.id, text="Why?", actor=actor)


def answer(asked: Contest, what: ContestAnswer, reason: ContestReason) -> Callable[[], Contest]:
    return partial(
        answering.answer_contest,
        contest_id=asked.id,
        application_id=asked.application_id,
        answer=what,
        reason=reason,
        actor=factories.RECRUITER,
    )


def changing(asked: Contest) -> Callable[[], Contest]:
    return answer(asked, ContestAnswer.CHANGED, ContestReason.OUR_ERROR)


def upholding(asked: Contest) -> Callable[[], Contest]:
    return answer(asked, ContestAnswer.UPHELD, ContestReason.DECISION_STANDS)


def test_only_the_lock_keeps_two_answers_from_one_question(locked: bool) -> None:
    asked = asking(lapsed())()

    answers = together([changing(asked), upholding(asked)])

    failed = [each for each in answers if isinstance(each, IntegrityError)]
    assert not failed if locked else failed  # the unique sequence is the second line of defence
    if not locked:
        return
    assert kinds(answers) == ["Contest", "ContestAnswered"]
    changed = isinstance(answers[0], Contest)
    kept = Contest.objects.get(id=asked.id)
    assert kept.answer == ("CHANGED" if changed else "UPHELD")
    status = factories.status_of(asked.application)
    assert status == ("WAITLIST" if changed else "LAPSED")
    assert factories.event_names(asked.job_id).count("CONTEST_ANSWERED") == 1
    assert_line_is_sound(asked.job_id)


def test_an_end_that_is_contested_twice_at_once_is_contested_once() -> None:
    person = lapsed()

    answers = together([asking(person)] * 4)

    assert kinds(answers) == ["AlreadyContested"] * 3 + ["Contest"]
    assert factories.event_names(person.job_id).count("CONTESTED") == 1
    assert_line_is_sound(person.job_id)


@pytest.mark.parametrize("round_number", range(4))
def test_asking_while_the_place_is_given_back_leaves_no_question_open(round_number: int) -> None:
    person = lapsed()
    giving_back = partial(
        reinstating.reinstate,
        application_id=person.id,
        reason=ReinstatementReason.OUR_ERROR,
        actor=factories.RECRUITER,
    )

    asked, given = together([asking(person), giving_back])

    assert isinstance(given, Application)
    assert type(asked).__name__ in ("Contest", "NotContestable")
    assert not Contest.objects.filter(answer="").exists()
    assert factories.status_of(person) == "WAITLIST"
    assert_line_is_sound(person.job_id)


@pytest.mark.parametrize("round_number", range(4))
@pytest.mark.parametrize("act", [changing, upholding])
def test_nothing_written_is_left_of_somebody_erased_meanwhile(
    act: Callable[[Contest], Callable[[], Contest]], round_number: int
) -> None:
    job_id = factories.job()
    person = factories.application(job_id)
    remove(application_id=person.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)
    asked = asking(person)()

    together([act(asked), partial(erase_person, applicant_id=person.applicant_id)])

    row = factories.fresh(person)
    assert (row.name, row.status) == (ERASED_NAME, "INACTIVE")
    assert not Contest.objects.exists()
    assert factories.event_names(job_id).count("CONTEST_ANSWERED") == 1
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("round_number", range(4))
def test_nothing_is_asked_for_somebody_erased_meanwhile(round_number: int) -> None:
    person = lapsed()

    asked, _ = together([asking(person), partial(erase_person, applicant_id=person.applicant_id)])

    assert type(asked).__name__ in ("Contest", "ApplicationNotFound")
    assert not Contest.objects.exists()
    names = factories.event_names(person.job_id)
    assert names.count("CONTESTED") == names.count("CONTEST_ANSWERED")
    assert_line_is_sound(person.job_id)
