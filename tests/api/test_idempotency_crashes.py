"""Retries after a process was killed in the middle, and requests at the same moment."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client

from jobs.models import Job
from pipeline.models import Application, DecisionNote, Event, IdempotencyRecord
from pipeline.web import idempotency
from tests.support import factories, keyed_posts
from tests.support.callers import code_of, key_of, replayed
from tests.support.forked import RunForked
from tests.support.invariants import assert_line_is_sound
from tests.support.keyed_posts import Sent
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)

WITH_A_TOKEN = [
    keyed_posts.a_job,
    keyed_posts.own_application,
    keyed_posts.submission,
    keyed_posts.acknowledgement,
    keyed_posts.withdrawal,
    keyed_posts.removal,
    *(keyed_posts.POSTS[f"jobs/<uuid:job_id>/{verb}"][0] for verb in ("open", "pause", "close")),
]


@pytest.fixture
def killed(run_forked: RunForked) -> Callable[[Sent, str], None]:
    """Send a request from a process that is killed before or after the change."""

    def send(sent: Sent, moment: str) -> None:
        what = [moment, str(sent.caller.token), "k", sent.path, json.dumps(sent.body)]
        assert run_forked("tests.support.one_call", *what) == -signal.SIGKILL

    return send


@pytest.mark.parametrize(
    ("moment", "sent_by"),
    [("before", keyed_posts.a_job), ("before", keyed_posts.removal)]
    + [("after", sent_by) for sent_by in WITH_A_TOKEN],
)
def test_a_retry_after_a_crash_is_answered_and_nothing_is_done_twice(
    killed: Callable[[Sent, str], None], sent_by: Callable[[], Sent], moment: str
) -> None:
    sent = sent_by()
    twin = sent_by()  # the same, where nothing goes wrong
    expected, events = twin.under("other"), Event.objects.count()
    killed(sent, moment)
    done_by_the_killed = Event.objects.count() > events

    meanwhile = sent.under("k")
    keyed_posts.let_leases_run_out()
    retry, again = sent.under("k"), sent.under("k")

    assert done_by_the_killed == (moment == "after")
    assert code_of(meanwhile) == (409, "IDEMPOTENCY_KEY_IN_USE")
    assert retry.status_code == expected.status_code
    assert retry.json().keys() == expected.json().keys()
    assert retry.json()["status"] == expected.json()["status"]
    assert not replayed(retry)
    assert replayed(again)
    for job in Job.objects.all():
        assert_line_is_sound(job.id)
    logs = [factories.event_names(job.id) for job in Job.objects.all()]
    assert logs[0] == logs[1]


def test_what_was_made_is_found_by_its_id(killed: Callable[[Sent, str], None]) -> None:
    sent = keyed_posts.own_application()
    killed(sent, "after")
    made = Application.objects.get()
    keyed_posts.let_leases_run_out()

    retry = sent.under("k")

    assert (retry.status_code, retry.json()["id"]) == (201, str(made.id))
    assert retry.headers["Location"].endswith(str(made.id))


def test_it_is_found_even_if_it_has_ended_since(killed: Callable[[Sent, str], None]) -> None:
    sent = keyed_posts.own_application()
    killed(sent, "after")
    made = Application.objects.get()
    sent.caller.post(f"/applications/{made.id}/withdraw")
    keyed_posts.let_leases_run_out()

    retry = sent.under("k")

    assert (retry.status_code, retry.json()["outcome"]) == (201, "WITHDRAWN")
    assert Application.objects.count() == 1


@pytest.mark.parametrize(
    ("sent_by", "module", "answer"),
    [
        (keyed_posts.own_application, "applications.views", (409, "DUPLICATE_SUBMISSION")),
        (keyed_posts.removal, "applications.review", (409, "INVALID_TRANSITION")),
        (keyed_posts.a_job, "jobs.views", (201, None)),
    ],
)
def test_only_the_id_from_the_key_makes_it_so(
    killed: Callable[[Sent, str], None],
    monkeypatch: pytest.MonkeyPatch,
    sent_by: Callable[[], Sent],
    module: str,
    answer: tuple[int, str | None],
) -> None:
    monkeypatch.setattr(f"pipeline.api.v1.{module}.idempotent_row_id", lambda _: None)
    sent = sent_by()
    jobs = Job.objects.count()
    killed(sent, "after")
    keyed_posts.let_leases_run_out()

    retry = sent.under("k")

    assert code_of(retry) == answer
    assert Job.objects.count() - jobs == (2 if sent_by is keyed_posts.a_job else 0)


def test_a_decision_of_somebody_else_is_not_taken_for_the_retry_of_ones_own(
    killed: Callable[[Sent, str], None],
) -> None:
    sent = keyed_posts.removal()
    killed(sent, "before")
    sent.caller.post(sent.path, sent.body)
    keyed_posts.let_leases_run_out()

    assert code_of(sent.under("k")) == (409, "INVALID_TRANSITION")
    assert DecisionNote.objects.count() == 1


def at_once(sent: Sent, times: int) -> Counter[int]:
    """The statuses of this many of the same request at one moment, each on its own connection."""
    headers = {"Authorization": f"Bearer {sent.caller.token}", "Idempotency-Key": "k"}
    send = partial(
        Client().post,
        f"/api/v1{sent.path}",
        json.dumps(sent.body),
        content_type="application/json",
        headers=headers,
    )
    return Counter(answer.status_code for answer in together([send] * times))


def test_of_eight_at_once_one_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(5):
        sent = keyed_posts.a_job()

        statuses = at_once(sent, 8)

        assert set(statuses) <= {201, 409}
        assert statuses[201] >= 1
        assert Job.objects.filter(company_id=company_of(sent)).count() == 1


def test_without_the_claim_all_eight_would_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def grant(record_id: bytes, fingerprint: bytes) -> Any:
        return idempotency.IdempotencyClaim(
            uuid4().bytes, fingerprint, uuid4(), factories.Event.objects.latest("at").at
        )

    factories.job()
    monkeypatch.setattr(idempotency, "claim_key", grant)
    sent = keyed_posts.a_job()

    statuses = at_once(sent, 8)

    assert statuses == {201: 8}
    assert Job.objects.filter(company_id=company_of(sent)).count() == 8


def test_without_the_claim_the_id_still_lets_only_one_be_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    factories.job()
    at = factories.Event.objects.latest("at").at

    def grant(record_id: bytes, fingerprint: bytes) -> Any:
        return idempotency.IdempotencyClaim(record_id, fingerprint, uuid4(), at)

    monkeypatch.setattr(idempotency, "claim_key", grant)
    sent = keyed_posts.a_job()

    statuses = at_once(sent, 8)

    assert statuses == {201: 8}
    assert Job.objects.filter(company_id=company_of(sent)).count() == 1


def company_of(sent: Sent) -> UUID:
    return UUID(sent.caller.get("/companies/me").json()["id"])


def test_a_claim_is_taken_by_one_of_eight() -> None:
    claims = together([partial(idempotency.claim_key, b"i" * 32, b"f" * 32)] * 8)

    kinds = Counter(type(claim).__name__ for claim in claims)
    assert kinds == {"IdempotencyClaim": 1, "InUse": 7}
    assert IdempotencyRecord.objects.count() == 1


def test_a_credential_is_all_that_tells_two_clients_apart(company: Any) -> None:
    sent = keyed_posts.a_job()
    stranger = Sent(key_of(company.id), sent.path, sent.body)

    first, second = sent.under("k"), stranger.under("k")

    assert first.json()["id"] != second.json()["id"]
    assert not replayed(second)
