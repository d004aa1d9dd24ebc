"""`manage.py doctor` notices when receipts that people have saved would stop verifying."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.audit import receipts
from pipeline.audit.receipts import public_receipt_keys
from pipeline.config import keys
from tests.management.test_doctor import only

pytestmark = pytest.mark.django_db(transaction=True)
NEW = "another-secret-0123456789-abcdefghijkl"


def test_a_key_that_is_forgotten_is_named_with_the_line_that_brings_it_back(settings: Any) -> None:
    receipts.record_key()
    receipts.record_key()
    [key] = public_receipt_keys()
    assert only("receipts")[0] == "ok"

    old = settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [old]
    passing = only("receipts")
    settings.SECRET_KEY_FALLBACKS = []
    lost = only("receipts")
    [line] = [word for word in lost[2].split() if word.startswith(f"{key.id}:")]
    settings.RECEIPT_FORMER_KEYS = [keys.parse_former_receipt(line)]
    kept = only("receipts")

    assert passing[0] == "warning"
    assert f"Before you remove it, add {line}" in passing[2]
    assert (lost[0], key.id in lost[1]) == ("problem", True)
    assert kept[0] == "ok"


def test_a_fallback_that_never_signed_receipts_is_no_fault(settings: Any) -> None:
    settings.RECEIPT_KEY = b"r" * 32
    receipts.record_key()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [settings.SECRET_KEY]

    assert only("receipts")[0] == "ok"
