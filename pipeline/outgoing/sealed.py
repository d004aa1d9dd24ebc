"""Secrets that have to be known to be used, kept encrypted.

AES-GCM under a key that is derived from SECRET_KEY for one purpose, bound to the id of the row that
holds the secret. Keys in SECRET_KEY_FALLBACKS still decrypt; what they have sealed is sealed anew
by its room, so that a fallback can be removed after a while.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

TAG_BYTES = 4
_NONCE_BYTES = 12


class SecretUnreadable(Exception):
    """No key of this site decrypts the secret: SECRET_KEY was changed without a fallback."""


@dataclass(frozen=True, slots=True)
class Seal:
    """Seal of the secrets of one kind; `purpose` separates its keys from those of the others."""

    purpose: str

    @property
    def tag(self) -> bytes:
        """Return the first bytes of everything that is sealed under the present key."""
        return sha256(b"tag" + _derived_key(settings.SECRET_KEY, self.purpose)).digest()[:TAG_BYTES]

    def close(self, secret: str, row_id: UUID) -> bytes:
        """Encrypt the secret of a row; the result begins with `tag`."""
        nonce, cipher = secrets.token_bytes(_NONCE_BYTES), self._cipher(settings.SECRET_KEY)
        return self.tag + nonce + cipher.encrypt(nonce, secret.encode(), row_id.bytes)

    def open(self, sealed: bytes | memoryview, row_id: UUID) -> str:
        """Decrypt the secret of a row. Raises SecretUnreadable."""
        whole = bytes(sealed)[TAG_BYTES:]
        nonce, text = whole[:_NONCE_BYTES], whole[_NONCE_BYTES:]
        for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
            with suppress(InvalidTag, ValueError):  # changed, or no secret at all
                return self._cipher(key).decrypt(nonce, text, row_id.bytes).decode()
        raise SecretUnreadable

    def is_readable(self, sealed: bytes | memoryview, row_id: UUID) -> bool:
        """Tell whether a key of this site decrypts the secret."""
        with suppress(SecretUnreadable):
            self.open(sealed, row_id)
            return True
        return False

    def _cipher(self, key: str) -> AESGCM:
        return AESGCM(_derived_key(key, self.purpose))


@lru_cache(maxsize=16)
def _derived_key(key: str, purpose: str) -> bytes:
    info = f"next in line: {purpose}".encode()
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(key.encode())
