"""Messages on the pages of both sides, their limits, and their end with the person's data."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.models import Company, Role
from pipeline.correspondence import threads
from pipeline.correspondence.threads import Side
from pipeline.domain.errors import ApplicationNotFound, MessagesNotPossible, TooManyMessages
from pipeline.models import Application, ApplicationMessage, Attachment, WebhookDelivery
from pipeline.privacy import my_data, retention
from pipeline.privacy.erase import erase_person
from pipeline.review.notices import TASK
from pipeline.services.leaving import withdraw
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.applicants import applicant_browser, mine, owner_signed_in
from tests.support.correspondence import from_applicant, from_company, texts
from tests.support.documents import PDF
from tests.support.pages import follow, page_of, text_of
from tests.support.sandboxes import sandbox
from tests.support.task_runs import run_due_tasks
from tests.support.together import together
from tests.support.webhooks import endpoint

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def bo(company: Company) -> Client:
    """A recruiter, who is called Bo Berg."""
    return browser_of(member_of(company, Role.RECRUITER, name="Bo Berg", email="bo@acme.example"))


@pytest.fixture
def ana(application: Application) -> Client:
    return owner_signed_in(application)


def theirs(application: Application, act: str = "") -> str:
    return f"/company/applications/{application.id}/messages/{act}"


def row() -> ApplicationMessage:
    return ApplicationMessage.objects.get()


def test_both_sides_write_read_and_see_what_is_new(
    application: Application, bo: Client, ana: Client
) -> None:
    follow(bo, theirs(application), {"text": "Could you start on Monday?"})
    assert "1 new message from" in text_of(ana.get("/me/"))
    assert "Messages 1 new" in text_of(ana.get(mine(application)))
    assert "Bo Berg" in page_of(ana, mine(application, "messages/"))

    follow(ana, mine(application, "messages/"), {"text": "Yes,\r\nI can."})

    assert texts(application) == ["Could you start on Monday?", "Yes,\nI can."]
    assert "new message" not in text_of(ana.get("/me/"))  # whoever answers has read
    assert "Messages 1 new" in text_of(bo.get(f"/company/applications/{application.id}/"))
    assert "Messages 1 1 unread" in text_of(bo.get(f"/company/jobs/{application.job_id}/"))
    assert "Ana Li 1 new" in text_of(bo.get(f"/company/jobs/{application.job_id}/messages/"))
    assert "Yes,<br>I can." in page_of(bo, theirs(application))


def test_looking_marks_nothing_and_the_button_marks_what_was_shown(
    application: Application, bo: Client
) -> None:
    shown = from_applicant(application)
    bo.get(theirs(application))
    assert threads.count_unread([application.id], reader=Side.COMPANY) == 1

    later = from_applicant(application, "One more thing.")
    follow(bo, theirs(application, "read/"), {"until": str(shown.id)})

    unread = ApplicationMessage.objects.filter(read_at=None)
    assert [each.id for each in unread] == [later.id]
    for nothing in ("", "x", str(application.id)):
        bo.post(theirs(application, "read/"), {"until": nothing})
    assert unread.count() == 1


def test_an_answer_leaves_unread_what_its_page_did_not_show(
    application: Application, bo: Client
) -> None:
    from_applicant(application)
    shown = bo.get(theirs(application)).context["newest"]
    later = from_applicant(application, "Wait, not on Monday.")

    follow(bo, theirs(application), {"text": "Monday it is.", "until": str(shown)})

    unread = ApplicationMessage.objects.filter(side="APPLICANT", read_at=None)
    assert [each.id for each in unread] == [later.id]


def test_an_open_page_follows_a_message_and_its_email(
    application: Application, bo: Client, ana: Client
) -> None:
    pages = {bo: theirs(application), ana: mine(application, "messages/")}
    before = {client: client.get(f"{path}?fragment=1")["ETag"] for client, path in pages.items()}

    from_company(application)

    for client, path in pages.items():
        answer = client.get(f"{path}?fragment=1", headers={"If-None-Match": before[client]})
        assert answer.status_code == 200


def test_a_viewer_reads_and_does_not_write(company: Company, application: Application) -> None:
    viewer = browser_of(member_of(company, Role.VIEWER))
    from_applicant(application)

    page = page_of(viewer, theirs(application))

    assert ("On Monday." in page, "<textarea" in page, "Mark as read" in page) == (
        True,
        False,
        False,
    )
    for act, data in (("", {"text": "Hi"}), ("read/", {"until": str(row().id)})):
        assert viewer.post(theirs(application, act), data).status_code == 403
    assert texts(application) == ["On Monday."]


def test_strangers_find_no_thread(application: Application) -> None:
    from_company(application)
    other = browser_of(member_of(factories.company(name="Other")))
    someone = applicant_browser(factories.applicant())

    assert other.get(theirs(application)).status_code == 404
    assert someone.get(mine(application, "messages/")).status_code == 404
    assert other.post(theirs(application), {"text": "Hi"}).status_code == 404
    assert someone.post(mine(application, "messages/"), {"text": "Hi"}).status_code == 404
    assert len(texts(application)) == 1


def test_an_emailed_link_opens_no_thread_without_signing_in(application: Application) -> None:
    assert Client().get(mine(application, "messages/")).status_code == 302


def test_the_members_address_is_never_shown_to_the_applicant(
    company: Company, application: Application, ana: Client
) -> None:
    nameless = browser_of(member_of(company, Role.RECRUITER, email="cy@acme.example"))
    follow(nameless, theirs(application), {"text": "Hello"})
    run_due_tasks()

    page = page_of(ana, mine(application, "messages/"))
    [email] = [each for each in mail.outbox if "wrote to you" in each.body]

    assert company.name in page
    assert "cy@acme.example" not in page + str(email.message())


def test_web_addresses_are_links_and_nothing_else_is_markup(
    application: Application, ana: Client
) -> None:
    from_company(application, 'See https://x.example/a?b=1&c=<2>, or <a href="//y">"here"</a>.')

    page = page_of(ana, mine(application, "messages/"))

    link = 'href="https://x.example/a?b=1&amp;c=" rel="noopener noreferrer nofollow">https://x.example/a?b=1&amp;c='
    assert link in page
    assert "&lt;a href=&quot;//y&quot;&gt;" in page


def test_files_come_with_a_message_and_open_for_both_sides(
    application: Application, bo: Client, ana: Client
) -> None:
    file = SimpleUploadedFile("contract.pdf", PDF)
    follow(bo, theirs(application), {"text": "The contract.", "files": file})

    kept = Attachment.objects.get()
    assert (kept.message_id, kept.application_id) == (row().id, application.id)
    assert "contract.pdf" in page_of(ana, mine(application, "messages/"))
    # It is none of the files with which the person applied, and not theirs to remove.
    assert "contract.pdf" not in page_of(bo, f"/company/applications/{application.id}/")
    assert ana.get(mine(application, f"files/{kept.id}/")).status_code == 200
    ana.post(mine(application, f"files/{kept.id}/remove/"))
    assert Attachment.objects.count() == 1


def test_a_refused_file_keeps_the_text(application: Application, bo: Client) -> None:
    file = SimpleUploadedFile("setup.exe", b"MZ\0")

    answer = bo.post(theirs(application), {"text": "Take this.", "files": file})

    assert answer.status_code == 422
    assert "Take this." in answer.content.decode()
    assert "This kind of file is not accepted." in text_of(answer)
    assert texts(application) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [("", "Fill in this field."), (" \n ", "Fill in this field."), ("x" * 10_001, "at most 10000")],
)
def test_a_text_has_a_length(application: Application, bo: Client, text: str, says: str) -> None:
    answer = bo.post(theirs(application), {"text": text})

    assert (answer.status_code, says in text_of(answer)) == (422, True)


def test_each_side_has_a_limit_of_its_own_for_a_day(
    application: Application, settings: Any, bo: Client
) -> None:
    settings.MESSAGES_PER_DAY = 2
    for write in (from_company, from_applicant):
        write(application)
        write(application)
        with pytest.raises(TooManyMessages):
            write(application)
    answer = bo.post(theirs(application), {"text": "Not lost"})

    assert (answer.status_code, "2 in a day is the most" in text_of(answer)) == (422, True)
    assert "Not lost" in answer.content.decode()
    assert len(texts(application)) == 4


def test_nobody_writes_to_an_address_that_nobody_has_proved(company: Company, bo: Client) -> None:
    job = factories.job(company_id=company.id)
    unproved = factories.application(job, verified=False)

    with pytest.raises(MessagesNotPossible):
        from_company(unproved)
    assert "once the person has proved" in text_of(bo.get(theirs(unproved)))


def test_one_message_under_one_id(application: Application) -> None:
    other = factories.application(application.job_id)
    first = from_company(application, id=factories.application(application.job_id).id)

    assert from_company(application, "Other words", id=first.id).id == first.id
    with pytest.raises(ApplicationNotFound):
        from_company(other, id=first.id)
    assert texts(application) == [first.text]


def test_a_form_that_is_sent_twice_is_one_message(application: Application, bo: Client) -> None:
    sent = {"text": "Hello", "submission_id": "the-same"}

    bo.post(theirs(application), sent)
    bo.post(theirs(application), sent)

    assert texts(application) == ["Hello"]


def test_everything_ends_with_the_persons_data(application: Application, bo: Client) -> None:
    follow(bo, theirs(application), {"text": "Hi", "files": SimpleUploadedFile("a.pdf", PDF)})
    from_applicant(application)
    [kept] = my_data.collect(application.applicant)["applications"]
    said = [(each["from"], each["by"], each["text"]) for each in kept["messages"]]
    assert said == [("COMPANY", "Bo Berg", "Hi"), ("APPLICANT", "", "On Monday.")]
    assert kept["files"][0]["message"] == kept["messages"][0]["id"]

    erase_person(applicant_id=application.applicant_id)

    assert (ApplicationMessage.objects.count(), Attachment.objects.count()) == (0, 0)
    run_due_tasks()
    assert [each for each in mail.outbox if "Hi" in each.body] == []
    with pytest.raises(ApplicationNotFound):
        from_company(application)
    assert "data is erased" in text_of(bo.get(theirs(application)))


def test_retention_ends_messages(application: Application) -> None:
    from_company(application)
    withdraw(application_id=application.id, actor=factories.owner_of(application))
    Application.objects.filter(id=application.id).update(
        ended_at=F("ended_at") - timedelta(days=4_000)
    )

    retention.erase_batch()

    assert ApplicationMessage.objects.count() == 0


def test_no_message_is_left_of_a_person_who_is_erased_meanwhile(application: Application) -> None:
    def erase() -> None:
        erase_person(applicant_id=application.applicant_id)

    write = partial(from_company, application)

    together([write, erase, write, write])

    assert ApplicationMessage.objects.count() == 0


def test_without_the_lock_a_message_would_be_left(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_without_lock(application_id: UUID) -> Application:
        found = Application.objects.select_related("job").get(id=application_id)
        together([partial(erase_person, applicant_id=found.applicant_id)])
        return found

    monkeypatch.setattr(threads, "lock_application", read_without_lock)

    from_company(application)

    assert ApplicationMessage.objects.count() == 1


def test_members_and_their_systems_are_told_without_names(
    company: Company, application: Application, bo: Client
) -> None:
    listening, _secret = endpoint(company.id, "https://acme.example/hook", "message.received")
    run_due_tasks()
    mail.outbox.clear()

    written = from_applicant(application, "My secret")
    run_due_tasks("message.follow", TASK)

    [email] = mail.outbox
    assert email.to == ["bo@acme.example"]
    assert theirs(application) in email.body
    assert "Ana" not in email.body
    assert "My secret" not in email.body
    [delivery] = WebhookDelivery.objects.filter(endpoint_id=listening.id)
    assert str(written.id) in delivery.body
    assert "My secret" not in delivery.body
    assert "Ana" not in delivery.body


def test_members_are_not_told_of_what_was_read_meanwhile(
    company: Company, application: Application, bo: Client
) -> None:
    run_due_tasks()
    mail.outbox.clear()
    written = from_applicant(application)
    threads.mark_read(application_id=application.id, reader=Side.COMPANY, until=written.id)

    run_due_tasks("message.follow", TASK)

    assert mail.outbox == []


def test_nothing_leaves_a_sandbox(company: Company) -> None:
    test_company = sandbox(company)
    inside = factories.application(factories.job(company_id=test_company.id))

    written = from_company(inside)
    from_applicant(inside)
    run_due_tasks()

    assert (written.email_state, mail.outbox) == ("SENT", [])


def test_a_long_thread_has_pages(application: Application, bo: Client, settings: Any) -> None:
    settings.MESSAGES_PER_DAY = 100
    for number in range(threads.SHOWN + 1):
        from_company(application, f"Message {number:03}")

    newest = bo.get(theirs(application))
    older = bo.get(newest.context["older_url"])

    assert "Message 050" in text_of(newest)
    assert "Message 000" not in text_of(newest)
    assert "Message 000" in text_of(older)
    assert "Message 001" not in text_of(older)


def test_the_number_of_queries_does_not_grow(application: Application, bo: Client) -> None:
    for path in (theirs(application), f"/company/jobs/{application.job_id}/messages/"):
        from_applicant(application)
        bo.get(path)
        with _counted() as few:
            bo.get(path)
        for _ in range(3):
            from_applicant(application)
            from_applicant(factories.application(application.job_id))
        with _counted() as many:
            bo.get(path)
        assert len(many) == len(few) <= 10


def _counted() -> CaptureQueriesContext:
    return CaptureQueriesContext(connection)
