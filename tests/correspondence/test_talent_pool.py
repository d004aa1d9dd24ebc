"""Telling people in a talent pool of a job: once each, and no longer than they agreed to."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core import mail
from django.test import Client

from jobs.models import Activity, Company, Job, Role, User
from pipeline.consents import pool
from pipeline.consents.agreements import agree, leave_pool
from pipeline.consents.versions import shown_by
from pipeline.correspondence import bulk
from pipeline.correspondence.bulk import BulkRefused
from pipeline.domain.errors import JobNotFound
from pipeline.mail.links import leave_pool_url
from pipeline.models import Application, ApplicationMessage, BulkMessage
from pipeline.privacy.erase import erase_person
from pipeline.selectors.jobs import read_job
from pipeline.services.jobs import pause_job
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.applicants import applicant_browser
from tests.support.correspondence import texts
from tests.support.pages import follow, page_of, text_of
from tests.support.task_runs import run_due_tasks
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)
EMAIL = "message.email"


@pytest.fixture
def asking(company: Company) -> Company:
    """The company, with a talent pool."""
    pool.set_months(company_id=company.id, months=12, by=None)
    return Company.objects.get(id=company.id)


@pytest.fixture
def author(asking: Company) -> User:
    return member_of(asking, Role.RECRUITER, name="Eli Sato")


@pytest.fixture
def ana(asking: Company) -> Application:
    return pooled(asking, "Ana Li")


@pytest.fixture
def new_job(asking: Company) -> Job:
    """The job that people are told of."""
    return read_job(factories.job(company_id=asking.id))


def pooled(company: Company, name: str, person: Any = None) -> Application:
    """Apply to a job of the company, and agree to be in its pool."""
    ids = [each.id for each in shown_by(company)]
    job = factories.job(company_id=company.id)
    person = person or factories.applicant(name=name)
    return factories.application(job, person, companions=agree(ids, ids))


def told(job: Job, author: User, text: str = "Dear {name}, see {job}.", **more: Any) -> BulkMessage:
    """Begin to tell everyone in the pool of a job."""
    given: dict[str, Any] = {"bulk_id": uuid4(), "members": pool.read_members(job.company)} | more
    return bulk.start_to_pool(job=job, text=text, author_id=author.id, **given)


def test_it_comes_in_the_thread_of_their_application_and_by_email(
    ana: Application, new_job: Job, author: User
) -> None:
    told(new_job, author)
    mail.outbox.clear()

    run_due_tasks(bulk.TASK, EMAIL)

    assert texts(ana) == ["Dear Ana Li, see Engineer."]
    [email] = mail.outbox
    assert email.to == [ana.applicant.email]
    assert email.body == (
        "Hello Ana Li,\n\n"
        "Eli Sato, Acme wrote to you about “Engineer”:\n\n"
        "Dear Ana Li, see Engineer.\n\n"
        "Read about the job, and apply if you like:\n"
        f"https://line.example/jobs/{new_job.id}/?source=talent-pool\n\n"
        "Answer this email, or write on the page:\n"
        f"https://line.example/me/applications/{ana.id}/messages/\n\n"
        "You get this email because you agreed that Acme may write to you about other jobs."
        " You can stop that at once:\n"
        f"{leave_pool_url(ana.id)}\n\n"
        "“Engineer” at Acme\n"
    )
    page = page_of(applicant_browser(ana.applicant), f"/me/applications/{ana.id}/messages/")
    assert f"/jobs/{new_job.id}/?source=talent-pool" in page


def test_mail_programs_can_end_them_with_one_click(
    ana: Application, new_job: Job, author: User, client: Client
) -> None:
    told(new_job, author)
    mail.outbox.clear()
    run_due_tasks(bulk.TASK, EMAIL)

    headers = mail.outbox[0].extra_headers
    link = headers["List-Unsubscribe"].strip("<>")
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    path = link.removeprefix("https://line.example")
    assert "Stop emails about other jobs of this company" in text_of(client.get(path))
    assert pool.read_members(new_job.company).count() == 1

    stranger = Client(enforce_csrf_checks=True)
    answer = stranger.post(path, {"List-Unsubscribe": "One-Click"})

    assert "We no longer send you emails about other jobs" in text_of(answer)
    assert pool.read_members(new_job.company).count() == 0


def test_nobody_is_told_of_a_job_twice(
    ana: Application, new_job: Job, author: User, asking: Company
) -> None:
    told(new_job, author)
    run_due_tasks(bulk.TASK)
    pooled(asking, "Ana Li", ana.applicant)  # once more, with another application
    with pytest.raises(BulkRefused, match="Nobody among them"):
        told(new_job, author)

    other = read_job(factories.job(company_id=asking.id))
    told(other, author)
    run_due_tasks(bulk.TASK)

    about = ApplicationMessage.objects.order_by("written_at").values_list("about_job_id", flat=True)
    assert list(about) == [new_job.id, other.id]


def test_two_messages_at_the_same_time_reach_a_person_once(
    ana: Application, new_job: Job, author: User
) -> None:
    rows = [told(new_job, author) for _ in range(2)]

    together([lambda row=row: bulk.send_slice(row.id) for row in rows])

    assert len(texts(ana)) == 1
    states = [bulk.read_progress(row.id) for row in rows]
    assert sorted((each.sent, each.left_out) for each in states) == [(0, 1), (1, 0)]


def test_who_has_applied_to_it_is_not_told(ana: Application, new_job: Job, author: User) -> None:
    factories.application(new_job.id, ana.applicant)

    with pytest.raises(BulkRefused, match="Nobody among them"):
        told(new_job, author)
    assert not BulkMessage.objects.exists()


@pytest.mark.parametrize("when", ["before the message", "before the email"])
def test_who_leaves_meanwhile_gets_nothing(
    ana: Application, new_job: Job, author: User, when: str
) -> None:
    row = told(new_job, author)
    if when == "before the email":
        bulk.send_slice(row.id)
    leave_pool(ana.id)
    mail.outbox.clear()

    run_due_tasks(bulk.TASK, EMAIL)

    assert mail.outbox == []
    if when == "before the message":
        assert texts(ana) == []
        assert bulk.read_progress(row.id).left_out == 1
    else:
        message = ApplicationMessage.objects.get()
        assert (message.email_state, message.email_problem) == ("FAILED", "OVER")


def test_who_is_erased_meanwhile_gets_nothing(ana: Application, new_job: Job, author: User) -> None:
    row = told(new_job, author)

    together(
        [
            lambda: bulk.send_slice(row.id),
            lambda: erase_person(applicant_id=ana.applicant_id),
        ]
    )
    run_due_tasks(bulk.TASK, EMAIL)

    assert texts(ana) == []
    assert bulk.read_progress(row.id).total == 0


def test_it_stops_when_the_job_takes_no_more_applications(
    ana: Application, new_job: Job, author: User
) -> None:
    row = told(new_job, author)
    pause_job(job_id=new_job.id, actor=factories.RECRUITER)

    run_due_tasks(bulk.TASK)

    assert texts(ana) == []
    assert bulk.read_progress(row.id).stopped == 1
    with pytest.raises(BulkRefused, match="takes no applications now"):
        told(read_job(new_job.id), author)


def test_one_sees_who_gets_it_before_it_goes(
    ana: Application, new_job: Job, author: User, asking: Company
) -> None:
    pooled(asking, "Bo Berg")
    client, path = browser_of(author), "/company/talent-pool/write/?q=ana"
    form = {"about": str(new_job.id), "text": "Dear {name}, {me}", "bulk": str(uuid4())}

    shown = client.post(path, form)

    assert "1 person gets this" in text_of(shown)
    assert "Dear Ana Li, Eli Sato" in text_of(shown)
    assert "Send to 1 person" in text_of(shown)
    assert BulkMessage.objects.count() == 0
    refused = client.post(path, form | {"send": "yes", "promised": "2"})
    assert refused.status_code == 422
    page = follow(client, path, form | {"send": "yes", "promised": "1"})
    assert "People in the talent pool" in page
    assert "0 of 1 person" in page
    run_due_tasks(bulk.TASK)
    progress = text_of(client.get(f"/company/jobs/{new_job.id}/messages/{form['bulk']}/"))
    assert "Sent to 1 person." in progress
    act = Activity.objects.get(kind="pool.told")
    assert (act.actor_id, act.job_id, act.about) == (author.id, new_job.id, {"people": "1"})


@pytest.mark.parametrize("wrong", [{"text": "{nonsense}"}, {"text": ""}, {"about": str(uuid4())}])
def test_wrong_input_is_refused(
    ana: Application, new_job: Job, author: User, wrong: dict[str, str]
) -> None:
    form = {"about": str(new_job.id), "text": "Hello", "send": "yes", "promised": "1"} | wrong

    assert browser_of(author).post("/company/talent-pool/write/", form).status_code == 422
    assert not BulkMessage.objects.exists()


def test_only_who_may_write_to_applicants_writes(asking: Company, new_job: Job) -> None:
    viewer = browser_of(member_of(asking, Role.VIEWER))

    assert viewer.get("/company/talent-pool/write/").status_code == 403
    assert "Tell them of a job" not in text_of(viewer.get("/company/talent-pool/"))


def test_it_is_about_a_job_of_ones_own(ana: Application, new_job: Job, author: User) -> None:
    theirs = factories.job()
    form = {"about": str(theirs), "text": "Hello", "send": "yes", "promised": "1"}

    assert browser_of(author).post("/company/talent-pool/write/", form).status_code == 422
    row = told(new_job, author)
    with pytest.raises(JobNotFound):
        told(read_job(theirs), author, bulk_id=row.id)


def test_the_persons_data_says_that_it_was_about_another_job(
    ana: Application, new_job: Job, author: User
) -> None:
    told(new_job, author)
    run_due_tasks(bulk.TASK)

    kept = json.loads(applicant_browser(ana.applicant).get("/me/data/download/").content)

    [message] = kept["applications"][0]["messages"]
    assert UUID(message["about_another_job"]) == new_job.id


def test_the_email_can_be_answered(ana: Application, new_job: Job, author: User) -> None:
    told(new_job, author)
    mail.outbox.clear()
    run_due_tasks(bulk.TASK, EMAIL)

    [answers_to] = mail.outbox[0].reply_to
    assert re.fullmatch(r"jobs\+[a-z2-7]{42}@reply\.example", answers_to)
