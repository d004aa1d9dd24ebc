"""A security key in software, as a thief would use it: it signs whatever it is given."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.webauthn.internal.auth import WebAuthn
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData

from jobs.models import User

HOST = "testserver"
PRESENT, VERIFIED = AuthenticatorData.FLAG.UP, AuthenticatorData.FLAG.UV


@dataclass
class SecurityKey:
    """A key with one passkey, for an account of this site."""

    user: User
    id: bytes = b"\x07" * 16
    private_key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )

    def add(self) -> SecurityKey:
        """Store the passkey with the account, as if its owner had added it."""
        public = ES256.from_cryptography_key(self.private_key.public_key())
        data = AttestedCredentialData.create(b"\0" * 16, self.id, public)
        flags = PRESENT | VERIFIED | AuthenticatorData.FLAG.AT
        attested = AttestationObject.create("none", _authenticator_data(flags, data), {})
        response = {
            "clientDataJSON": _client_data("webauthn.create", "AA", f"https://{HOST}"),
            "attestationObject": websafe_encode(attested),
        }
        WebAuthn.add(self.user, "Key", self._answer(response))
        return self

    def sign(
        self, challenge: str, *, verified: bool = True, origin: str = f"https://{HOST}"
    ) -> str:
        """Return the answer to a challenge; `verified`: the owner has entered the PIN."""
        data = _authenticator_data(PRESENT | VERIFIED if verified else PRESENT)
        client = json.dumps({"type": "webauthn.get", "challenge": challenge, "origin": origin})
        signed = bytes(data) + sha256(client.encode()).digest()
        response = {
            "clientDataJSON": websafe_encode(client.encode()),
            "authenticatorData": websafe_encode(data),
            "signature": websafe_encode(self.private_key.sign(signed, ec.ECDSA(hashes.SHA256()))),
            "userHandle": websafe_encode(user_pk_to_url_str(self.user).encode()),
        }
        return json.dumps(self._answer(response))

    def _answer(self, response: dict[str, str]) -> dict[str, Any]:
        own = websafe_encode(self.id)
        return {"id": own, "rawId": own, "type": "public-key", "response": response}


def _client_data(kind: str, challenge: str, origin: str) -> str:
    text = json.dumps({"type": kind, "challenge": challenge, "origin": origin})
    return websafe_encode(text.encode())


def _authenticator_data(flags: AuthenticatorData.FLAG, data: bytes = b"") -> AuthenticatorData:
    return AuthenticatorData.create(sha256(HOST.encode()).digest(), flags, 0, data)
