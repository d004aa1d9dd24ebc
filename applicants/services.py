"""Services of people and their tokens."""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from applicants import codes, tokens
from applicants.addresses import normal_address, valid_address
from applicants.models import ERASED, Applicant, ApplicantToken
from tasks.sql.prepared import PreparedStatement, prepared_row

security = logging.getLogger("security")

TOKEN_LIFETIME = timedelta(days=30)
# Most expired tokens that one sign-in deletes.
CLEARED_AT_ONCE = 20


def checked_address(email: str) -> str:
    """Check an address and return its normal spelling. Raises Django's ValidationError."""
    email = valid_address(email)
    Applicant._meta.get_field("email").run_validators(email)  # its length
    return email


def find_or_create_applicant(email: str) -> Applicant:
    """Return the person with an address, in any spelling; create them if the address is new.

    Raises Django's ValidationError if it is not an email address.
    """
    email = checked_address(email)
    while True:  # repeat if another transaction has just committed the same address
        if found := _FIND_OR_CREATE.first(id=uuid4(), email=email):
            return found


# One round trip instead of four for a SELECT and an INSERT in a savepoint.
_FIND_OR_CREATE = PreparedStatement(
    """
WITH made AS (
    INSERT INTO applicants_applicant (id, email, name, created_at)
    VALUES (%(id)s, %(email)s, '', statement_timestamp())
    ON CONFLICT (email) DO NOTHING
    RETURNING id, email, name, created_at
)
SELECT * FROM made
UNION ALL
SELECT id, email, name, created_at FROM applicants_applicant WHERE email = %(email)s
""",
    Applicant,
)


# Rows are inserted in the order of addresses, so that two concurrent calls cannot deadlock.
_FIND_OR_CREATE_MANY = PreparedStatement(
    """
WITH wanted AS (
    SELECT * FROM unnest(%(ids)s::uuid[], %(emails)s::text[]) AS wanted (id, email)
), made AS (
    INSERT INTO applicants_applicant (id, email, name, created_at)
    SELECT id, email, '', statement_timestamp() FROM wanted ORDER BY email
    ON CONFLICT (email) DO NOTHING
    RETURNING id, email
)
SELECT email, id FROM made
UNION ALL
SELECT email, known.id FROM applicants_applicant known JOIN wanted USING (email)
""",
    prepared_row,
)


def find_or_create_applicants(emails: Collection[str]) -> dict[str, UUID]:
    """Map addresses to the ids of their people, creating people for new addresses.

    The addresses must come from `checked_address`.
    """
    found: dict[str, UUID] = {}
    while missing := [email for email in set(emails) if email not in found]:
        wanted: dict[str, Any] = {"ids": [uuid4() for _ in missing], "emails": missing}
        found |= dict(_FIND_OR_CREATE_MANY.all(**wanted))
    return found


def remember_time_zone(applicant_id: UUID, zone: str) -> None:
    """Store the time zone of a person's browser, for times in emails; ignore an unknown one.

    UTC is ignored too: it is the default for a browser without a zone.
    """
    try:
        is_known = zone != "UTC" and bool(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        is_known = False
    if is_known:
        Applicant.objects.filter(id=applicant_id).exclude(time_zone=zone).update(time_zone=zone)


def stop_reminders(applicant_id: UUID) -> None:
    """Stop reminders of deadlines to a person. Doing so twice is harmless."""
    if Applicant.objects.filter(id=applicant_id, reminders=True).update(reminders=False):
        security.info("reminders.stopped", extra={"applicant": str(applicant_id)})


class CodeRefused(Exception):
    """Refusal of a code. With `try_again`, the code was wrong and the right one is still valid."""

    def __init__(self, *, try_again: bool) -> None:
        super().__init__("wrong code" if try_again else "no valid code")
        self.try_again = try_again


def prove_address(*, email: str, code: str, requester: str) -> Applicant:
    """Return the person who proves an address with the code sent to it, and use up the code.

    Only a code requested by `requester` counts, with that requester's tries. A new address becomes
    an applicant. A wrong code costs a try. Raises CodeRefused. Do not call it inside a transaction.
    """
    address = normal_address(email)
    with transaction.atomic(durable=True):
        right = codes.guess_code(address, code, requester=requester)
        if right:
            return find_or_create_applicant(address)
    raise CodeRefused(try_again=right is False)


class Granted(NamedTuple):
    """New token, which cannot be shown again, with its expiry and its person."""

    token: str
    expires_at: datetime
    applicant_id: UUID


def sign_in_by_code(*, email: str, code: str, requester: str) -> Granted | None:
    """Return a new token for the person who proves an address with its code.

    A new address becomes an applicant. Return None if the code is wrong, used or expired, has no
    tries left, or was sent for another requester. A wrong code costs a try. Do not call it inside
    a transaction.
    """
    with transaction.atomic(durable=True):
        if not codes.guess_code(normal_address(email), code, requester=requester):
            return None
        person = find_or_create_applicant(email)
        granted = Granted(*grant_token_to_applicant(person), person.id)
    expired = ApplicantToken.objects.filter(expires_at__lt=Now()).order_by("expires_at")
    some = list(expired.values_list("id", flat=True)[:CLEARED_AT_ONCE])
    ApplicantToken.objects.filter(id__in=some).delete()
    return granted


def issue_token_to_applicant(applicant: Applicant) -> str:
    """Create a token for a person. It cannot be shown again."""
    return grant_token_to_applicant(applicant)[0]


def grant_token_to_applicant(applicant: Applicant) -> tuple[str, datetime]:
    """Create a token for a person; return it, for the only time, with its expiry."""
    token, expires_at = tokens.new_applicant_token(), timezone.now() + TOKEN_LIFETIME
    ApplicantToken.objects.create(
        applicant=applicant, digest=tokens.token_digest(token), expires_at=expires_at
    )
    security.info("token.created", extra={"applicant": str(applicant.id)})
    return token, expires_at


def revoke_token_of_applicant(token_id: UUID) -> None:
    """Revoke a token. Revoking twice is harmless."""
    if ApplicantToken.objects.filter(id=token_id, revoked_at=None).update(revoked_at=Now()):
        security.info("token.revoked", extra={"token": str(token_id)})


def applicant_exists(applicant_id: UUID) -> bool:
    """Tell whether a person exists and is not erased, in one query."""
    people = Applicant.objects.filter(id=applicant_id)
    return people.exclude(email__startswith=ERASED).exists()


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


def find_token_of_applicant(token: str) -> KnownToken | None:
    """Return a token if it exists and is neither revoked nor expired; one look-up by hash."""
    return FIND_TOKEN.first(digest=tokens.token_digest(token))
