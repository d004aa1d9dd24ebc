"""The page on which someone asks the company to look again."""

from __future__ import annotations

import pytest

from pipeline.domain.contests import ContestAnswer, ContestReason
from pipeline.domain.states import Outcome
from pipeline.models import Application, Contest
from pipeline.services.contests import answer_contest
from pipeline.services.leaving import remove, withdraw
from tests.support import factories
from tests.support.applicants import mine, owner_signed_in
from tests.support.clock import let_time_pass
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)
DAY = 86_400
BUTTON = "Ask the company to look again…"


@pytest.fixture
def rejected() -> Application:
    """Someone who waited for the only seat and was rejected."""
    _seated, first, _second = factories.applications(factories.job(), 3)
    remove(application_id=first.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)
    return first


def test_a_person_asks_and_reads_until_when_the_answer_comes(rejected: Application) -> None:
    client = owner_signed_in(rejected)
    assert BUTTON in text_of(client.get(mine(rejected)))

    form = text_of(client.get(mine(rejected, "look-again/")))
    sent = client.post(mine(rejected, "look-again/"), {"text": "I have it.\r\nHere."}, follow=True)

    assert "answers within 14 days" in form
    said = text_of(sent)
    assert "Sent. The company will look again" in said
    assert "answer due by" in said
    assert "I have it." in said
    assert BUTTON not in said
    assert Contest.objects.get(application=rejected).text == "I have it.\nHere."


def test_the_answer_is_on_the_page(rejected: Application) -> None:
    client = owner_signed_in(rejected)
    client.post(mine(rejected, "look-again/"), {"text": "Why?"})
    asked = Contest.objects.get(application=rejected)
    answer_contest(
        contest_id=asked.id,
        application_id=rejected.id,
        answer=ContestAnswer.UPHELD,
        reason=ContestReason.DECISION_STANDS,
        text="You need the licence.",
        actor=factories.RECRUITER,
    )

    said = text_of(client.get(mine(rejected)))

    assert "It stays as it is. The reason: the decision was right." in said
    assert "You need the licence." in said


@pytest.mark.parametrize("text", ["", " \n ", "\x07", "x" * 2_001])
def test_a_text_that_cannot_be_kept_is_refused(rejected: Application, text: str) -> None:
    refused = owner_signed_in(rejected).post(mine(rejected, "look-again/"), {"text": text})

    assert refused.status_code == 422
    assert not Contest.objects.exists()


def test_who_left_or_comes_too_late_is_not_asked_to_ask(rejected: Application) -> None:
    left = factories.application(factories.job())
    withdraw(application_id=left.id, actor=factories.owner_of(left))
    let_time_pass(rejected.job_id, 30 * DAY)

    for person in (left, rejected):
        client = owner_signed_in(person)
        assert BUTTON not in text_of(client.get(mine(person)))
        answer = client.post(mine(person, "look-again/"), {"text": "Why?"}, follow=True)
        assert "You cannot ask the company to look again" in text_of(answer)
    assert not Contest.objects.exists()


def test_nobody_asks_for_another_person(rejected: Application) -> None:
    stranger = owner_signed_in(factories.application(factories.job()))

    assert stranger.get(mine(rejected, "look-again/")).status_code == 404
    assert stranger.post(mine(rejected, "look-again/"), {"text": "Why?"}).status_code == 404
