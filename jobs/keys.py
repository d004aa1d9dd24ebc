"""API keys: created once, shown once, stored only as a hash; read, used and revoked."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from uuid_utils.compat import uuid7

from jobs import activity
from jobs.companies import checked_company_name
from jobs.errors import (
    ApiKeyNotFound,
    BadLifetime,
    CompanyNotFound,
    JobsNotOfCompany,
)
from jobs.models import MOST_JOBS_OF_KEY, ApiKey, Company, Job, Scope
from tasks.sql.prepared import PreparedStatement

security = logging.getLogger("security")


PREFIX = "nilk_"
TEST_PREFIX = "nilk_test_"  # of a sandbox's keys; no other key begins with it
_HINT_RANDOM = 4


def generate(*, is_test: bool = False) -> str:
    """Make a key of 256 random bits, so that an unsalted hash of it is safe to look up."""
    if is_test:
        return TEST_PREFIX + secrets.token_urlsafe(32)
    key = PREFIX + secrets.token_urlsafe(32)
    return generate() if is_sandbox(key) else key


def is_sandbox(key: str) -> bool:
    """Tell whether a key, or the beginning of one, is a sandbox's."""
    return key.startswith(TEST_PREFIX)


def digest(key: str) -> bytes:
    """Return the hash of a key. Only the hash is stored."""
    return sha256(key.encode()).digest()


def hint(key: str) -> str:
    """Return the beginning of a key, which lets its owner recognise it."""
    return key[: len(TEST_PREFIX if is_sandbox(key) else PREFIX) + _HINT_RANDOM]


KEY_USE_NOTED_EVERY = timedelta(minutes=1)


MOST_KEY_DAYS = 3_650


def create(
    *,
    company_id: UUID,
    name: str,
    scopes: Iterable[Scope],
    key_id: UUID | None = None,
    expires_in_days: int | None = None,
    job_ids: Collection[UUID] = (),
    by: UUID | None = None,
) -> tuple[ApiKey, str]:
    """Create an API key; return its row and the key itself, which cannot be shown again.

    `by` is the owner's account. A `key_id` given by the caller stops a retry from creating a second
    key. Without `expires_in_days` the key is valid until it is revoked. `job_ids`: the jobs that
    exist for it; all, if there are none. Raises CompanyNotFound, BadName, BadLifetime,
    JobsNotOfCompany, and IntegrityError if the id exists.
    """
    if expires_in_days is not None and not 1 <= expires_in_days <= MOST_KEY_DAYS:
        why = _("A key can be valid for 1 to %(most)s days.")
        raise BadLifetime(why % {"most": f"{MOST_KEY_DAYS:,}"})
    company = Company.objects.filter(id=company_id).first()
    if company is None:
        raise CompanyNotFound
    limited_to = sorted(set(job_ids))
    theirs = Job.objects.filter(company_id=company_id, id__in=limited_to[: MOST_JOBS_OF_KEY + 1])
    if len(limited_to) > MOST_JOBS_OF_KEY or theirs.count() < len(limited_to):
        raise JobsNotOfCompany(f"Name at most {MOST_JOBS_OF_KEY} jobs, all of your company.")
    key = generate(is_test=company.is_test)
    with transaction.atomic():
        row = ApiKey.objects.create(
            id=key_id or uuid7(),
            company_id=company_id,
            name=checked_company_name(name),
            hint=hint(key),
            digest=digest(key),
            scopes=sorted(set(scopes)),
            expires_at=None
            if expires_in_days is None
            else timezone.now() + timedelta(days=expires_in_days),
            made_by_id=by,
            job_ids=limited_to or None,
        )
        words: dict[str, object] = {"name": row.name, "scopes": ", ".join(row.scopes)}
        kind = activity.KEY_OF_JOBS_MADE if limited_to else activity.KEY_MADE
        words |= {"jobs": len(limited_to)} if limited_to else {}
        activity.note(kind, company_id=company_id, by=by, about=words)
    facts = {"company": str(company_id), "key": str(row.id), "scopes": ",".join(row.scopes)}
    security.info("key.created", extra=facts)
    return row, key


class KnownKey(NamedTuple):
    """Valid API key, with its company and scopes."""

    id: UUID
    company_id: UUID
    scopes: list[str]
    last_used_at: datetime | None
    job_ids: list[UUID] | None


FIND_KEY = PreparedStatement(
    """
SELECT id, company_id, scopes, last_used_at, job_ids FROM jobs_apikey
WHERE digest = %(digest)s AND revoked_at IS NULL
  AND (expires_at IS NULL OR expires_at > statement_timestamp())
""",
    KnownKey,
)


def find(key: str) -> KnownKey | None:
    """Return a key if it exists and is neither revoked nor expired; one look-up by hash."""
    return FIND_KEY.first(digest=digest(key))


def note_use(key: KnownKey) -> None:
    """Record the use of a key, at most once a minute."""
    fresh = key.last_used_at and timezone.now() - key.last_used_at < KEY_USE_NOTED_EVERY
    if not fresh:
        stale = Q(last_used_at=None) | Q(last_used_at__lte=Now() - KEY_USE_NOTED_EVERY)
        ApiKey.objects.filter(stale, id=key.id).update(last_used_at=Now())


@transaction.atomic
def revoke(*, company_id: UUID, key_id: UUID, by: UUID | None = None) -> ApiKey:
    """Revoke a company's key. Revoking twice is harmless. `by` is the owner's account.

    Raises ApiKeyNotFound, also for another company's key.
    """
    keys_of_company = ApiKey.objects.filter(company_id=company_id, id=key_id)
    is_new = keys_of_company.filter(revoked_at=None).update(revoked_at=Now())
    row = keys_of_company.first()
    if row is None:
        raise ApiKeyNotFound
    if is_new:
        activity.note(activity.KEY_REVOKED, company_id=company_id, by=by, about={"name": row.name})
    security.info("key.revoked", extra={"company": str(company_id), "key": str(key_id)})
    return row


def read_page(company_id: UUID, *, after: UUID | None, most: int) -> list[ApiKey]:
    """Return a page of a company's keys, newest first, including revoked ones, in one query."""
    keys = ApiKey.objects.filter(company_id=company_id)
    if after:
        keys = keys.filter(id__lt=after)
    return list(keys.order_by("-id")[:most])


def read_made_by(company_id: UUID, user_id: UUID) -> list[ApiKey]:
    """Return a company's keys that an account made and that still work, newest first."""
    valid = Q(expires_at=None) | Q(expires_at__gt=Now())
    keys = ApiKey.objects.filter(valid, company_id=company_id, made_by_id=user_id, revoked_at=None)
    return list(keys.order_by("-id"))


def read(company_id: UUID, key_id: UUID) -> ApiKey:
    """Return a key of a company, in one query. Raises ApiKeyNotFound."""
    key = ApiKey.objects.filter(company_id=company_id, id=key_id).first()
    if key is None:
        raise ApiKeyNotFound
    return key
