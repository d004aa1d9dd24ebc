"""Messages of an application, over the API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobs.models import Company, Role
from pipeline.attachments import uploads
from pipeline.models import Application, ApplicationMessage
from tests.support import factories
from tests.support.callers import Caller, key_of, member_caller
from tests.support.correspondence import from_applicant, from_company
from tests.support.documents import PDF

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def application(company: Company) -> Application:
    return factories.application(factories.job(company_id=company.id))


@pytest.fixture
def acme(company: Company) -> Caller:
    return key_of(company.id)


def path(application: Application) -> str:
    return f"/applications/{application.id}/messages"


def test_a_key_writes_and_reads(
    acme: Caller, application: Application, attachment_folder: Path
) -> None:
    file = uploads.add(
        company_id=application.job.company_id,
        job_id=application.job_id,
        holder=uploads.holder_of("company", application.job.company_id),
        name="offer.pdf",
        size_bytes=len(PDF),
        content=[PDF],
    )

    made = acme.post(path(application), {"text": "Hello", "upload_ids": [str(file.id)]})

    assert made.status_code == 201
    listed = acme.get(path(application)).json()
    assert listed == {"data": [made.json()], "next_cursor": None}
    assert (made.json()["side"], made.json()["way"], made.json()["author"]) == (
        *("COMPANY", "API"),
        None,
    )
    assert [each["name"] for each in made.json()["files"]] == ["offer.pdf"]
    assert acme.get(f"/applications/{application.id}/files").json()["data"] == []


def test_a_member_is_named_and_never_by_their_address(
    company: Company, application: Application
) -> None:
    member = member_caller(company, Role.RECRUITER)

    made = member.post(path(application), {"text": "Hello"})

    row = ApplicationMessage.objects.get()
    assert row.author is not None
    assert made.json()["author"] == (row.author.name or None)


def test_a_list_has_pages_newest_first(acme: Caller, application: Application) -> None:
    for number in range(3):
        from_applicant(application, str(number))

    first = acme.get(f"{path(application)}?limit=2").json()
    rest = acme.get(f"{path(application)}?limit=2&cursor={first['next_cursor']}").json()

    assert [each["text"] for each in first["data"] + rest["data"]] == ["2", "1", "0"]
    assert rest["next_cursor"] is None


def test_a_repeated_request_is_one_message(acme: Caller, application: Application) -> None:
    sent = [
        acme.post(path(application), {"text": "Hello"}, idempotency_key="one") for _ in range(2)
    ]

    assert [each.json()["id"] for each in sent] == [str(ApplicationMessage.objects.get().id)] * 2


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/text"),
        ({"text": " "}, "/text"),
        ({"text": "x" * 10_001}, "/text"),
        ({"text": "Hi", "upload_ids": ["x"]}, "/upload_ids/0"),
        ({"text": "Hi", "to": "x"}, "/to"),
    ],
)
def test_other_bodies_are_refused(
    acme: Caller, application: Application, body: Any, pointer: str
) -> None:
    answer = acme.post(path(application), body)

    assert answer.status_code == 400
    assert [each["pointer"] for each in answer.json()["errors"]] == [pointer]


def test_too_many_wait_and_an_unproved_address_is_not_written_to(
    acme: Caller, application: Application, settings: Any
) -> None:
    settings.MESSAGES_PER_DAY = 1
    from_company(application)

    answer = acme.post(path(application), {"text": "More"})

    assert (answer.status_code, answer.json()["code"]) == (429, "THROTTLED")
    assert int(answer.headers["Retry-After"]) > 80_000
    unproved = factories.application(application.job_id, verified=False)
    answer = acme.post(path(unproved), {"text": "Hello"})
    assert (answer.status_code, answer.json()["code"]) == (409, "MESSAGES_NOT_POSSIBLE")


def test_a_file_of_the_application_is_not_moved_into_a_message(
    acme: Caller, application: Application, attachment_folder: Path
) -> None:
    waiting = factories.application(application.job_id)
    holder = uploads.holder_of("company", application.job.company_id)
    file = uploads.add(
        company_id=application.job.company_id,
        job_id=application.job_id,
        holder=holder,
        name="cv.pdf",
        size_bytes=len(PDF),
        content=[PDF],
    )
    uploads.attach_later([file.id], application_id=waiting.id, question_id=None, holder=holder)

    answer = acme.post(path(waiting), {"text": "Hi", "upload_ids": [str(file.id)]})

    assert answer.status_code == 404
    assert ApplicationMessage.objects.count() == 0
