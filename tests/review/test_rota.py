"""The rota: each seat goes to one member, the one with the fewest open reviews."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from jobs.models import Company, Job, Membership, Role, User
from jobs.team import set_away
from pipeline.domain.errors import AssigneeNotFound
from pipeline.domain.states import Outcome
from pipeline.models import Application, ApplicationAssignee, ReviewNotice
from pipeline.notifications.reviewers import SEATS, follow_seats
from pipeline.review import rota
from pipeline.review.annotations import assign_application
from pipeline.selectors.jobs import read_job
from pipeline.services.leaving import remove
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.task_runs import run_due_tasks
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def follow(settings: Any) -> None:
    settings.NOTIFY = True


@pytest.fixture
def team(company: Company) -> list[User]:
    return [member_of(company, Role.RECRUITER, email=f"{name}@example.org") for name in "abc"]


@pytest.fixture
def job(company: Company, team: list[User]) -> UUID:
    """Return a job with six seats, whose rota is the whole team."""
    job = factories.job(company_id=company.id, capacity=6)
    set_rota(job, team)
    return job


def set_rota(job: UUID, team: list[User]) -> None:
    company_id = Job.objects.get(id=job).company_id
    rota.set_members(job_id=job, company_id=company_id, user_ids=[each.id for each in team])


def assigned() -> Counter[str]:
    return Counter(ApplicationAssignee.objects.values_list("user__email", flat=True))


def seat(job: UUID, number: int = 1) -> list[Application]:
    people = factories.applications(job, number)
    run_due_tasks(SEATS)
    return people


def test_members_take_turns(job: UUID) -> None:
    seat(job, 6)

    assert assigned() == {"a@example.org": 2, "b@example.org": 2, "c@example.org": 2}


def test_the_next_is_who_has_the_fewest_open_reviews_in_the_company(
    job: UUID, company: Company, team: list[User]
) -> None:
    other = factories.job(company_id=company.id, capacity=2)
    for person in factories.applications(other, 2):
        assign_application(application_id=person.id, company_id=company.id, user_id=team[0].id)

    seat(job, 4)

    on_job = ApplicationAssignee.objects.filter(job_id=job).values_list("user__email", flat=True)
    assert Counter(on_job) == {"b@example.org": 2, "c@example.org": 2}


def test_a_review_that_has_ended_is_not_counted(job: UUID) -> None:
    first, *_ = seat(job, 3)
    remove(application_id=first.id, outcome=Outcome.HIRED, actor=factories.RECRUITER)

    [after] = seat(job)

    ended = ApplicationAssignee.objects.get(application=first).user_id
    assert ApplicationAssignee.objects.get(application=after).user_id == ended


def test_members_who_are_away_or_have_left_are_passed_over(job: UUID, team: list[User]) -> None:
    today = datetime.now(UTC).date()
    away, back = (Membership.objects.get(user=each) for each in team[:2])
    set_away(membership_id=away.id, until=today + timedelta(days=1))
    set_away(membership_id=back.id, until=today - timedelta(days=1))
    Membership.objects.filter(user=team[2]).delete()

    seat(job, 2)

    assert assigned() == {"b@example.org": 2}


def test_with_everyone_away_nobody_is_assigned(job: UUID) -> None:
    Membership.objects.update(away_until=datetime.now(UTC).date())

    seat(job)

    assert assigned() == {}


def test_someone_who_is_assigned_already_stays_so(
    job: UUID, company: Company, team: list[User]
) -> None:
    [person] = factories.applications(job, 1)
    assign_application(application_id=person.id, company_id=company.id, user_id=team[2].id)

    run_due_tasks(SEATS)

    assert assigned() == {"c@example.org": 1}


def test_a_seat_is_assigned_once_however_often_its_task_runs(job: UUID) -> None:
    [person] = seat(job)
    ApplicationAssignee.objects.all().delete()  # a member unassigns the person

    follow_seats(job_id=job, first_seq=1, last_seq=100)

    assert assigned() == {}
    assert ReviewNotice.objects.filter(application=person, kind="ROTA").count() == 1


def test_two_workers_at_once_assign_each_seat_once_and_share_them_out(job: UUID) -> None:
    people = factories.applications(job, 3)
    row = read_job(job)

    acts = [
        lambda each=each: rota.assign_in_turn(row, each.id, each.status_since)  # type: ignore[misc]
        for each in [*people, *people]
    ]
    answers = together(acts)

    assert sum(answer is not None for answer in answers) == 3
    assert assigned() == {"a@example.org": 1, "b@example.org": 1, "c@example.org": 1}


def test_who_has_left_the_seat_meanwhile_is_assigned_to_nobody(job: UUID) -> None:
    [person] = factories.applications(job, 1)
    remove(application_id=person.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)

    run_due_tasks(SEATS)

    assert assigned() == {}


def test_only_members_of_the_company_take_turns(job: UUID) -> None:
    stranger = member_of(factories.company())

    with pytest.raises(AssigneeNotFound):
        set_rota(job, [stranger])
