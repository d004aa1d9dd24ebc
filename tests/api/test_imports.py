"""Importing people over the API, and taking files away."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db.models.functions import Now

from jobs.models import Company, Role
from pipeline.files.imports.admitting import admit_rows
from pipeline.models import ImportRun, StoredFile
from tasks.models import Status, Task
from tests.support import factories
from tests.support.background_tasks import move, row_of
from tests.support.callers import UNKNOWN_ID, Answer, Caller, code_of, member_caller
from tests.support.keyed_posts import let_leases_run_out

CSV = b"name,email\nMia,mia@example.org\nNoa,noa@example.org\nOle,nonsense\n"


def bring(caller: Caller, job: UUID, content: bytes = CSV, **headers: str) -> Answer:
    """Send a file as it is."""
    how = {"content_type": "text/csv"} | headers
    return caller.post(f"/jobs/{job}/applications/import", content, **how)


def run(answer: Answer) -> str:
    """Do what a worker would do with the import; gives the task's id."""
    row = row_of(answer.json()["id"])
    admit_rows(UUID(row.payload["import_id"]), is_cancelled=lambda: False)
    move(row.id, status=Status.SUCCEEDED, finished_at=Now())
    return str(row.id)


def text_of(answer: Any) -> str:
    """All of a file."""
    return b"".join(answer.streaming_content).decode("utf-8-sig")


@pytest.fixture
def empty_job(company: Company) -> UUID:
    return factories.job(company_id=company.id, capacity=1)


def test_the_people_of_a_file_apply_and_the_rest_can_be_had_back(
    acme: Caller, empty_job: UUID
) -> None:
    answer = bring(acme, empty_job)

    told = answer.json()
    assert (answer.status_code, told["type"], told["status"]) == (
        202,
        "applications.import",
        "PENDING",
    )
    assert answer.headers["Location"] == f"/api/v1/tasks/{told['id']}"
    task = run(answer)
    row = factories.row_of(empty_job)
    assert (row.active_count, row.waitlist_count) == (1, 1)
    refused = acme.get(f"/tasks/{task}/refused-rows", accept="text/csv")
    assert refused.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert "attachment" in refused.headers["Content-Disposition"]
    lines = text_of(refused).splitlines()
    assert len(lines) == 2
    assert lines[1].startswith('4,"Ole","nonsense",')


@pytest.mark.parametrize("session", [False, True])
def test_a_form_brings_it_just_as_well(
    acme: Caller, company: Company, empty_job: UUID, session: bool
) -> None:
    boundary = "x" * 20
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="spring.csv"'
    form = f"{head}\r\n\r\n{CSV.decode()}\r\n--{boundary}--\r\n".encode()
    caller = member_caller(company, Role.RECRUITER) if session else acme

    answer = bring(
        caller, empty_job, form, content_type=f"multipart/form-data; boundary={boundary}"
    )

    assert answer.status_code == 202, answer.content
    assert StoredFile.objects.get().name == "spring.csv"
    assert ImportRun.objects.get().is_read is False


def test_the_same_request_again_imports_nothing_more(acme: Caller, empty_job: UUID) -> None:
    first, again = (bring(acme, empty_job, idempotency_key="k") for _ in range(2))

    assert (again.content, again.headers["Idempotent-Replayed"]) == (first.content, "true")
    assert Task.objects.count() == 1


def test_a_retry_of_a_request_that_was_cut_off_finds_its_import(
    acme: Caller, empty_job: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr("pipeline.web.idempotency.keep_idempotent_answer", lambda *_, **__: None)
        first = bring(acme, empty_job, idempotency_key="k")
    let_leases_run_out()

    retry = bring(acme, empty_job, idempotency_key="k")

    assert (retry.status_code, retry.json()["id"]) == (202, first.json()["id"])
    assert retry.headers["Location"] == first.headers["Location"]
    assert (Task.objects.count(), StoredFile.objects.count()) == (1, 1)


def test_a_file_that_is_larger_than_other_bodies_may_be_is_read(
    acme: Caller, empty_job: UUID
) -> None:
    content = CSV + b"\n" * 2_700_000

    plain = bring(acme, empty_job, content, idempotency_key="k")
    again = bring(acme, empty_job, content, idempotency_key="k")

    assert (plain.status_code, again.headers.get("Idempotent-Replayed")) == (202, "true")


def test_but_not_one_of_any_size(acme: Caller, empty_job: UUID) -> None:
    answer = bring(acme, empty_job, b"x" * 17 * 2**20)

    assert code_of(answer) == (413, "PAYLOAD_TOO_LARGE")
    assert "16.8 MB" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("content", "kind", "status", "code"),
    [
        (b"\n", "text/csv", 400, "INVALID_FILE"),
        (b"\xff\xfe\x00", "text/csv", 400, "INVALID_FILE"),
        (b"a,b\n1,2\n", "text/csv", 400, "INVALID_FILE"),
        (CSV, "application/xml", 415, "UNSUPPORTED_MEDIA_TYPE"),
        (CSV, "application/json", 400, "MALFORMED_REQUEST"),
        (b'{"applications": []}', "application/json", 400, "VALIDATION_ERROR"),
        (b'{"applications": [{"name": "Mia"}]}', "application/json", 400, "VALIDATION_ERROR"),
        (b"--x--\r\n", "multipart/form-data; boundary=x", 400, "VALIDATION_ERROR"),
        (b"", "multipart/form-data", 400, "VALIDATION_ERROR"),
        (CSV, "multipart/form-data", 400, "MALFORMED_REQUEST"),
    ],
)
def test_what_is_no_list_of_people_is_refused(
    acme: Caller, empty_job: UUID, content: bytes, kind: str, status: int, code: str
) -> None:
    answer = bring(acme, empty_job, content, content_type=kind)

    assert code_of(answer) == (status, code)
    assert not Task.objects.exists()
    assert not StoredFile.objects.exists()


PEOPLE = [
    {"name": "Mia", "email": "mia@example.org", "external_id": "crm-1", "metadata": {"a": "b"}},
    {"name": "Noa", "email": "noa@example.org", "external_id": "crm-2"},
    {"name": "Ole", "email": "nonsense", "external_id": "crm-3"},
    {"name": "Pia", "email": "pia@example.org"},
]


def bring_people(caller: Caller, job: UUID, people: list[dict[str, Any]], **headers: str) -> Answer:
    return caller.post(f"/jobs/{job}/applications/import", {"applications": people}, **headers)


def rows_of(caller: Caller, task: str, query: str = "") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = caller.get(f"/tasks/{task}/rows{query}").json()["data"]
    return rows


def test_people_with_ids_are_imported_and_each_row_says_what_became_of_it(
    acme: Caller, empty_job: UUID
) -> None:
    task = run(bring_people(acme, empty_job, PEOPLE))

    mia, noa, ole, pia = rows_of(acme, task)
    assert [row["status"] for row in (mia, noa, ole, pia)] == [
        *("ACCEPTED", "ACCEPTED", "REFUSED", "ACCEPTED")
    ]
    found = acme.get(f"/applications/{mia['application_id']}").json()
    assert (found["applicant"]["name"], found["external_id"], found["metadata"]) == (
        *("Mia", "crm-1"),
        {"a": "b"},
    )
    assert (noa["external_id"], pia["external_id"], noa["row"]) == ("crm-2", None, 2)
    assert (ole["code"], ole["application_id"], ole["external_id"]) == ("BAD_EMAIL", None, "crm-3")
    assert ole["reason"].startswith("“nonsense” is not an email address.")


def test_an_import_with_ids_can_be_repeated_even_when_an_application_has_ended(
    acme: Caller, empty_job: UUID
) -> None:
    first = rows_of(acme, run(bring_people(acme, empty_job, PEOPLE[:2])))
    acme.post(f"/applications/{first[0]['application_id']}/withdraw")
    answer = bring_people(acme, empty_job, PEOPLE[:2])

    task = run(answer)

    again = rows_of(acme, task)
    assert [(row["status"], row["application_id"]) for row in again] == [
        ("ALREADY_THERE", row["application_id"]) for row in first
    ]
    ended = ImportRun.objects.get(file__task_id=task)
    assert (ended.accepted, ended.already_there, ended.refused) == (0, 2, 0)


def test_an_id_of_another_application_is_a_conflict_that_names_it(
    acme: Caller, other: Caller, company: Company, empty_job: UUID
) -> None:
    first = rows_of(acme, run(bring_people(acme, empty_job, PEOPLE[:2])))
    elsewhere = factories.job(company_id=company.id)
    taken = {"name": "Zoe", "email": "zoe@example.org", "external_id": "crm-1"}
    twice = [{**taken, "external_id": "crm-9", "email": f"z{n}@example.org"} for n in range(2)]

    rows = rows_of(acme, run(bring_people(acme, empty_job, [taken, *twice])))
    same_person_elsewhere = rows_of(acme, run(bring_people(acme, elsewhere, PEOPLE[:1])))
    without_id = rows_of(acme, run(bring(acme, empty_job, b"name,email\nMia,mia@example.org\n")))

    assert [row["code"] for row in rows] == ["EXTERNAL_ID_TAKEN", None, "DUPLICATE_EXTERNAL_ID"]
    assert rows[0]["application_id"] == first[0]["application_id"]
    assert same_person_elsewhere[0]["code"] == "EXTERNAL_ID_TAKEN"
    assert (without_id[0]["code"], without_id[0]["application_id"]) == (
        *("ALREADY_APPLIED", first[0]["application_id"]),
    )


def test_a_csv_file_brings_ids_too_and_its_report_keeps_them(acme: Caller, empty_job: UUID) -> None:
    content = b"name,email,external_id\nMia,mia@example.org,crm-1\nOle,nonsense,crm-3\n"
    task = run(bring(acme, empty_job, content))

    rows = rows_of(acme, task)
    report = text_of(acme.get(f"/tasks/{task}/refused-rows"))

    assert [(row["row"], row["external_id"]) for row in rows] == [(2, "crm-1"), (3, "crm-3")]
    assert report.splitlines()[0] == "row,name,email,reason,code,external_id"
    assert report.splitlines()[1].endswith(',"crm-3"')


def test_rows_come_in_pages_and_for_their_company_alone(
    acme: Caller, other: Caller, empty_job: UUID
) -> None:
    task = run(bring_people(acme, empty_job, PEOPLE))

    first = acme.get(f"/tasks/{task}/rows?limit=3").json()
    rest = acme.get(f"/tasks/{task}/rows?limit=3&cursor={first['next_cursor']}").json()

    assert [row["row"] for row in first["data"] + rest["data"]] == [1, 2, 3, 4]
    assert rest["next_cursor"] is None
    assert code_of(other.get(f"/tasks/{task}/rows")) == (404, "NOT_FOUND")


def test_the_same_json_under_its_key_is_imported_once(acme: Caller, empty_job: UUID) -> None:
    first, again = (bring_people(acme, empty_job, PEOPLE, idempotency_key="k") for _ in range(2))

    assert (again.content, again.headers["Idempotent-Replayed"]) == (first.content, "true")
    assert Task.objects.count() == 1


@pytest.mark.slow
def test_a_list_of_people_has_limits(acme: Caller, empty_job: UUID) -> None:
    many = [{"name": "A", "email": "a"}] * 10_001
    long = [{"name": "A" * 4_000_000, "email": "a"}]

    assert code_of(bring_people(acme, empty_job, many)) == (400, "VALIDATION_ERROR")
    assert code_of(bring_people(acme, empty_job, long)) == (413, "PAYLOAD_TOO_LARGE")


def test_a_job_that_takes_nobody_takes_no_file(acme: Caller, empty_job: UUID) -> None:
    acme.post(f"/jobs/{empty_job}/pause")

    assert code_of(bring(acme, empty_job)) == (409, "JOB_NOT_OPEN")


def test_a_file_that_was_made_for_a_company_is_there_for_it_alone(
    acme: Caller, other: Caller, company: Company, empty_job: UUID
) -> None:
    file = StoredFile.objects.create(
        company_id=company.id,
        job_id=empty_job,
        purpose=StoredFile.Purpose.EXPORT,
        name="cook-log.csv",
        content_type="text/csv; charset=utf-8",
        size_bytes=4,
        is_complete=True,
        expires_at="2999-01-01T00:00:00Z",
    )
    file.parts.create(number=0, data=b"a,")
    file.parts.create(number=1, data=b"b\n")

    mine = acme.get(f"/files/{file.id}")

    assert text_of(mine) == "a,b\n"
    assert mine.headers["Content-Disposition"] == 'attachment; filename="cook-log.csv"'
    assert mine.headers["Content-Length"] == "4"
    assert code_of(other.get(f"/files/{file.id}")) == (404, "NOT_FOUND")
    assert code_of(acme.get(f"/files/{UNKNOWN_ID}")) == (404, "NOT_FOUND")


def test_a_task_that_is_no_import_has_no_refused_rows(acme: Caller) -> None:
    task = acme.post("/tasks", {"type": "demo.sleep"}).json()["id"]

    assert code_of(acme.get(f"/tasks/{task}/refused-rows")) == (404, "NOT_FOUND")


def test_what_an_import_refused_is_told_to_its_company_alone(
    acme: Caller, other: Caller, empty_job: UUID
) -> None:
    task = run(bring(acme, empty_job))

    assert code_of(other.get(f"/tasks/{task}/refused-rows")) == (404, "NOT_FOUND")
    assert "nonsense" in text_of(acme.get(f"/tasks/{task}/refused-rows"))
