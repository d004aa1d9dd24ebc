"""Limits of an API key's background work, set by an owner of its company."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db import transaction

from jobs.keys import create_api_key
from jobs.models import ApiKey, Scope
from pipeline.background.catalog import COMPANY_TYPES
from pipeline.models import Producer
from tasks.errors import OutOfRange, UnknownType

MOST_A_MINUTE = 1_000_000


def limit_key(
    *, key_id: UUID, types: Sequence[str] | None = None, per_minute: int | None = None
) -> None:
    """Set the types of background work that a key may start, and its tasks per minute.

    For types, None means all that a company may start; for the rate, None means the site's. Raises
    UnknownType, OutOfRange.
    """
    for key in types or ():
        if key not in COMPANY_TYPES:
            raise UnknownType(key)
    if per_minute is not None and not 1 <= per_minute <= MOST_A_MINUTE:
        raise OutOfRange("per_minute", per_minute, 1, MOST_A_MINUTE)
    if types is None and per_minute is None:
        Producer.objects.filter(key_id=key_id).delete()
        return
    kept = None if types is None else sorted(set(types))
    Producer.objects.update_or_create(
        key_id=key_id, defaults={"types": kept, "per_minute": per_minute}
    )


@transaction.atomic
def create_limited_key(
    *,
    company_id: UUID,
    name: str,
    scopes: Iterable[Scope],
    types: Sequence[str] | None = None,
    per_minute: int | None = None,
    key_id: UUID | None = None,
    expires_in_days: int | None = None,
) -> tuple[ApiKey, str]:
    """Create a key of a company with limits. See `create_api_key` and `limit_key`."""
    row, key = create_api_key(
        company_id=company_id,
        name=name,
        scopes=scopes,
        key_id=key_id,
        expires_in_days=expires_in_days,
    )
    limit_key(key_id=row.id, types=types, per_minute=per_minute)
    return row, key


def limits_of_key(key_id: UUID | None) -> Producer | None:
    """Return the limits that an owner set for a key, or None without a key or limits."""
    return Producer.objects.filter(key_id=key_id).first() if key_id else None


def limits_of_keys(key_ids: Iterable[UUID]) -> dict[UUID, Producer]:
    """Return the limits of some keys' background work, if set, in one query."""
    return Producer.objects.in_bulk(list(key_ids))
