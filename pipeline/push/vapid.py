"""The site's key towards push services (VAPID, RFC 8292), and the signature of a request."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from datetime import datetime, timedelta
from functools import cache
from hashlib import sha256
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    SECP256R1,
    EllipticCurvePrivateKey,
    derive_private_key,
)
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from django.conf import settings

from pipeline.push.encryption import raw_encryption_key
from tasks.json import as_json

# At most 24 hours are allowed; a request may wait a while, and clocks differ.
SIGNED_FOR = timedelta(hours=12)


def is_push_on() -> bool:
    """Tell whether the site has a key to send notifications with."""
    return bool(settings.VAPID_PRIVATE_KEY)


def vapid_public_key() -> str:
    """Return the site's public key as browsers take it: base64 for URLs, without padding."""
    return base64_for_urls(raw_encryption_key(_vapid_key(settings.VAPID_PRIVATE_KEY).public_key()))


def vapid_key_id() -> str:
    """Return a short name of the site's key."""
    return sha256(vapid_public_key().encode()).hexdigest()[:16]


def vapid_authorization(endpoint: str, now: datetime) -> str:
    """Return the Authorization header of a request to a push service."""
    parts = urlsplit(endpoint)
    claims = {
        "aud": f"{parts.scheme}://{parts.netloc}",
        "exp": int((now + SIGNED_FOR).timestamp()),
        "sub": settings.VAPID_SUBJECT,
    }
    signed = ".".join(
        base64_for_urls(as_json(part).encode()) for part in ({"typ": "JWT", "alg": "ES256"}, claims)
    )
    made = _vapid_key(settings.VAPID_PRIVATE_KEY).sign(signed.encode(), ECDSA(SHA256()))
    signature = b"".join(number.to_bytes(32) for number in decode_dss_signature(made))
    return f"vapid t={signed}.{base64_for_urls(signature)}, k={vapid_public_key()}"


def base64_for_urls(raw: bytes) -> str:
    """Encode bytes in base64 for URLs, without padding."""
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


@cache
def _vapid_key(raw: bytes) -> EllipticCurvePrivateKey:
    return derive_private_key(int.from_bytes(raw), SECP256R1())
