"""Repeated requests with one Idempotency-Key: done once, with the same answer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from jobs.models import ApiKey, Job
from pipeline.maintenance import expired_rows
from pipeline.models import Application, Event, IdempotencyRecord
from pipeline.web import idempotency
from tests.support import keyed_posts
from tests.support.callers import Caller, code_of, key_of, leave, pointers, replayed, told
from tests.support.clock import database_now
from tests.support.keyed_posts import EVERY_POST, POSTS, Sent

pytestmark = pytest.mark.django_db(transaction=True)


def test_every_post_is_tried() -> None:
    assert keyed_posts.routes_with_post(secret=False) == set(POSTS)


@pytest.mark.parametrize("sent_by", EVERY_POST)
def test_every_post_is_answered_alike_and_done_once(sent_by: Callable[[], Sent]) -> None:
    sent = sent_by()
    first = sent.under("k")
    events = Event.objects.count()

    again = sent.under("k")

    assert first.status_code in (200, 201, 202)
    assert told(again) == told(first)
    assert (replayed(first), replayed(again)) == (False, True)
    assert Event.objects.count() == events


@pytest.mark.parametrize("sent_by", EVERY_POST)
def test_every_post_does_without_a_key(sent_by: Callable[[], Sent]) -> None:
    sent = sent_by()

    answer = sent.plainly()

    assert answer.status_code in (200, 201, 202)
    assert not IdempotencyRecord.objects.exists()


def test_the_first_answer_is_given_again_although_things_have_moved_on() -> None:
    sent = keyed_posts.own_application()
    first = sent.under("k")
    leave(Application.objects.get())

    again = sent.under("k")

    assert told(again) == told(first)
    assert again.json()["status"] == "ACTIVE"


def test_another_body_under_the_key_is_refused() -> None:
    sent = keyed_posts.a_job()
    sent.under("k")

    answer = sent.under("k", capacity=3)

    assert code_of(answer) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert Job.objects.count() == 1


def test_another_address_under_the_key_is_refused() -> None:
    sent = keyed_posts.a_job()
    sent.under("k")

    answer = sent.caller.post(f"/jobs/{Job.objects.get().id}/pause", sent.body, idempotency_key="k")

    assert code_of(answer) == (422, "IDEMPOTENCY_KEY_REUSED")


def test_two_credentials_of_one_company_have_keys_of_their_own() -> None:
    sent = keyed_posts.a_job()
    sent.under("k")
    colleague = Sent(key_of(ApiKey.objects.get().company_id), sent.path, sent.body)

    answer = colleague.under("k")

    assert (answer.status_code, replayed(answer)) == (201, False)
    assert Job.objects.count() == 2


def test_another_key_is_another_request() -> None:
    sent = keyed_posts.a_job()

    ids = {sent.under(key).json()["id"] for key in ("a", "b", "A", "a b")}

    assert len(ids) == 4


@pytest.mark.parametrize("key", ["", " ", "x" * 256, "a\tb", "a\x7fb"])
def test_what_is_no_key_is_refused(key: str) -> None:
    answer = keyed_posts.a_job().under(key)

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == ["/Idempotency-Key"]
    assert not Job.objects.exists()


@pytest.mark.parametrize("key", ["x", "x" * 255, '"8e03978e-40d5"', "ü~ !"])
def test_what_is_a_key_is_taken(key: str) -> None:
    assert keyed_posts.a_job().under(key).status_code == 201


def test_a_key_means_nothing_to_a_read_or_a_patch(acme: Caller) -> None:
    job = acme.post("/jobs", {"title": "Cook", "capacity": 1}).json()["id"]

    titles = [
        acme.patch(f"/jobs/{job}", {"title": title}, idempotency_key="k").json()["title"]
        for title in ("Baker", "Chef")
    ]

    assert titles == ["Baker", "Chef"]
    assert acme.get(f"/jobs/{job}", idempotency_key="k").json()["title"] == "Chef"


def test_a_request_that_is_still_running_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = keyed_posts.a_job()
    monkeypatch.setattr(idempotency, "keep_idempotent_answer", lambda *_, **__: None)
    sent.under("k")

    answer = sent.under("k")

    assert code_of(answer) == (409, "IDEMPOTENCY_KEY_IN_USE")
    assert answer.headers["Retry-After"] == "1"
    assert Job.objects.count() == 1


def test_after_a_day_the_key_is_new() -> None:
    sent = keyed_posts.a_job()
    sent.under("k")
    keyed_posts.let_a_day_pass()

    again, other = sent.under("k"), sent.under("k", capacity=9)

    assert (again.status_code, replayed(again)) == (201, False)
    assert Job.objects.count() == 2
    assert other.status_code == 422


def test_what_was_kept_for_a_day_is_removed_and_nothing_else() -> None:
    sent = keyed_posts.a_job()
    sent.under("old")
    keyed_posts.let_a_day_pass()
    sent.under("new")

    expired_rows.remove_batch()

    assert IdempotencyRecord.objects.count() == 1
    assert replayed(sent.under("new"))


def test_an_id_made_under_a_key_sorts_by_the_time_of_the_first_try() -> None:
    before = database_now() - timedelta(milliseconds=1)
    first = keyed_posts.a_job().under("k").json()["id"]
    second = keyed_posts.a_job().under("k").json()["id"]

    made = UUID(first)
    milliseconds = made.int >> 80
    assert made.version == 7
    assert before.timestamp() * 1_000 - 1 <= milliseconds <= database_now().timestamp() * 1_000
    assert first < second


def test_a_late_answer_does_not_overwrite_that_of_a_later_try() -> None:
    late = idempotency.claim_key(b"i" * 32, b"f" * 32)
    keyed_posts.let_leases_run_out()
    later = idempotency.claim_key(b"i" * 32, b"f" * 32)
    assert isinstance(late, idempotency.IdempotencyClaim)
    assert isinstance(later, idempotency.IdempotencyClaim)

    idempotency.keep_idempotent_answer(later, status=201, headers={}, body=b"later")
    idempotency.keep_idempotent_answer(late, status=409, headers={}, body=b"late")
    idempotency.release_key(late)

    assert idempotency.claim_key(b"i" * 32, b"f" * 32) == idempotency.Kept(201, {}, b"later")
    assert late.row_id == later.row_id
    assert late.run != later.run


def test_a_lost_request_is_not_taken_over_by_another_one() -> None:
    idempotency.claim_key(b"i" * 32, b"f" * 32)
    keyed_posts.let_leases_run_out()

    assert idempotency.claim_key(b"i" * 32, uuid4().bytes * 2) == idempotency.Reused()
