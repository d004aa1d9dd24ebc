"""Issuing receipts: the digest continues from the last one, and the log names nobody."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from pipeline.audit import receipts
from pipeline.audit.receipts import SHOWN, issue_receipt, public_receipt_keys
from pipeline.config.keys import parse_former_receipt as former_receipt_key_from_text
from pipeline.config.keys import parse_receipt as receipt_key_from_text
from pipeline.domain import draw
from pipeline.domain.errors import ReceiptNotReady
from pipeline.models import Application, Event
from tests.support import factories
from tests.support.busy_line import busy_job
from tests.support.receipts import digest_of, rewrite_log, whole_log

pytestmark = pytest.mark.django_db(transaction=True)

# What an event's data may hold besides, and the log of applicants leaves out: codes of the
# company's decisions and reinstatements, and ids of requests and keys.
LEFT_OUT = {
    *("reason", "request", "via_key", "accept_until", "accepted_until"),
    *("contest_id", "contested_seq", "answer_by", "answer", "answer_seq"),
}


@pytest.fixture
def me() -> Application:
    return factories.applications(factories.job(), 3)[1]


def digest(application: Application) -> str:
    """Return the digest of a log from its first row on."""
    return digest_of(whole_log(application.job_id)).hex()


def test_the_digest_continues_from_the_last_receipt(
    me: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    issue_receipt(me.id)
    read: list[int] = []
    rows = receipts.opaque_rows

    def noted_rows(job_id: Any, *, after: int, upto: int) -> Any:
        read.append(after)
        return rows(job_id, after=after, upto=upto)

    monkeypatch.setattr(receipts, "opaque_rows", noted_rows)
    before = factories.row_of(me.job_id).seq
    factories.applications(me.job_id, 2)

    later = issue_receipt(me.id)

    assert read == [before]
    assert later["log_digest"] == digest(me)


def test_it_starts_again_after_the_history_was_changed(me: Application) -> None:
    before = issue_receipt(me.id)
    rewrite_log(me.job_id, 2, actor_kind="SYSTEM")

    after = issue_receipt(me.id)

    assert after["log_digest"] == digest(me) != before["log_digest"]


@pytest.mark.parametrize("kept", [None, (99, "00" * 32, "00" * 32)])
def test_a_lost_or_later_digest_does_no_harm(me: Application, kept: Any) -> None:
    issue_receipt(me.id)
    cache.set(f"log_digest:{me.job_id}", kept)

    assert issue_receipt(me.id)["log_digest"] == digest(me)


def test_a_long_log_takes_several_requests(
    me: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receipts, "MOST_EVENTS", 2)
    refusals = []

    for _ in range(2):
        with pytest.raises(ReceiptNotReady) as refused:
            issue_receipt(me.id)
        refusals.append(refused.value.facts["done"])

    assert refusals == [2, 4]
    assert issue_receipt(me.id)["log_digest"] == digest(me)


@pytest.mark.parametrize("seed", range(3))
def test_the_log_of_applicants_names_nobody(seed: int) -> None:
    job = busy_job(seed)

    text = json.dumps(whole_log(job))

    events = Event.objects.filter(job_id=job)
    known = set(Application.objects.filter(job_id=job).values_list("id", flat=True))
    people = {str(each) for each in events.values_list("actor_id", flat=True) if each}
    assert len(known) > 4
    assert not [each for each in people | {str(each) for each in known} if each in text]
    assert draw.opaque_id(job, min(known)) in text
    assert not {"WITHDRAWN", "REMOVED", "HIRED", "reason"} & set(text.replace('"', " ").split())
    assert {name for event in events for name in event.data} <= SHOWN | LEFT_OUT


@pytest.mark.parametrize("text", ["short", "AAAA", "!" * 44, "A" * 60])
def test_a_key_that_is_none_stops_the_start_without_quoting_it(text: str) -> None:
    with pytest.raises(ImproperlyConfigured) as refused:
        receipt_key_from_text("RECEIPT_KEY", text)

    assert text not in str(refused.value)


def test_a_former_key_is_published_only_with_the_id_of_its_public_half() -> None:
    public = public_receipt_keys()[0]
    encoded = b64encode(public.raw).decode()

    assert former_receipt_key_from_text(f"{public.id}:{encoded}") == public.raw
    for text in (encoded, f"{'0' * 16}:{encoded}", f"{public.id}:{b64encode(b'x' * 32).decode()}"):
        with pytest.raises(ImproperlyConfigured) as refused:
            former_receipt_key_from_text(text)
        assert encoded not in str(refused.value)


def test_a_first_key_of_its_own_leaves_the_derived_one_published() -> None:
    derived = public_receipt_keys()[0]

    with override_settings(RECEIPT_KEY=b"n" * 32):
        keys = public_receipt_keys()

    assert [key.is_current for key in keys] == [True, False]
    assert keys[1].raw == derived.raw
