"""Scores, review targets and the filter of overdue reviews over the API."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db.models import F
from django.test import Client

from jobs.models import Company, JobPosting, Role, User
from pipeline.domain.states import Outcome
from pipeline.models import Application
from pipeline.review.scores import CriterionWords, set_criteria
from pipeline.selectors.scores import read_criteria
from pipeline.services.leaving import remove
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.callers import JSON, Caller, code_of, key_of, signed_in

pytestmark = pytest.mark.django_db(transaction=True)

DAY = 86_400


@pytest.fixture
def job(company: Company) -> UUID:
    """Return a job with one seat and two criteria."""
    job = factories.job(company_id=company.id)
    set_criteria(job_id=job, wanted=[CriterionWords("Skill", "Can they?"), CriterionWords("Will")])
    return job


@pytest.fixture
def ana(job: UUID) -> Application:
    """Return the application of someone in review."""
    return factories.application(job)


@pytest.fixture
def key(company: Company) -> Caller:
    return key_of(company.id)


def of_member(user: User, application: Application) -> tuple[Any, Any]:
    """Return how a member reads and gives scores in a browser."""
    browser: Client = browser_of(user)
    path = f"/api/v1/applications/{application.id}/scores"
    return (
        lambda: browser.get(path),
        lambda scores: browser.put(path, {"scores": scores}, content_type=JSON),
    )


def card(job: UUID, *values: int, **more: Any) -> list[dict[str, Any]]:
    rows = zip(read_criteria(job), values, strict=False)
    return [{"criterion_id": str(row.id), "score": value} | more for row, value in rows]


def test_a_member_gives_scores_and_then_sees_the_others(
    company: Company, job: UUID, ana: Application
) -> None:
    first, second = (member_of(company, Role.RECRUITER) for _ in range(2))
    _, give = of_member(first, ana)
    read, give_too = of_member(second, ana)
    give(card(job, 4, 1, text="Knows Zig."))

    hidden = read().json()
    shown = give_too(card(job, 2, 3)).json()

    assert [row["label"] for row in hidden["criteria"]] == ["Skill", "Will"]
    assert (hidden["is_hidden"], hidden["reviewers_count"]) == (True, 1)
    assert (hidden["scorecards"], hidden["summary"]) == ([], [])
    assert {each["reviewer_id"] for each in shown["scorecards"]} == {str(first.id), str(second.id)}
    assert [(each["average"], each["counts"]) for each in shown["summary"]] == [
        (3.0, [0, 1, 0, 1]),
        (2.0, [1, 0, 1, 0]),
    ]


def test_a_key_sees_scores_only_after_the_decision_and_gives_none(
    company: Company, job: UUID, ana: Application, key: Caller
) -> None:
    of_member(member_of(company), ana)[1](card(job, 4, 1))
    path = f"/applications/{ana.id}/scores"

    before = key.get(path).json()
    refused = code_of(key.put(path, {"scores": card(job, 1, 1)}))
    remove(application_id=ana.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)
    after = key.get(path).json()

    assert (before["is_hidden"], before["scorecards"]) == (True, [])
    assert refused == (403, "PERMISSION_DENIED")
    assert [each["score"] for each in after["scorecards"][0]["scores"]] == [4, 1]


def test_scores_are_refused_by_name(company: Company, job: UUID, ana: Application) -> None:
    _, give = of_member(member_of(company), ana)
    whole = card(job, 1, 1)

    assert code_of(give(whole[:1])) == (409, "CRITERIA_CHANGED")
    for wrong in (
        [],
        [*whole, whole[0]],
        card(job, 0, 1),
        card(job, 5, 1),
        card(job, 1, 1, text="x" * 301),
        [{"criterion_id": "x", "score": 1}],
    ):
        assert code_of(give(wrong)) == (400, "VALIDATION_ERROR")
    remove(application_id=ana.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)
    assert code_of(give(whole)) == (409, "INVALID_TRANSITION")


def test_applicants_and_strangers_find_no_scores(ana: Application) -> None:
    path = f"/applications/{ana.id}/scores"

    assert signed_in(ana.applicant).get(path).status_code in (403, 404)
    assert key_of(factories.company().id).get(path).status_code == 404


def test_a_target_is_set_with_the_job_changed_and_removed(job: UUID, key: Caller) -> None:
    made = key.post("/jobs", {"title": "Cook", "capacity": 1, "review_target_seconds": DAY}).json()
    before = made["policy"]

    def patched(seconds: int | None) -> Any:
        return key.patch(f"/jobs/{made['id']}", {"review_target_seconds": seconds})

    assert made["review_target_seconds"] == DAY
    assert patched(3 * DAY).json()["review_target_seconds"] == 3 * DAY
    assert code_of(patched(3_599)) == (400, "VALIDATION_ERROR")
    assert code_of(patched(60 * DAY + 1)) == (400, "VALIDATION_ERROR")
    removed = patched(None).json()
    assert (removed["review_target_seconds"], removed["policy"]) == (None, before)


def test_an_application_in_review_says_since_when_and_until_when(
    job: UUID, ana: Application, key: Caller
) -> None:
    waiting = factories.application(job)
    JobPosting.objects.filter(job_id=job).update(review_target_seconds=DAY)

    seen = key.get(f"/applications/{ana.id}").json()
    other = key.get(f"/applications/{waiting.id}").json()

    since, due = (datetime.fromisoformat(seen[name]) for name in ("review_since", "review_due_at"))
    assert (since, due - since) == (ana.status_since, timedelta(days=1))
    assert (other["review_since"], other["review_due_at"]) == (None, None)


def test_who_takes_a_seat_by_applying_is_told_when_they_decide(job: UUID, key: Caller) -> None:
    JobPosting.objects.filter(job_id=job).update(review_target_seconds=DAY)

    made = key.post(f"/jobs/{job}/applications", {"name": "Ann", "email": "a@example.org"}).json()

    assert made["review_due_at"] > made["review_since"] == made["applied_at"]


def test_overdue_reviews_are_found(job: UUID, ana: Application, key: Caller) -> None:
    factories.application(job)

    def found() -> list[str]:
        rows = key.get(f"/jobs/{job}/applications", {"review": "overdue"}).json()["data"]
        return [row["id"] for row in rows]

    without_target = found()
    JobPosting.objects.filter(job_id=job).update(review_target_seconds=DAY)
    in_time = found()
    Application.objects.filter(id=ana.id).update(status_since=F("status_since") - timedelta(days=2))

    assert (without_target, in_time, found()) == ([], [], [str(ana.id)])
    answer = key.get(f"/jobs/{job}/applications", {"review": "late"})
    assert code_of(answer) == (400, "VALIDATION_ERROR")
