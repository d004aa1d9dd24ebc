"""What someone wrote to a company, and its answer: personal data, kept until it is answered."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.core.serializers.json import DjangoJSONEncoder
from django.utils import timezone

from pipeline.domain.contests import ContestAnswer, ContestReason
from pipeline.domain.states import Outcome
from pipeline.models import Application, Contest
from pipeline.privacy import my_data, retention
from pipeline.privacy.erase import erase_person
from pipeline.services.contests import answer_contest, contest
from pipeline.services.leaving import remove
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)
WROTE, ANSWERED = "I was at the harbour all night.", "The harbour was closed that night."


@pytest.fixture
def asked() -> Contest:
    """Someone who was rejected asks to look again."""
    person = factories.application(factories.job())
    who = {"application_id": person.id}
    remove(**who, outcome=Outcome.REJECTED, actor=factories.RECRUITER)
    return contest(**who, text=WROTE, actor=factories.owner_of(person))


def uphold(asked: Contest) -> None:
    answer_contest(
        contest_id=asked.id,
        application_id=asked.application_id,
        answer=ContestAnswer.UPHELD,
        reason=ContestReason.DECISION_STANDS,
        text=ANSWERED,
        actor=factories.RECRUITER,
    )


def test_the_download_has_what_both_sides_wrote(asked: Contest) -> None:
    uphold(asked)

    everything = my_data.collect(asked.application.applicant)

    [theirs] = everything["applications"]
    [said] = theirs["asked_to_look_again"]
    assert (said["text"], said["answer_text"]) == (WROTE, ANSWERED)
    assert (said["answer"], said["reason"]) == ("UPHELD", "DECISION_STANDS")
    assert json.dumps(everything, cls=DjangoJSONEncoder)


@pytest.mark.parametrize("is_answered", [True, False])
def test_erasing_the_person_erases_both_texts_and_leaves_no_question_open(
    asked: Contest, is_answered: bool
) -> None:
    if is_answered:
        uphold(asked)

    erase_person(applicant_id=asked.application.applicant_id)

    assert not Contest.objects.exists()
    last = factories.events(asked.job_id)[-1]
    assert last.event == "CONTEST_ANSWERED"
    assert last.data["answer"] == ("UPHELD" if is_answered else "DROPPED")
    assert_line_is_sound(asked.job_id)


def test_retention_waits_for_the_answer_and_then_erases_the_texts(asked: Contest) -> None:
    long_ago = timezone.now() - timedelta(days=800)
    Application.objects.filter(id=asked.application_id).update(ended_at=long_ago)

    assert retention.erase_batch() == 0
    assert Contest.objects.get(id=asked.id).text == WROTE
    uphold(asked)

    assert retention.erase_batch() == 1
    assert not Contest.objects.exists()


def test_the_time_that_passes_changes_nothing_of_an_open_question(asked: Contest) -> None:
    let_time_pass(asked.job_id, 100 * 86_400)

    assert Contest.objects.get(id=asked.id).is_open
    assert_line_is_sound(asked.job_id)
