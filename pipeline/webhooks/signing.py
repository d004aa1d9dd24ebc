"""Secrets of endpoints, and signatures according to Standard Webhooks 1.0.

Unlike a key, a secret has to be known to sign with it, so it is kept encrypted: AES-GCM under a
key
that is derived from SECRET_KEY, bound to its endpoint. Keys in SECRET_KEY_FALLBACKS still decrypt;
`pipeline.webhooks.endpoints.reencrypt_endpoint_secrets` then encrypts them again.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import b64decode, b64encode
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

PREFIX = "whsec_"
SECRET_BYTES = 32
_NONCE_BYTES = 12
TAG_BYTES = 4


class SecretUnreadable(Exception):
    """No key of this site decrypts the secret: SECRET_KEY was changed without a fallback."""


def new_webhook_signing_secret() -> str:
    """Return a random secret: whsec_ and 32 bytes in base64."""
    return PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def encrypt_webhook_signing_secret(secret: str, endpoint_id: UUID) -> bytes:
    """Encrypt an endpoint's secret; the result begins with `webhook_signing_key_tag`."""
    nonce, cipher = secrets.token_bytes(_NONCE_BYTES), _webhook_signing_cipher(settings.SECRET_KEY)
    return (
        webhook_signing_key_tag()
        + nonce
        + cipher.encrypt(nonce, secret.encode(), endpoint_id.bytes)
    )


def decrypt_webhook_signing_secret(sealed: bytes | memoryview, endpoint_id: UUID) -> str:
    """Decrypt an endpoint's secret. Raises SecretUnreadable."""
    whole = bytes(sealed)[TAG_BYTES:]
    nonce, text = whole[:_NONCE_BYTES], whole[_NONCE_BYTES:]
    for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        with suppress(InvalidTag):
            return _webhook_signing_cipher(key).decrypt(nonce, text, endpoint_id.bytes).decode()
    raise SecretUnreadable


def is_webhook_signing_secret_readable(sealed: bytes | memoryview, endpoint_id: UUID) -> bool:
    """Tell whether a key of this site decrypts the secret."""
    with suppress(SecretUnreadable):
        decrypt_webhook_signing_secret(sealed, endpoint_id)
        return True
    return False


def webhook_signing_key_tag() -> bytes:
    """Return the first bytes of everything that is encrypted under the present key."""
    return sha256(b"tag" + _derived_webhook_signing_key(settings.SECRET_KEY)).digest()[:TAG_BYTES]


def webhook_signatures(message_id: str, timestamp: int, body: bytes, keys: Iterable[str]) -> str:
    """Return the value of `webhook-signature`: one signature for each secret."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    made = (hmac.digest(b64decode(key.removeprefix(PREFIX)), signed, sha256) for key in keys)
    return " ".join(f"v1,{b64encode(each).decode()}" for each in made)


def _webhook_signing_cipher(key: str) -> AESGCM:
    return AESGCM(_derived_webhook_signing_key(key))


@lru_cache(maxsize=8)
def _derived_webhook_signing_key(key: str) -> bytes:
    derive = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"next in line: webhook secrets")
    return derive.derive(key.encode())
