"""People who apply: found or created by their address, and their preferences."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any
from uuid import UUID, uuid4

from applicants.addresses import checked_address
from applicants.models import ERASED, Applicant
from tasks import time_zones
from tasks.sql.prepared import PreparedStatement

security = logging.getLogger("security")


def find_or_create_person(email: str) -> Applicant:
    """Return the person with an address, in any spelling; create them if the address is new.

    Raises Django's ValidationError if it is not an email address.
    """
    email = checked_address(email)
    while True:  # repeat if another transaction has just committed the same address
        if found := _FIND_OR_CREATE.first(id=uuid4(), email=email):
            return found


# One round trip instead of four for a SELECT and an INSERT in a savepoint. Columns are in the order
# of the model's fields.
_FIND_OR_CREATE = PreparedStatement(
    """
WITH made AS (
    INSERT INTO applicants_applicant (id, email, name, created_at)
    VALUES (%(id)s, %(email)s, '', statement_timestamp())
    ON CONFLICT (email) DO NOTHING
    RETURNING id, email, name, created_at, time_zone, language, chosen_language
)
SELECT * FROM made
UNION ALL
SELECT id, email, name, created_at, time_zone, language, chosen_language
FROM applicants_applicant WHERE email = %(email)s
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
"""
)


def find_or_create_people(emails: Collection[str]) -> dict[str, UUID]:
    """Map addresses to the ids of their people, creating people for new addresses.

    The addresses must come from `checked_address`.
    """
    found: dict[str, UUID] = {}
    while missing := [email for email in set(emails) if email not in found]:
        wanted: dict[str, Any] = {"ids": [uuid4() for _ in missing], "emails": missing}
        found |= dict(_FIND_OR_CREATE_MANY.all(**wanted))
    return found


def person_exists(applicant_id: UUID) -> bool:
    """Tell whether a person exists and is not erased, in one query."""
    people = Applicant.objects.filter(id=applicant_id)
    return people.exclude(email__startswith=ERASED).exists()


# Preferences of people who apply: time zone and language of their emails, and reminders.


def remember_browser(applicant_id: UUID, *, zone: str, language: str) -> None:
    """Store the time zone and language of a person's browser, for emails; ignore an unknown zone.

    UTC is ignored too: it is the default for a browser without a zone.
    """
    found = {"language": language}
    if zone != "UTC" and time_zones.is_known(zone):
        found["time_zone"] = zone
    Applicant.objects.filter(id=applicant_id).exclude(**found).update(**found)


def remember_language(applicant_id: UUID, language: str) -> None:
    """Store the language that a person has chosen."""
    Applicant.objects.filter(id=applicant_id).update(chosen_language=language)


def stop_reminders(applicant_id: UUID) -> None:
    """Stop reminders of deadlines to a person. Doing so twice is harmless."""
    if Applicant.objects.filter(id=applicant_id, reminders=True).update(reminders=False):
        security.info("reminders.stopped", extra={"applicant": str(applicant_id)})
