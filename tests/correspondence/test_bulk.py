"""Bulk messages: whom they reach, their rate, the stop, and people who are erased meanwhile."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client
from django.utils import timezone

from jobs.models import Company, Role, User
from pipeline.correspondence import bulk
from pipeline.correspondence.bulk import BulkRefused, Stage
from pipeline.domain.errors import JobNotFound
from pipeline.maintenance.expired_rows import remove_batch
from pipeline.models import Application, ApplicationMessage, BulkMessage, BulkMessageItem
from pipeline.privacy.erase import erase_person
from tasks.models import Task
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.correspondence import texts
from tests.support.pages import follow, text_of
from tests.support.task_runs import run_due_tasks
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def job(company: Company) -> UUID:
    """A job with one person in review and four who wait, one of them unverified."""
    job_id = factories.job(company_id=company.id)
    for name in ("Ana Li", "Bo Berg", "Cy Okafor", "Dee Rao"):
        factories.application(job_id, factories.applicant(name=name))
    factories.application(job_id, verified=False)
    return job_id


@pytest.fixture
def author(company: Company) -> User:
    return member_of(company, Role.RECRUITER, name="Eli Sato")


def begun(job: UUID, author: User, text: str = "Hello {name}", **more: Any) -> BulkMessage:
    given = {"bulk_id": uuid4(), "stage": Stage.WAITLIST, "text": text} | more
    return bulk.start(job_id=job, author_id=author.id, **given)


def waiting(job: UUID) -> list[Application]:
    return list(
        Application.objects.filter(job_id=job, status="WAITLIST", verify_by=None).order_by("id")
    )


def all_texts() -> list[str]:
    return sorted(ApplicationMessage.objects.values_list("text", flat=True))


def test_everyone_in_the_stage_who_can_be_written_to_gets_their_own(
    job: UUID, author: User
) -> None:
    row = begun(job, author)

    run_due_tasks(bulk.TASK)

    assert all_texts() == ["Hello Bo Berg", "Hello Cy Okafor", "Hello Dee Rao"]
    row.refresh_from_db()
    assert (row.finished_at is not None, row.text) == (True, "")
    assert ApplicationMessage.objects.filter(author=author).count() == 3


def test_it_goes_out_at_the_sites_rate(job: UUID, author: User, settings: Any) -> None:
    settings.BULK_MESSAGES_PER_MINUTE = 12
    row = begun(job, author)

    assert bulk.send_slice(row.id) == 1

    due = Task.objects.filter(type__key=bulk.TASK).latest("run_after").run_after
    assert timedelta(seconds=8) < due - timezone.now() < timedelta(seconds=11)
    assert len(all_texts()) == 2


def test_a_stop_leaves_out_the_rest(job: UUID, author: User, settings: Any) -> None:
    settings.BULK_MESSAGES_PER_MINUTE = 1
    row = begun(job, author)
    bulk.send_slice(row.id)

    assert bulk.stop(bulk_id=row.id, job_id=job) == 2

    assert bulk.send_slice(row.id) == 0
    assert bulk.stop(bulk_id=row.id, job_id=job) == 0
    progress = bulk.read_progress(row.id)
    assert (progress.sent, progress.stopped, len(all_texts())) == (1, 2, 1)


def test_slices_at_the_same_time_write_to_each_once(job: UUID, author: User) -> None:
    row = begun(job, author)

    together([lambda: bulk.send_slice(row.id)] * 3)

    assert len(all_texts()) == 3
    assert bulk.read_progress(row.id).sent == 3


def test_someone_who_is_erased_meanwhile_gets_nothing(
    job: UUID, author: User, settings: Any
) -> None:
    row = begun(job, author)
    person = waiting(job)[0]

    together(
        [
            lambda: bulk.send_slice(row.id),
            lambda: erase_person(applicant_id=person.applicant_id),
        ]
    )
    run_due_tasks(bulk.TASK)

    assert texts(person) == []
    assert not BulkMessageItem.objects.filter(application=person).exists()
    assert len(all_texts()) == 2


def test_whoever_has_had_too_many_is_left_out(job: UUID, author: User, settings: Any) -> None:
    settings.MESSAGES_PER_DAY = 1
    for _ in range(2):
        row = begun(job, author)
        run_due_tasks(bulk.TASK)

    progress = bulk.read_progress(row.id)
    assert (progress.sent, progress.left_out) == (0, 3)


def test_the_same_form_begins_it_once(job: UUID, author: User) -> None:
    row = begun(job, author)

    assert begun(job, author, bulk_id=row.id).id == row.id
    assert BulkMessageItem.objects.count() == 3
    with pytest.raises(JobNotFound):
        begun(factories.job(), author, bulk_id=row.id)


def test_nobody_and_too_many_are_refused(job: UUID, author: User, settings: Any) -> None:
    with pytest.raises(BulkRefused, match="Nobody is in this stage"):
        begun(job, author, stage=Stage.HIRED)
    settings.BULK_MESSAGE_PEOPLE = 2
    with pytest.raises(BulkRefused, match="More than 2 people"):
        begun(job, author)
    assert BulkMessage.objects.count() == 0


def test_what_cannot_go_on_is_left_out(job: UUID, author: User) -> None:
    row = begun(job, author)

    bulk.give_up(row.id)

    assert bulk.read_progress(row.id).left_out == 3


def test_on_the_page_one_sees_who_gets_it_before_it_goes(
    company: Company, job: UUID, author: User
) -> None:
    client, path = browser_of(author), f"/company/jobs/{job}/messages/write/"
    form = {"stage": "WAITLIST", "text": "Hello {name}, {me}", "bulk": str(uuid4())}

    shown = client.post(path, form)

    assert "3 people get this" in text_of(shown)
    assert "Hello Bo Berg, Eli Sato" in text_of(shown)
    assert "Send to 3 people" in text_of(shown)
    assert BulkMessage.objects.count() == 0

    page = follow(client, path, form | {"send": "yes", "promised": "3"})
    assert "0 of 3 people" in page
    run_due_tasks(bulk.TASK)
    assert "Sent to 3 people." in text_of(
        client.get(f"/company/jobs/{job}/messages/{form['bulk']}/")
    )


def test_it_does_not_go_to_other_people_than_were_shown(job: UUID, author: User) -> None:
    client, path = browser_of(author), f"/company/jobs/{job}/messages/write/"
    form = {"stage": "WAITLIST", "text": "Hello", "send": "yes", "promised": "2"}

    answer = client.post(path, form)

    assert answer.status_code == 422
    assert "have changed meanwhile" in text_of(answer)
    assert BulkMessage.objects.count() == 0


def test_the_button_stops_it(company: Company, job: UUID, author: User) -> None:
    row = begun(job, author)
    path = f"/company/jobs/{job}/messages/{row.id}/"
    viewer = browser_of(member_of(company, Role.VIEWER))

    assert viewer.post(f"{path}stop/").status_code == 403
    assert "Stopped. 3 people do not get it." in follow(browser_of(author), f"{path}stop/", {})
    run_due_tasks(bulk.TASK)
    assert all_texts() == []


def test_another_companys_is_nowhere(job: UUID, author: User) -> None:
    row = begun(job, author)
    stranger: Client = browser_of(member_of(factories.company()))
    other = factories.job(company_id=author.memberships.get().company_id)

    for path in (f"{job}/messages/write/", f"{job}/messages/{row.id}/", f"{job}/messages/"):
        assert stranger.get(f"/company/jobs/{path}").status_code == 404
    assert stranger.post(f"/company/jobs/{job}/messages/{row.id}/stop/").status_code == 404
    assert browser_of(author).get(f"/company/jobs/{other}/messages/{row.id}/").status_code == 404


def test_it_is_removed_ninety_days_after_its_end_and_the_messages_stay(
    job: UUID, author: User
) -> None:
    rows = {}
    for days in (91, 89):
        rows[days] = begun(job, author)
        run_due_tasks(bulk.TASK)
        ended = timezone.now() - timedelta(days=days)
        BulkMessage.objects.filter(id=rows[days].id).update(finished_at=ended)
    going_on = begun(job, author)

    removed = remove_batch()

    assert (removed["bulk_messages"], removed["bulk_message_items"]) == (1, 3)
    assert {row.id for row in BulkMessage.objects.all()} == {rows[89].id, going_on.id}
    assert len(all_texts()) == 6
