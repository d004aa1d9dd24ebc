"""Everyone whom an exception passes is told: by one email, and on the page, whatever follows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.core import mail

from pipeline.domain.states import ExceptionReason
from pipeline.models import Application, Email
from pipeline.notifications import outbox, overtaken
from pipeline.services.exceptions import move_ahead
from pipeline.services.joining import verify
from pipeline.services.leaving import withdraw
from tasks.models import Task
from tests.support import factories
from tests.support.applicants import owner_signed_in
from tests.support.pages import page_of
from tests.support.task_runs import run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def notify(settings: Any) -> None:
    """Events are told by mail."""
    settings.NOTIFY = True


def sent_about(words: str) -> list[Any]:
    for _ in range(5):
        run_due_tasks()
    return [each for each in mail.outbox if words in each.subject]


def ahead(person: Application, text: str = "") -> None:
    reason, actor = ExceptionReason.OTHER, factories.RECRUITER
    move_ahead(application_id=person.id, reason=reason, text=text, actor=actor)


def test_each_person_passed_gets_one_email_with_reason_and_text_and_nobody_else_does() -> None:
    job_id = factories.job()
    people = factories.applications(job_id, 4)
    factories.application(job_id, verified=False)
    moved, behind = factories.applications(job_id, 2)

    ahead(moved, text="A pilot with the city.")
    told = sent_about("Someone was moved ahead of you")

    passed = Counter(each.applicant.email for each in people[1:])
    assert Counter(to for each in told for to in each.to) == passed
    assert behind.applicant.email not in passed
    for each in told:
        assert "3 people were passed, and you are one of them." in each.body
        assert "A pilot with the city." in each.body
        assert "Your place in line now:" in each.body
        assert moved.name not in each.body
        assert "List-Unsubscribe" not in each.extra_headers
    assert len(sent_about("You were moved to the front")) == 1


@pytest.mark.parametrize("at_once", [1, 2, 5_000])
def test_they_are_told_once_however_often_and_in_however_many_parts_the_tasks_run(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overtaken, "EVENTS_AT_ONCE", at_once)
    job_id = factories.job()
    people = factories.applications(job_id, 4)

    ahead(people[-1])
    told = sent_about("Someone was moved ahead of you")
    Task.objects.filter(type__key=outbox.TELL_PASSED).update(status="PENDING", finished_at=None)
    again = sent_about("Someone was moved ahead of you")

    assert sorted(to for each in told for to in each.to) == sorted(
        each.applicant.email for each in people[1:-1]
    )
    assert len(again) == len(told)
    assert Email.objects.filter(kind="OVERTAKEN").count() == 2


def test_who_has_left_or_was_seated_or_verified_since_is_told_by_where_they_stood_then() -> None:
    job_id = factories.job()
    seated, left, promoted = factories.applications(job_id, 3)
    late = factories.application(job_id, verified=False)
    moved = factories.application(job_id)

    ahead(moved)
    verify(application_id=late.id, actor=factories.owner_of(late))
    withdraw(application_id=left.id, actor=factories.owner_of(left))
    withdraw(application_id=moved.id, actor=factories.owner_of(moved))
    withdraw(application_id=seated.id, actor=factories.owner_of(seated))
    told = sent_about("Someone was moved ahead of you")

    assert factories.status_of(promoted) == "PENDING_ACKNOWLEDGMENT"
    addresses = sorted(to for each in told for to in each.to)
    assert addresses == sorted([left.applicant.email, promoted.applicant.email])


def test_the_page_of_those_passed_says_when_why_and_what_the_company_wrote() -> None:
    job_id = factories.job()
    _seated, passed, moved = factories.applications(job_id, 3)
    before = page_of(owner_signed_in(passed), f"/me/applications/{passed.id}/")

    ahead(moved, text="A pilot with <the> city.")
    page = page_of(owner_signed_in(passed), f"/me/applications/{passed.id}/")
    own = page_of(owner_signed_in(moved), f"/me/applications/{moved.id}/")

    assert "Moved ahead of you" not in before
    assert "Someone behind you was moved ahead by an exception. You moved back by one." in page
    assert "moved one person to the front of the line. Only you were passed." in page
    assert "another reason, in the company’s own words" in page
    assert "A pilot with &lt;the&gt; city." in page
    assert moved.name not in page
    assert "Moved ahead of you" not in own
    assert "You were moved to the front" in own
