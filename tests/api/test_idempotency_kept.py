"""Answers kept under an Idempotency-Key, and the callers who can get them."""

from __future__ import annotations

import math
import threading
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError, connection

from jobs.models import ApiKey, Job, Scope
from pipeline.models import Application, IdempotencyRecord
from pipeline.web import idempotency
from tests.support import factories, keyed_posts
from tests.support.callers import NEW_JOB, Caller, code_of, replayed, signed_in, told
from tests.support.clock import let_time_pass
from tests.support.keyed_posts import Sent, key_of
from tests.support.together import together
from tests.support.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("changes", [{"capacity": 0}, {"nonsense": 1}])
def test_a_refusal_of_the_request_itself_is_not_kept(changes: dict[str, int]) -> None:
    sent = keyed_posts.a_job()
    first = sent.under("k", **changes)

    again, corrected = sent.under("k", **changes), sent.under("k")
    repeated = sent.under("k")

    assert code_of(first) == code_of(again) == (400, "VALIDATION_ERROR")
    assert not replayed(again)
    assert (corrected.status_code, replayed(corrected)) == (201, False)
    assert replayed(repeated)
    assert told(repeated) == told(corrected)
    assert Job.objects.count() == 1


def test_what_was_missing_or_forbidden_is_found_under_the_same_key_once_it_is_there() -> None:
    company = factories.company().id
    writer, reader = key_of(company), key_of(company, Scope.READ)
    draft = factories.job(company_id=company, open_now=False)
    path = f"/jobs/{draft}/applications"
    person = {"name": "A", "email": "a@x.org"}
    answers = [Sent(reader, path, person).under("k")]
    unknown = f"/applicants/{factories.applicant().id}"
    submission = {"applicant_id": unknown.rpartition("/")[2]}
    answers += [Sent(writer, path, submission).under("k")]

    corrected = Sent(writer, "/jobs", NEW_JOB).under("k")

    assert [code_of(each)[0] for each in answers] == [403, 404]
    assert corrected.status_code == 201


def test_a_conflict_is_not_kept() -> None:
    company = factories.company().id
    job = factories.job(company_id=company, open_now=False)
    sent = Sent(key_of(company), f"/jobs/{job}/applications", {"name": "A", "email": "a@x.org"})
    first = sent.under("k")
    sent.caller.post(f"/jobs/{job}/open")

    second = sent.under("k")

    assert code_of(first) == (409, "JOB_NOT_OPEN")
    assert (second.status_code, replayed(second)) == (201, False)


def test_a_failure_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = keyed_posts.a_job()
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.api.v1.jobs.views.create_job", _fail)
        first = sent.under("k")

    second = sent.under("k")

    assert code_of(first) == (503, "UNAVAILABLE")
    assert (second.status_code, replayed(second)) == (201, False)


def test_a_failure_after_the_change_was_made_makes_no_second_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent = keyed_posts.a_job()
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.api.v1.jobs.views.read_job", _fail)
        first = sent.under("k")

    second = sent.under("k")

    assert code_of(first) == (503, "UNAVAILABLE")
    assert second.status_code == 201
    assert Job.objects.get().id == UUID(second.json()["id"])


def test_after_a_failure_the_key_is_free_for_something_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent = keyed_posts.a_job()
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.api.v1.jobs.views.read_job", _fail)
        sent.under("k")

    other = sent.under("k", title="Baker")

    assert (other.status_code, other.json()["title"]) == (201, "Baker")
    assert Job.objects.count() == 2


def _fail(*_: object, **__: object) -> None:
    raise OperationalError("the connection is gone")


def test_an_answer_that_cannot_be_kept_is_given_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent = keyed_posts.a_job()
    with monkeypatch.context() as patch:
        patch.setattr(idempotency, "keep_idempotent_answer", _fail)
        first = sent.under("k")
    keyed_posts.let_leases_run_out()

    second = sent.under("k")

    assert first.status_code == 201
    assert second.json()["id"] == first.json()["id"]
    assert Job.objects.count() == 1


def test_an_answer_is_kept_although_its_connection_was_lost_after_the_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent = keyed_posts.own_application()
    keep = idempotency.keep_idempotent_answer
    lost = []

    def lose_connection_and_keep(*given: Any, **answer: Any) -> None:
        pid = connection.connection.info.backend_pid
        lost.extend(together([partial(terminate_backend, pid)]))
        keep(*given, **answer)

    with monkeypatch.context() as patch:
        patch.setattr(idempotency, "keep_idempotent_answer", lose_connection_and_keep)
        first = sent.under("k")
    made = Application.objects.get()
    sent.caller.post(f"/applications/{made.id}/withdraw")

    second = sent.under("k")

    assert lost == [True]
    assert first.status_code == 201
    assert told(second) == told(first)
    assert replayed(second)


def test_a_key_is_free_soon_after_a_database_that_was_away_for_the_end_of_its_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent, write = keyed_posts.a_job(), idempotency._execute
    is_back = threading.Event()

    def write_when_back(statement: str, parameters: dict[str, Any]) -> None:
        if not is_back.is_set():
            connection.close()
            raise OperationalError("the server closed the connection unexpectedly")
        write(statement, parameters)

    monkeypatch.setattr(idempotency, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(idempotency, "_execute", write_when_back)
    first = sent.under("k")
    in_use = sent.under("k")

    is_back.set()
    eventually(lambda: IdempotencyRecord.objects.filter(status=201).exists())
    second = sent.under("k")

    assert first.status_code == 201
    assert code_of(in_use) == (409, "IDEMPOTENCY_KEY_IN_USE")
    assert (second.status_code, replayed(second)) == (201, True)
    assert Job.objects.count() == 1


def test_what_cannot_be_written_at_all_holds_up_no_other_key(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(idempotency, "RETRY_SECONDS", 30)
    claims = idempotency.UnsettledIdempotencyClaims()

    claims._waiting.append((math.inf, "SELECT 1 / 0", {}))  # both are there for the first round
    claims.note_statement("SELECT 1 / %(by)s", {"by": 0})

    eventually(lambda: len(caplog.records) == 2, 10)
    assert all("division by zero" in record.getMessage() for record in caplog.records)


def test_a_thread_that_cannot_start_leaves_the_error_of_the_database_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    claims = idempotency.UnsettledIdempotencyClaims()
    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", refuse)
        claims.note_statement("SELECT 1", {})
    assert claims._thread is None

    claims.note_statement("SELECT 1", {})

    eventually(lambda: claims._thread is None and not claims._waiting, 10)


def terminate_backend(pid: int) -> bool:
    """End a connection, and wait until it has ended."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 30000)", [pid])
        return bool(cursor.fetchone()[0])


def test_a_deadline_that_has_passed_has_passed_for_good() -> None:
    late = factories.application(factories.job(acknowledge_first_seat=True))
    let_time_pass(late.job_id, factories.WINDOW)
    sent = Sent(signed_in(late.applicant), f"/applications/{late.id}/acknowledge", {})
    first = sent.under("k")

    again = sent.under("k")

    assert code_of(first) == (410, "ACKNOWLEDGMENT_EXPIRED")
    assert told(again) == told(first)
    assert replayed(again)


@pytest.mark.parametrize("caller", [Caller, lambda: Caller("nilk_wrong")])
def test_who_is_not_let_in_leaves_nothing_behind(
    transactional_db: None, caller: type[Caller]
) -> None:
    sent = Sent(caller(), "/jobs", {"title": "Cook", "capacity": 1})

    answers = [sent.under("k") for _ in range(2)]

    assert [code_of(answer) for answer in answers] == [(401, "NOT_AUTHENTICATED")] * 2
    assert not any(replayed(answer) for answer in answers)
    assert not IdempotencyRecord.objects.exclude(body=None).exists()


def test_without_a_credential_a_key_tells_nothing_about_others() -> None:
    sent = keyed_posts.unproved_application()
    sent.under("k")

    other_body = sent.under("k", email="bob@example.org")
    sent.caller._client.defaults["REMOTE_ADDR"] = "192.0.2.7"
    other_place = sent.under("k")

    assert (other_body.status_code, replayed(other_body)) == (202, False)
    assert (other_place.status_code, replayed(other_place)) == (202, False)
    assert Application.objects.count() == 2


def test_the_routes_whose_answers_hold_secrets_are_these() -> None:
    assert keyed_posts.routes_with_post(secret=True) == {
        "api-keys",
        "applicants/<uuid:applicant_id>/tokens",
        "auth/token",
        "webhooks",
        "webhooks/<uuid:webhook_id>/rotate-secret",
    }


def test_a_secret_is_never_stored() -> None:
    _company, owner = keyed_posts.owner()
    sent = Sent(owner, "/api-keys", {"name": "mine", "scopes": ["read"]})

    first, second = sent.under("k"), sent.under("k")

    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["key"] != second.json()["key"]
    assert first.headers["Cache-Control"] == "no-store"
    assert ApiKey.objects.count() == 2
    assert [row.body for row in IdempotencyRecord.objects.all()] == [None]
