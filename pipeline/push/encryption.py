"""Encryption of messages to a browser (RFC 8291, in the coding of RFC 8188): one record each.

The push service cannot read them. Written here on `cryptography`, and tested with the
RFC's own example; docs/decisions/0018 says why no library does it.
"""

from __future__ import annotations

import os
import struct

from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDH,
    SECP256R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

RECORD_BYTES = 4_096
PUBLIC_KEY_BYTES, SECRET_BYTES = 65, 16
# Messages are filled up to this, so that their length says nothing about them.
USUAL_BYTES = 1_024
_LAST_RECORD = b"\2"


def encrypt_push_message(
    text: bytes,
    *,
    public_key: bytes,
    secret: bytes,
    usual_bytes: int = USUAL_BYTES,
    salt: bytes = b"",
    key: EllipticCurvePrivateKey | None = None,
) -> bytes:
    """Encrypt a message for the browser with this public key and secret.

    `salt` and `key` are for the RFC's example; they are random otherwise. Raises ValueError if the
    public key is invalid, or the message does not fit into one record.
    """
    salt, key = salt or os.urandom(16), key or generate_private_key(SECP256R1())
    ours = raw_encryption_key(key.public_key())
    shared = key.exchange(ECDH(), browser_encryption_key(public_key))
    material = _derive_encryption_key(shared, secret, b"WebPush: info\0" + public_key + ours, 32)
    content_key = _derive_encryption_key(material, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derive_encryption_key(material, salt, b"Content-Encoding: nonce\0", 12)
    filled = (text + _LAST_RECORD).ljust(usual_bytes, b"\0")
    sealed = AESGCM(content_key).encrypt(nonce, filled, None)
    header = salt + struct.pack("!IB", RECORD_BYTES, len(ours)) + ours
    if len(header) + len(sealed) > RECORD_BYTES:
        raise ValueError("the message is too long for one record")
    return header + sealed


def browser_encryption_key(raw: bytes) -> EllipticCurvePublicKey:
    """Return the public key of these 65 bytes.

    Raises ValueError if they are not a point of P-256.
    """
    if len(raw) != PUBLIC_KEY_BYTES:
        raise ValueError("a public key has 65 bytes")
    return EllipticCurvePublicKey.from_encoded_point(SECP256R1(), raw)


def raw_encryption_key(key: EllipticCurvePublicKey) -> bytes:
    """Return a public key as its 65 bytes."""
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _derive_encryption_key(material: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length=length, salt=salt, info=info).derive(material)
