"""Log of a key's requests: complete, without a wait in the request, and only for its owners."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import OperationalError, connection

from jobs.models import ApiKey, Company, Scope
from pipeline.database import note_writer
from pipeline.integrations import request_log as module
from pipeline.integrations.request_log import RequestLog, RequestNote, request_log
from pipeline.models import Application, RequestRecord
from tests.support.callers import Caller, SessionCaller, code_of, key_of
from tests.support.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)

FIELDS = ["at", "method", "path", "status", "duration_ms", "request_id", "is_portal"]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[RequestLog]:
    """The log of requests, switched on; `write_notes` writes what it has noted."""
    request_log._waiting.clear()
    monkeypatch.setattr(request_log, "is_on", True)
    monkeypatch.setattr(request_log, "_start", lambda: None)  # the test writes instead
    yield request_log
    request_log._waiting.clear()


def a_note(**fields: Any) -> RequestNote:
    note = RequestNote(uuid4(), False, "GET", "/api/v1/jobs", 200, "r", 0.012, time.monotonic())
    return note._replace(**fields)


def own(caller: Caller, log: RequestLog, **query: Any) -> list[dict[str, Any]]:
    log.write_notes()
    data: list[dict[str, Any]] = caller.get("/companies/me/requests", query).json()["data"]
    return data


def test_a_key_reads_its_own_requests_newest_first(acme: Caller, recorded: RequestLog) -> None:
    acme.get("/jobs?search=secret", X_Request_ID="mine-1")
    acme.post("/jobs", {"title": "Cook", "capacity": 0})

    refused, read = own(acme, recorded)

    assert list(read) == FIELDS
    assert (read["method"], read["path"], read["status"]) == ("GET", "/api/v1/jobs", 200)
    assert read["request_id"] == "mine-1"
    assert read["is_portal"] is False
    assert 0 <= read["duration_ms"] < 60_000
    assert (refused["method"], refused["path"], refused["status"]) == ("POST", "/api/v1/jobs", 400)
    assert "secret" not in str(RequestRecord.objects.values())


def test_every_kind_of_answer_is_in_it(acme: Caller, recorded: RequestLog) -> None:
    job = acme.post("/jobs", {"title": "Cook", "capacity": 1})
    path = f"/jobs/{job.json()['id']}"
    acme.get(path, If_None_Match=job.headers["ETag"])
    acme.get(f"/jobs/{uuid4()}")
    acme.delete(f"{path}/pause")
    acme.post("/jobs", b"{", content_type="application/json")

    assert [each["status"] for each in own(acme, recorded)] == [400, 405, 404, 304, 201]


def test_a_failure_of_ours_is_in_it(
    acme: Caller, recorded: RequestLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("pipeline.api.v1.companies.read_company", fail)
    acme.get("/companies/me")

    assert [each["status"] for each in own(acme, recorded, status_class="5xx")] == [500]


def test_it_is_filtered_by_class_and_comes_in_pages(acme: Caller, recorded: RequestLog) -> None:
    for _ in range(3):
        acme.get("/companies/me")
        acme.get(f"/jobs/{uuid4()}")

    assert [each["status"] for each in own(acme, recorded, status_class="4xx")] == [404] * 3
    assert own(acme, recorded, status_class="5xx") == []
    first = acme.get("/companies/me/requests", {"limit": 2, "status_class": "4xx"}).json()
    cursor = {"limit": 2, "status_class": "4xx", "cursor": first["next_cursor"]}
    second = acme.get("/companies/me/requests", cursor).json()
    assert (len(first["data"]), len(second["data"]), second["next_cursor"]) == (2, 1, None)
    assert code_of(acme.get("/companies/me/requests", {"status_class": "6xx"})) == (
        400,
        "VALIDATION_ERROR",
    )


def test_an_owner_reads_the_requests_of_each_key_and_no_key_those_of_another(
    acme: Caller, owner_api: SessionCaller, company: Company, recorded: RequestLog
) -> None:
    second = key_of(company.id, Scope.READ)
    second.get("/jobs")
    first_id, second_id = ApiKey.objects.order_by("id").values_list("id", flat=True)
    recorded.write_notes()

    assert owner_api.get(f"/api-keys/{first_id}/requests").json()["data"] == []
    [seen] = owner_api.get(f"/api-keys/{second_id}/requests").json()["data"]
    assert seen["path"] == "/api/v1/jobs"
    assert own(acme, recorded) == []
    assert code_of(acme.get(f"/api-keys/{second_id}/requests")) == (403, "PERMISSION_DENIED")
    assert code_of(owner_api.get("/companies/me/requests")) == (403, "PERMISSION_DENIED")


def test_another_companys_key_is_not_there(
    other: Caller, owner_api: SessionCaller, recorded: RequestLog
) -> None:
    other.get("/jobs")
    recorded.write_notes()

    theirs = ApiKey.objects.get()
    assert code_of(owner_api.get(f"/api-keys/{theirs.id}/requests")) == (404, "NOT_FOUND")
    assert code_of(owner_api.get(f"/api-keys/{uuid4()}/requests")) == (404, "NOT_FOUND")


def test_what_a_portal_does_is_in_the_log_of_its_key(
    company: Company, offered: Application, recorded: RequestLog
) -> None:
    key = key_of(company.id)
    token = key.post(f"/applicants/{offered.applicant_id}/tokens").json()["token"]
    Caller(token).post(f"/applications/{offered.id}/acknowledge")

    done, made = own(key, recorded)

    assert (done["is_portal"], made["is_portal"]) == (True, False)
    assert done["path"] == f"/api/v1/applications/{offered.id}/acknowledge"


def test_requests_of_people_and_of_nobody_are_not_recorded(
    offered: Application, owner_api: SessionCaller, nobody: Caller, recorded: RequestLog
) -> None:
    recorded._waiting.clear()
    nobody.get("/jobs")
    owner_api.get("/companies/me")
    Caller("nilk_" + "x" * 43).get("/jobs")

    assert recorded.write_notes() == 0


def test_a_request_waits_for_nothing_and_makes_no_query(
    acme: Caller, recorded: RequestLog, django_assert_num_queries: Any, settings: Any
) -> None:
    settings.THROTTLE_RATES = dict.fromkeys(settings.THROTTLE_RATES)
    acme.get("/companies/me")
    with django_assert_num_queries(2):
        acme.get("/companies/me")


def test_the_thread_writes_within_a_second_and_ends_when_idle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(note_writer, "IDLE_SECONDS", 0.05)
    log = RequestLog(gap_seconds=0.02)
    note = a_note()
    log.note_request(note)
    thread = log._thread

    eventually(lambda: RequestRecord.objects.filter(key_id=note.key_id).exists())
    eventually(lambda: log._thread is None)
    assert thread is not None
    thread.join(5)
    assert not thread.is_alive()

    again = a_note()
    log.note_request(again)
    eventually(lambda: RequestRecord.objects.filter(key_id=again.key_id).exists())
    eventually(lambda: log._thread is None)


def test_flushing_writes_at_once() -> None:
    log = RequestLog(gap_seconds=60)
    log.note_request(a_note())

    assert log.flush(5)

    assert RequestRecord.objects.count() == 1
    _end(log)


def _end(log: RequestLog) -> None:
    """End the log's thread, and its connection, before the test's database is emptied."""
    thread = log._thread
    usual, note_writer.IDLE_SECONDS = note_writer.IDLE_SECONDS, -1
    try:
        log._wake.set()
        if thread:
            thread.join(5)
    finally:
        note_writer.IDLE_SECONDS = usual


def test_the_time_is_the_databases_less_the_notes_age() -> None:
    log = RequestLog()
    log._waiting.append(a_note(ended=time.monotonic() - 30))
    log.write_notes()

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM clock_timestamp() - at)::float FROM pipeline_requestrecord"
        )
        assert cursor.fetchone()[0] == pytest.approx(30, abs=10)


def test_while_the_database_is_away_notes_wait_and_then_are_dropped_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log, keys = RequestLog(), [uuid4() for _ in range(5)]
    monkeypatch.setattr(log, "_start", lambda: None)
    monkeypatch.setattr(note_writer, "MOST_WAITING", 3)
    write = module.store_notes
    monkeypatch.setattr(module, "store_notes", _away)
    dropped = module.DROPPED._value.get()

    for key in keys:
        log.note_request(a_note(key_id=key))
    assert log.write_notes() == 0
    assert module.DROPPED._value.get() - dropped == 2

    monkeypatch.setattr(module, "store_notes", write)
    assert log.write_notes() == 3
    kept = list(RequestRecord.objects.order_by("id").values_list("key_id", flat=True))
    assert kept == keys[:3]


def _away(_notes: Any) -> None:
    raise OperationalError("the server is away")


def test_notes_that_cannot_be_written_do_not_hold_up_later_ones() -> None:
    log, good = RequestLog(), uuid4()
    log._waiting.append(a_note(status=70_000))
    log.write_notes()
    log._waiting.append(a_note(key_id=good))

    assert log.write_notes() == 1
    assert RequestRecord.objects.get().key_id == good


def test_a_path_with_nul_loses_no_notes(acme: Caller, recorded: RequestLog) -> None:
    acme.get("/companies/me")
    acme.post("/task-types/a%00b/pause")

    paths = [each["path"] for each in own(acme, recorded)]

    assert paths == ["/api/v1/task-types/ab/pause", "/api/v1/companies/me"]


def test_requests_over_the_limit_are_not_recorded(
    acme: Caller, recorded: RequestLog, settings: Any
) -> None:
    settings.THROTTLE_RATES = dict.fromkeys(settings.THROTTLE_RATES) | {"api": (2, 60)}
    answers = [acme.get("/companies/me").status_code for _ in range(5)]

    assert answers == [200, 200, 429, 429, 429]
    assert recorded.write_notes() == 2
    assert set(RequestRecord.objects.values_list("status", flat=True)) == {200}


def test_long_paths_and_methods_are_cut_before_they_wait(recorded: RequestLog) -> None:
    recorded.note_request(a_note(method="M" * 50, path="/" * 500, request_id="r" * 128))
    [waiting] = recorded._waiting
    recorded.write_notes()

    assert (len(waiting.method), len(waiting.path)) == (10, 200)

    row = RequestRecord.objects.get()
    assert (len(row.method), len(row.path), len(row.request_id)) == (10, 200, 128)


def test_refusals_among_many_requests_are_found_by_an_index(company: Company) -> None:
    key_id: UUID = uuid4()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO pipeline_requestrecord (key_id, is_portal, at, method, path, status,"
            " status_class, request_id, duration_ms) SELECT %s, false, clock_timestamp(), 'GET',"
            " '/', CASE n WHEN 1 THEN 500 ELSE 200 END, CASE n WHEN 1 THEN 5 ELSE 2 END, '', 1"
            " FROM generate_series(1, 20000) n",
            [key_id],
        )
        cursor.execute("ANALYZE pipeline_requestrecord")
        rows = RequestRecord.objects.filter(key_id=key_id, status_class=5).order_by("-id")[:51]
        assert "refused_request_of_key" in rows.explain()
