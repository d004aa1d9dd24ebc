"""Portal tokens: with one, a company's own site acts for one of its applicants for a few minutes.

A key with the scope `applicant-tokens` makes them. They are shown once, stored only as a hash, and
end with their key.
"""

from __future__ import annotations

import logging
import secrets
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from applicants import tokens
from jobs.errors import ApiKeyNotFound
from tasks.sql.prepared import PreparedStatement

security = logging.getLogger("security")

PREFIX = "nilp_"
SHORTEST_SECONDS, USUAL_SECONDS, LONGEST_SECONDS = 30, 300, 900
# How many tokens of one key for one person are valid at a time. A further one ends the oldest.
MOST_AT_ONCE = 20


class GrantedPortalToken(NamedTuple):
    """New portal token, shown only now."""

    id: UUID
    token: str
    expires_at: datetime


class KnownPortalToken(NamedTuple):
    """Valid portal token: its person, and the company and key that made it."""

    id: UUID
    applicant_id: UUID
    company_id: UUID
    key_id: UUID
    key_hint: str


FIND_PORTAL_TOKEN = PreparedStatement(
    """
SELECT token.id, token.applicant_id, key.company_id, key.id, key.hint
FROM pipeline_portaltoken token JOIN jobs_apikey key ON key.id = token.key_id
WHERE token.digest = %(digest)s AND token.expires_at > statement_timestamp()
  AND key.revoked_at IS NULL
  AND (key.expires_at IS NULL OR key.expires_at > statement_timestamp())
""",
    KnownPortalToken,
)

# The lock lets a key's tokens be counted, and lets none appear while the key is being revoked.
_LOCK_KEY = "SELECT FROM jobs_apikey WHERE id = %s AND revoked_at IS NULL FOR NO KEY UPDATE"
_REMOVE_OLDEST = """
DELETE FROM pipeline_portaltoken WHERE id IN (
    SELECT id FROM pipeline_portaltoken WHERE key_id = %s AND applicant_id = %s
    ORDER BY id DESC OFFSET %s)
"""
_ADD = """
INSERT INTO pipeline_portaltoken (id, key_id, applicant_id, digest, expires_at)
VALUES (%s, %s, %s, %s, clock_timestamp() + %s * interval '1 second') RETURNING expires_at
"""


@transaction.atomic
def grant(
    *, key_id: UUID, applicant_id: UUID, lifetime_seconds: int = USUAL_SECONDS
) -> GrantedPortalToken:
    """Make a token for one person. It cannot be shown again.

    The caller has checked that the person applied to the key's company. Raises ApiKeyNotFound for
    a key that was just revoked, and ValueError for a lifetime out of bounds.
    """
    if not SHORTEST_SECONDS <= lifetime_seconds <= LONGEST_SECONDS:
        raise ValueError(f"a portal token cannot live for {lifetime_seconds} seconds")
    token, token_id = PREFIX + secrets.token_urlsafe(32), uuid7()
    digest = tokens.digest(token)
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_KEY, [key_id])
        if not cursor.rowcount:
            raise ApiKeyNotFound
        cursor.execute(_REMOVE_OLDEST, [key_id, applicant_id, MOST_AT_ONCE - 1])
        cursor.execute(_ADD, [token_id, key_id, applicant_id, digest, lifetime_seconds])
        (expires_at,) = cursor.fetchone()
    facts = {"key": str(key_id), "applicant": str(applicant_id), "token": str(token_id)}
    security.info("portal_token.created", extra=facts)
    return GrantedPortalToken(token_id, token, expires_at)
