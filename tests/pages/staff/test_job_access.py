"""Roles on single jobs: given and taken by owners, and what their members are shown and told."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from jobs import keys
from jobs.models import Company, JobMember, JobPosting, JobRole, Membership, Role, Scope
from jobs.team import give_job_role
from pipeline.domain.errors import AssigneeNotFound, MentionNotFound
from pipeline.models import Application, ApplicationAssignee
from pipeline.notifications import companies
from pipeline.review import annotations, rota
from pipeline.review.notices import News, read_tellings
from pipeline.selectors.jobs import read_job
from pipeline.selectors.review import read_annotations
from tests.support import factories
from tests.support.accounts import browser_of, job_member_of, member_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def job(company: Company) -> UUID:
    return factories.job(company_id=company.id, capacity=1)


@pytest.fixture
def seated(job: UUID) -> Application:
    return factories.application(job)


def give(client: Client, job: UUID, email: str, role: JobRole = JobRole.INTERVIEWER) -> Any:
    return client.post(f"/company/jobs/{job}/access/", {"email": email, "job_role": role})


def test_an_owner_gives_a_role_on_a_job_to_someone_new(
    company: Company, job: UUID, seated: Application, mailoutbox: list[Any]
) -> None:
    owner = browser_of(member_of(company))

    give(owner, job, "new@example.org")

    member = Membership.objects.get(user__email="new@example.org")
    assert (member.role, member.job_members.get().role) == ("", "INTERVIEWER")
    theirs = browser_of(member.user)
    assert seated.name in theirs.get(f"/company/jobs/{job}/").content.decode()
    assert theirs.get(f"/company/applications/{seated.id}/").status_code == 200


@pytest.mark.parametrize("role", [Role.VIEWER, Role.RECRUITER])
def test_nobody_but_an_owner_gives_roles(company: Company, job: UUID, role: Role) -> None:
    user = member_of(company, role)

    answer = give(browser_of(user), job, user.email, JobRole.HIRING_MANAGER)

    assert answer.status_code == 403
    assert not JobMember.objects.exists()


@pytest.mark.parametrize("role", list(JobRole))
def test_a_role_on_a_job_gives_nothing_to_others(
    company: Company, job: UUID, role: JobRole
) -> None:
    user = job_member_of(company, job, role)

    answer = give(browser_of(user), job, user.email, JobRole.HIRING_MANAGER)

    assert answer.status_code in (403, 404)
    assert JobMember.objects.get().role == role


def test_a_role_that_is_taken_away_ends_at_once(
    company: Company, job: UUID, seated: Application
) -> None:
    user = job_member_of(company, job, JobRole.HIRING_MANAGER)
    theirs, member = browser_of(user), Membership.objects.get(user=user)
    assert theirs.get(f"/company/applications/{seated.id}/").status_code == 200

    browser_of(member_of(company)).post(f"/company/jobs/{job}/access/{member.id}/remove/")

    assert theirs.get(f"/company/applications/{seated.id}/").status_code == 404
    assert theirs.get(f"/company/jobs/{job}/?fragment=1").status_code == 404
    assert "No jobs yet" in theirs.get("/company/").content.decode()


def test_an_interviewer_sees_nobody_who_waits_or_was_decided_on(
    company: Company, job: UUID, seated: Application
) -> None:
    waiting = factories.application(job, factories.applicant(name="Waiting Wanda"))
    theirs = browser_of(job_member_of(company, job, JobRole.INTERVIEWER))

    page = theirs.get(f"/company/jobs/{job}/").content.decode()

    assert seated.name in page
    assert "Wanda" not in page
    assert theirs.get(f"/company/applications/{waiting.id}/").status_code == 404
    assert theirs.get(f"/company/jobs/{job}/applications/").status_code == 404
    assert theirs.get("/company/go/?q=Wanda").content.count(b"Wanda") == 2  # as typed


def test_a_hiring_manager_decides_on_people_of_the_job_alone(
    company: Company, job: UUID, seated: Application
) -> None:
    elsewhere = factories.application(factories.job(company_id=company.id))
    theirs = browser_of(job_member_of(company, job, JobRole.HIRING_MANAGER))
    form = {"outcome": "REJECTED", "reason": "OTHER", "application": [elsewhere.id]}

    theirs.post(f"/company/jobs/{job}/decide/", form | {"sure": "on"})
    assert theirs.get(f"/company/applications/{elsewhere.id}/decide/").status_code == 404
    assert theirs.get(f"/company/applications/{seated.id}/decide/").status_code == 200

    assert factories.status_of(elsewhere) == "ACTIVE"


def test_a_viewer_with_a_role_on_a_job_has_both(
    company: Company, job: UUID, seated: Application
) -> None:
    user = member_of(company, Role.VIEWER)
    give_job_role(company_id=company.id, job_id=job, email=user.email, role=JobRole.HIRING_MANAGER)
    theirs, other = browser_of(user), factories.application(factories.job(company_id=company.id))

    assert theirs.get(f"/company/applications/{seated.id}/decide/").status_code == 200
    assert theirs.get(f"/company/applications/{other.id}/").status_code == 200
    assert theirs.get(f"/company/applications/{other.id}/decide/").status_code == 403


def test_nobody_is_told_chosen_or_mentioned_who_may_not_see_the_job(
    company: Company, job: UUID, seated: Application
) -> None:
    outsider = job_member_of(company, factories.job(company_id=company.id), JobRole.HIRING_MANAGER)
    manager = job_member_of(company, job, JobRole.HIRING_MANAGER)
    interviewer = job_member_of(company, job, JobRole.INTERVIEWER)

    told = {member.user_id for member, _ in read_tellings(read_job(job), News.SEAT)}
    due = {member.user_id for member, _ in read_tellings(read_job(job), News.DUE)}

    assert told == {manager.id, interviewer.id}
    assert due == {manager.id}
    ids = {"application_id": seated.id, "company_id": company.id}
    for user in (outsider, interviewer):
        with pytest.raises(AssigneeNotFound):
            annotations.assign_application(**ids, user_id=user.id)
        with pytest.raises(MentionNotFound):
            annotations.add_note(
                application_id=seated.id, text="x", author_id=manager.id, mentioned=[user.id]
            )
        with pytest.raises(AssigneeNotFound):
            rota.set_members(job_id=job, company_id=company.id, user_ids=[user.id])
    assert annotations.assign_application(**ids, user_id=manager.id)


def test_someone_who_lost_the_job_is_shown_as_assigned_no_more(
    company: Company, job: UUID, seated: Application
) -> None:
    user = job_member_of(company, job, JobRole.HIRING_MANAGER)
    ApplicationAssignee.objects.create(application=seated, user=user, job_id=job)
    assert read_annotations([seated.id])[seated.id].assignee == user.email

    JobMember.objects.all().delete()

    assert read_annotations([seated.id])[seated.id].assignee == ""


def test_a_digest_names_only_the_jobs_of_a_hiring_manager(company: Company, job: UUID) -> None:
    factories.job(company_id=company.id)
    JobPosting.objects.filter(job_id=job).update(title="Mine")
    user = job_member_of(company, job, JobRole.HIRING_MANAGER)
    seen = job_member_of(company, job, JobRole.INTERVIEWER)
    members = [Membership.objects.get(user=each) for each in (user, seen)]

    figures = [companies._digest_figures(member) for member in members]

    assert [[each.title for each in told] for told in figures] == [["Mine"], []]


def test_the_last_owner_is_not_left_with_single_jobs(company: Company) -> None:
    user = member_of(company)
    member = Membership.objects.get(user=user)

    browser_of(user).post(f"/company/team/{member.id}/", {"role": "JOBS", "change": "1"})

    assert Membership.objects.get(id=member.id).role == Role.OWNER


def test_a_list_of_many_jobs_costs_no_more_statements(
    company: Company, django_assert_num_queries: Any
) -> None:
    user = job_member_of(company, factories.job(company_id=company.id), JobRole.INTERVIEWER)
    member, theirs = Membership.objects.get(user=user), browser_of(user)
    with django_assert_num_queries(5, exact=False) as few:
        theirs.get("/company/")

    for _ in range(5):
        job = factories.job(company_id=company.id)
        JobMember.objects.create(membership=member, job_id=job, role=JobRole.HIRING_MANAGER)

    with django_assert_num_queries(len(few)):
        theirs.get("/company/")


def test_a_staff_member_is_called_by_name_where_they_act(
    company: Company, job: UUID, seated: Application
) -> None:
    owner = member_of(company, name="Olga Owner")
    ApplicationAssignee.objects.create(application=seated, user=owner, job_id=job)

    page = browser_of(owner).get(f"/company/jobs/{job}/applications/").content.decode()

    assert "Olga Owner" in page
    assert owner.email not in page.partition("<main")[2]


def test_whoever_removes_a_member_is_shown_the_keys_that_they_made(company: Company) -> None:
    owner, other = member_of(company), member_of(company)
    keys.create(company_id=company.id, name="Left behind", scopes=[Scope.READ], by=other.id)
    keys.create(company_id=company.id, name="Of another", scopes=[Scope.READ], by=owner.id)
    member = Membership.objects.get(user=other)

    page = browser_of(owner).get(f"/company/team/{member.id}/").content.decode()

    assert "Left behind" in page
    assert "Of another" not in page
