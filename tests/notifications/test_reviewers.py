"""Emails to reviewers: seats, assignments, mentions and targets, each once and while it is true."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core import mail
from django.db.models import F

from jobs.models import Company, Job, JobPosting, Membership, Role, Telling, User
from jobs.team import set_member_emails
from pipeline.domain.states import Outcome
from pipeline.mail.links import read_unsubscribe_token
from pipeline.models import Application, JobFollower, ReviewNotice
from pipeline.notifications.companies import stop_subscription
from pipeline.notifications.reviewers import SEATS, follow_seats, follow_targets
from pipeline.review import decisions, rota
from pipeline.review.annotations import add_note, assign_application
from pipeline.review.notices import TASK
from pipeline.services.leaving import remove, withdraw
from pipeline.services.turns import acknowledge
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.sandboxes import sandbox
from tests.support.task_runs import run_due_tasks
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = 3_600
OWNER, RECRUITER, VIEWER = (f"{role}@example.org" for role in ("owner", "recruiter", "viewer"))


@pytest.fixture(autouse=True)
def notify(settings: Any) -> None:
    settings.NOTIFY = True
    settings.SITE_URL = "https://line.example"


@pytest.fixture
def team(company: Company) -> dict[str, User]:
    """An owner, a recruiter and a viewer, by address."""
    roles = {OWNER: Role.OWNER, RECRUITER: Role.RECRUITER, VIEWER: Role.VIEWER}
    return {email: member_of(company, role, email=email) for email, role in roles.items()}


@pytest.fixture
def job(company: Company, team: dict[str, User]) -> UUID:
    return factories.job(company_id=company.id, capacity=5)


def membership(email: str) -> Membership:
    return Membership.objects.get(user__email=email)


def sent() -> list[tuple[str, str]]:
    """Run what is due; who got which email to reviewers, in order of addresses."""
    run_due_tasks(SEATS, TASK)
    return sorted((message.to[0], message.subject) for message in mail.outbox)


def told_about(subject: str, *emails: str) -> list[tuple[str, str]]:
    return sorted((email, subject) for email in emails)


SEATED = "Someone has taken a seat for “Engineer”"


def test_recruiters_and_owners_are_told_of_a_seat_taken(job: UUID) -> None:
    person = factories.application(job, factories.applicant(name="Mallory Nym"))

    assert sent() == told_about(SEATED, OWNER, RECRUITER)
    body = str(mail.outbox[0].body)
    assert f"https://line.example/company/applications/{person.id}/" in body
    assert "Mallory" not in body + mail.outbox[0].subject


def test_one_email_tells_of_everyone_whom_a_change_seated(job: UUID) -> None:
    factories.applications(job, 2)
    run_due_tasks(SEATS)
    mail.outbox.clear()

    [first, last] = ReviewNotice.objects.order_by("id").values_list("application", flat=True)
    ReviewNotice.objects.all().delete()
    follow_seats(job_id=job, first_seq=1, last_seq=100)

    subject = "2 people have taken seats for “Engineer”"
    assert (OWNER, subject) in sent()
    assert first != last


def test_a_seat_is_told_when_it_is_confirmed_not_when_it_is_offered(
    company: Company, team: dict[str, User]
) -> None:
    job = factories.job(company_id=company.id, acknowledge_first_seat=True)
    person = factories.application(job)
    offered = sent()

    acknowledge(application_id=person.id, actor=factories.owner_of(person))

    assert (offered, sent()) == ([], told_about(SEATED, OWNER, RECRUITER))


def test_nobody_is_told_twice_however_often_the_task_runs(job: UUID) -> None:
    factories.application(job)
    first = sent()

    together([lambda: follow_seats(job_id=job, first_seq=1, last_seq=9)] * 3)

    assert sent() == first


def test_someone_who_has_left_meanwhile_is_not_told(job: UUID) -> None:
    person = factories.application(job)
    run_due_tasks(SEATS)

    withdraw(application_id=person.id, actor=factories.owner_of(person))

    assert sent() == []


def test_a_decision_and_its_undoing_tell_nobody_again(job: UUID, settings: Any) -> None:
    settings.DECISION_UNDO_SECONDS = 10
    person, actor, decision = factories.application(job), factories.RECRUITER, UUID(int=1)
    before = sent()

    decisions.make(
        decision_id=decision,
        job_id=job,
        application_ids=[person.id],
        outcome=Outcome.REJECTED,
        actor=actor,
    )
    decisions.undo(decision_id=decision, job_id=job, actor=actor)
    follow_seats(job_id=job, first_seq=1, last_seq=9)

    assert sent() == before


def test_members_choose_how_they_are_told_and_for_each_job(
    job: UUID, company: Company, team: dict[str, User]
) -> None:
    set_member_emails(membership_id=membership(OWNER).id, reviews=Telling.DIGEST)
    set_member_emails(membership_id=membership(RECRUITER).id, reviews=Telling.NEVER)
    JobFollower.objects.create(job_id=job, user=team[VIEWER], telling=Telling.AT_ONCE)
    other = factories.job(company_id=company.id)

    factories.application(job)
    factories.application(other)

    assert sent() == told_about(SEATED, VIEWER)


def test_one_click_ends_these_emails(job: UUID) -> None:
    factories.application(job)
    sent()
    link = mail.outbox[0].extra_headers["List-Unsubscribe"]

    found = read_unsubscribe_token(link.strip("<>").split("/")[-2])
    assert found
    stop_subscription(*found)

    assert membership(mail.outbox[0].to[0]).telling == Telling.NEVER


def test_with_an_assignee_only_they_are_told(job: UUID, company: Company, team: Any) -> None:
    rota.set_members(job_id=job, company_id=company.id, user_ids=[team[RECRUITER].id])

    factories.application(job)

    assert sent() == told_about(SEATED, RECRUITER)


def test_a_sandbox_emails_nobody(company: Company, team: dict[str, User]) -> None:
    member_of(company)
    job = factories.job(company_id=sandbox(company).id)
    factories.application(job)

    assert sent() == []


def test_who_is_assigned_by_a_colleague_is_told_once(
    job: UUID, company: Company, team: dict[str, User]
) -> None:
    person = factories.application(job)
    sent()
    mail.outbox.clear()

    for _ in range(2):
        assign_application(
            application_id=person.id,
            company_id=company.id,
            user_id=team[RECRUITER].id,
            by_id=team[OWNER].id,
        )
    own = {"company_id": company.id, "user_id": team[OWNER].id, "by_id": team[OWNER].id}
    assign_application(application_id=factories.application(job).id, **own)

    subject = "You are assigned to a review for “Engineer”"
    assert [each for each in sent() if each[1] == subject] == told_about(subject, RECRUITER)


def test_who_is_mentioned_in_a_note_is_told_without_its_text(
    job: UUID, team: dict[str, User]
) -> None:
    waiting = factories.applications(job, 6)[-1]
    sent()
    mail.outbox.clear()

    add_note(
        application_id=waiting.id,
        text="Speaks Basque.",
        author_id=team[OWNER].id,
        mentioned=[team[RECRUITER].id, team[OWNER].id],
    )

    assert sent() == told_about("You are mentioned in a note about “Engineer”", RECRUITER)
    assert "Basque" not in str(mail.outbox[0].body)


# Targets.


def set_target(job: UUID, seconds: int) -> None:
    JobPosting.objects.filter(job_id=job).update(review_target_seconds=seconds)


def age(*people: Application, hours: float) -> None:
    """Make reviews longer."""
    rows = Application.objects.filter(id__in=[each.id for each in people])
    rows.update(status_since=F("status_since") - timedelta(hours=hours))


@pytest.fixture
def reviewed(job: UUID) -> Application:
    """Return someone in review for an hour and a half, whose job has the target of an hour."""
    set_target(job, HOUR)
    person = factories.application(job)
    sent()
    mail.outbox.clear()
    age(person, hours=1.5)
    return person


DUE, OVERDUE = "A decision for “Engineer” is due", "A decision for “Engineer” is overdue"


def test_the_team_is_reminded_at_the_target_and_alerted_at_twice_of_it_once_each(
    job: UUID, reviewed: Application
) -> None:
    follow_targets()
    follow_targets()
    at_target = sent()
    mail.outbox.clear()
    Application.objects.filter(id=reviewed.id)
    ReviewNotice.objects.update(since=F("since") - timedelta(hours=1))
    age(reviewed, hours=1)

    follow_targets()
    follow_targets()

    assert at_target == told_about(DUE, OWNER, RECRUITER)
    assert sent() == told_about(OVERDUE, OWNER, RECRUITER)


def test_before_the_target_nobody_is_reminded(job: UUID) -> None:
    set_target(job, 2 * HOUR)
    age(factories.application(job), hours=1.5)

    assert follow_targets() == {"emails": 0}


def test_a_job_without_a_target_reminds_nobody(job: UUID) -> None:
    age(factories.application(job), hours=999)

    assert follow_targets() == {"emails": 0}


def test_what_is_overdue_at_once_is_told_in_one_email_each(job: UUID) -> None:
    people = factories.applications(job, 3)
    sent()
    mail.outbox.clear()
    age(*people, hours=9)
    set_target(job, HOUR)

    follow_targets()
    follow_targets()

    assert sent() == told_about("3 decisions for “Engineer” are overdue", OWNER, RECRUITER)
    assert "applications/?review=overdue" in str(mail.outbox[0].body)


def test_the_assignee_is_reminded_and_the_alert_reaches_the_others_too(
    job: UUID, reviewed: Application, company: Company, team: dict[str, User]
) -> None:
    assign_application(
        application_id=reviewed.id, company_id=company.id, user_id=team[RECRUITER].id
    )
    follow_targets()
    reminded = [each for each in sent() if each[1] == DUE]
    ReviewNotice.objects.update(since=F("since") - timedelta(hours=1))
    age(reviewed, hours=1)

    follow_targets()

    assert reminded == told_about(DUE, RECRUITER)
    assert [each for each in sent() if each[1] == OVERDUE] == told_about(OVERDUE, OWNER, RECRUITER)


def test_two_looks_at_once_remind_once(job: UUID, reviewed: Application) -> None:
    together([follow_targets] * 3)

    assert sent() == told_about(DUE, OWNER, RECRUITER)


def test_a_review_that_was_decided_meanwhile_reminds_nobody(
    job: UUID, reviewed: Application
) -> None:
    follow_targets()
    remove(application_id=reviewed.id, outcome=Outcome.HIRED, actor=factories.RECRUITER)

    assert sent() == []


def test_time_in_which_the_company_does_not_work_brings_no_reminder(
    job: UUID, reviewed: Application, company: Company
) -> None:
    no_time = {"days": [0], "begins": 0, "ends": 60, "zone": "UTC"}
    Company.objects.filter(id=company.id).update(working_hours=no_time)
    set_target(job, 6 * 86_400)  # six Mondays

    assert follow_targets() == {"emails": 0}


@pytest.mark.parametrize(
    ("hours", "zone"), [(None, "Kyiv"), ({"days": [0], "begins": 540, "ends": 1020}, "Lisbon")]
)
def test_the_time_to_decide_by_is_in_the_zone_of_the_working_hours_or_the_job(
    company: Company, job: UUID, hours: dict[str, Any] | None, zone: str
) -> None:
    Job.objects.filter(id=job).update(quiet_time_zone="Europe/Kyiv")
    JobPosting.objects.filter(job_id=job).update(review_target_seconds=HOUR)
    if hours:
        company.working_hours = hours | {"zone": "Europe/Lisbon"}
        company.save()

    factories.application(job)
    sent()

    assert f"({zone})" in str(mail.outbox[0].body)
