"""A browser that gets notifications: its keys, its subscription, and reading what was sent."""

from __future__ import annotations

import json
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from applicants.models import Applicant, Device
from jobs.models import User
from pipeline.notifications.devices import Owner, add_device
from tests.support.receiver import Received

SITE_KEY = b"\7" * 32
CHROME = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/140.0.0.0 Mobile Safari/537"


def raw(text: str) -> bytes:
    """Decode base64 for URLs, with or without padding and spaces."""
    plain = "".join(text.split())
    return urlsafe_b64decode(plain + "=" * (-len(plain) % 4))


def encoded(value: bytes) -> str:
    """Encode in base64 for URLs, without padding."""
    return urlsafe_b64encode(value).rstrip(b"=").decode()


class Browser:
    """Keys of a browser.

    Written separately from RFC 8291, so that it shares no mistake with ours.
    """

    def __init__(self, key: ec.EllipticCurvePrivateKey | None = None, secret: bytes = b"s" * 16):
        self._key = key or ec.generate_private_key(ec.SECP256R1())
        self._secret = secret

    @property
    def public_key(self) -> bytes:
        return self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    def subscription(self, endpoint: str) -> dict[str, str]:
        """Return what the page's form sends."""
        return {
            "endpoint": endpoint,
            "public_key": encoded(self.public_key),
            "secret": encoded(self._secret),
        }

    def added_for(self, person: Applicant | User, endpoint: str) -> Device:
        """Switch notifications on for an applicant, or for the account of a member."""
        owner = Owner(user_id=person.id) if isinstance(person, User) else Owner(person.id)
        return add_device(owner, **self.subscription(endpoint), here=None, user_agent=CHROME)

    def read(self, body: bytes) -> bytes:
        """Decrypt a message of one record; the padding is gone."""
        salt, (size, length) = body[:16], struct.unpack("!IB", body[16:21])
        theirs, sealed = body[21 : 21 + length], body[21 + length :]
        assert len(body) <= size == 4096
        sender = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), theirs)
        info = b"WebPush: info\0" + self.public_key + theirs
        shared = self._key.exchange(ec.ECDH(), sender)
        material = HKDF(SHA256(), 32, self._secret, info).derive(shared)
        key = HKDF(SHA256(), 16, salt, b"Content-Encoding: aes128gcm\0").derive(material)
        nonce = HKDF(SHA256(), 12, salt, b"Content-Encoding: nonce\0").derive(material)
        text = AESGCM(key).decrypt(nonce, sealed, None).rstrip(b"\0")
        assert text[-1:] == b"\2"
        return text[:-1]

    def shown(self, received: Received) -> Any:
        """Return the notification in a request that a push service got."""
        return json.loads(self.read(received.body))


def claims_of(authorization: str) -> dict[str, Any]:
    """Verify a VAPID header as a push service does, and return its claims."""
    scheme, _, rest = authorization.partition(" ")
    parts = dict(each.strip().split("=", 1) for each in rest.split(","))
    signed, _, signature = parts["t"].rpartition(".")
    header, claims = (json.loads(raw(each)) for each in signed.split("."))
    assert (scheme, header["alg"], header["typ"]) == ("vapid", "ES256", "JWT")
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), raw(parts["k"]))
    halves = raw(signature)
    assert len(halves) == 64
    numbers = (int.from_bytes(each) for each in (halves[:32], halves[32:]))
    key.verify(encode_dss_signature(*numbers), signed.encode(), ec.ECDSA(SHA256()))
    return dict(claims)


@pytest.fixture
def push_on(settings: Any) -> None:
    """Give the site a key to send notifications with."""
    settings.VAPID_PRIVATE_KEY = SITE_KEY
    settings.VAPID_SUBJECT = "mailto:ops@line.example"
