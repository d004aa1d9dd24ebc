"""Keys that sign receipts: one that signs, and the public halves that verifiers accept."""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings

from pipeline.config.receipt_keys import receipt_key_id
from pipeline.models import ReceiptKey

KEY_BYTES = 32
RECORD_SECONDS = 3_600.0


class PublicKey(NamedTuple):
    """Public half of a key that signs receipts, or that has signed some."""

    id: str
    raw: bytes
    is_current: bool


def sign_receipt_with_key(facts: dict[str, Any]) -> dict[str, Any]:
    """Return a receipt's facts with the id of the key and the signature of everything else."""
    key = _receipt_key(settings.RECEIPT_KEY, settings.SECRET_KEY)
    named = facts | {"key": receipt_key_id(_raw_receipt_key(key.public_key()))}
    signature = key.sign(canonical_receipt_to_sign(named))
    return named | {"signature": base64.b64encode(signature).decode()}


def canonical_receipt_to_sign(facts: dict[str, Any]) -> bytes:
    """Encode what a receipt's signature covers: sorted keys, no spaces, UTF-8, no floats."""
    return json.dumps(
        facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def public_receipt_keys() -> list[PublicKey]:
    """Return the public keys, the current one first; earlier ones verify earlier receipts.

    Those derived from secret keys count as earlier ones once RECEIPT_KEY is set.
    """
    return _public_receipt_keys_of([settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS])


def passing_receipt_keys() -> list[PublicKey]:
    """Return the keys that are published only while SECRET_KEY_FALLBACKS has their secret key."""
    lasting = _public_receipt_keys_of([settings.SECRET_KEY])
    return [key for key in public_receipt_keys() if key not in lasting]


def _public_receipt_keys_of(secret_keys: list[str]) -> list[PublicKey]:
    current = _receipt_key(settings.RECEIPT_KEY, settings.SECRET_KEY)
    former = [_receipt_key(b"", each) for each in secret_keys]
    raw = [_raw_receipt_key(key.public_key()) for key in (current, *former)]
    raw += settings.RECEIPT_FORMER_KEYS
    return [PublicKey(receipt_key_id(each), each, each == raw[0]) for each in dict.fromkeys(raw)]


def record_receipt_key_as_chore() -> float:
    """Record the current key, so that `doctor` notices if it is forgotten later.

    Returns the seconds until the next time.
    """
    key = public_receipt_keys()[0]
    ReceiptKey.objects.bulk_create(
        [ReceiptKey(id=key.id, public_key=key.raw)], ignore_conflicts=True
    )
    return RECORD_SECONDS


@cache
def _receipt_key(seed: bytes, secret_key: str) -> Ed25519PrivateKey:
    """Return the key of RECEIPT_KEY, or else one derived from a secret key."""
    if not seed:
        derive = HKDF(SHA256(), length=KEY_BYTES, salt=None, info=b"next-in-line receipts")
        seed = derive.derive(secret_key.encode())
    return Ed25519PrivateKey.from_private_bytes(seed)


def _raw_receipt_key(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)
