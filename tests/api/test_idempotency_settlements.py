"""Settlements of idempotency keys that wait for the database."""

from __future__ import annotations

import pytest
from django.db import transaction

from pipeline.models import IdempotencyRecord
from pipeline.web import idempotency
from tests.support.together import together
from tests.support.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)


def test_settlements_that_fail_for_their_own_reason_do_not_hold_up_the_others() -> None:
    """Their rows are locked: each attempt ends with the database there."""
    ids = [bytes([n]) * 32 for n in range(7)]
    claims = [idempotency.claim_key(each, b"f" * 32) for each in ids]
    assert all(isinstance(each, idempotency.IdempotencyClaim) for each in claims)
    settled: list[bool] = []

    def settle_all() -> None:
        unsettled = idempotency.UnsettledIdempotencyClaims()
        for claim in claims:
            unsettled.note_statement(idempotency._RELEASE, {"id": claim.id, "run": claim.run})
        eventually(lambda: IdempotencyRecord.objects.get(id=ids[-1]).released, 8)
        settled.append(True)

    with transaction.atomic():
        list(IdempotencyRecord.objects.select_for_update().filter(id__in=ids[:-1]))
        together([settle_all])

    assert settled == [True]
    eventually(lambda: all(IdempotencyRecord.objects.values_list("released", flat=True)), 20)
