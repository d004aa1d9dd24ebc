"""Applicant tokens: created once, shown once, stored only as a hash; found and revoked."""

from __future__ import annotations

import logging
import secrets
from datetime import datetime, timedelta
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from django.db.models.functions import Now
from django.utils import timezone

from applicants.models import Applicant, ApplicantToken
from tasks.sql.prepared import PreparedStatement

security = logging.getLogger("security")

PREFIX = "nila_"


def generate() -> str:
    """Make a token of 256 random bits, so that an unsalted hash of it is safe to look up."""
    return PREFIX + secrets.token_urlsafe(32)


def digest(token: str) -> bytes:
    """Return the hash of a token. Only the hash is stored."""
    return sha256(token.encode()).digest()


TOKEN_LIFETIME = timedelta(days=30)


def issue(applicant: Applicant) -> str:
    """Create a token for a person. It cannot be shown again."""
    return grant(applicant)[0]


def grant(applicant: Applicant) -> tuple[str, datetime]:
    """Create a token for a person; return it, for the only time, with its expiry."""
    token, expires_at = generate(), timezone.now() + TOKEN_LIFETIME
    ApplicantToken.objects.create(applicant=applicant, digest=digest(token), expires_at=expires_at)
    security.info("token.created", extra={"applicant": str(applicant.id)})
    return token, expires_at


def revoke(token_id: UUID) -> None:
    """Revoke a token. Revoking twice is harmless."""
    if ApplicantToken.objects.filter(id=token_id, revoked_at=None).update(revoked_at=Now()):
        security.info("token.revoked", extra={"token": str(token_id)})


class KnownToken(NamedTuple):
    """Valid token and its person."""

    id: UUID
    applicant_id: UUID


FIND_TOKEN = PreparedStatement(
    """
SELECT id, applicant_id FROM applicants_applicanttoken
WHERE digest = %(digest)s AND revoked_at IS NULL AND expires_at > statement_timestamp()
""",
    KnownToken,
)
