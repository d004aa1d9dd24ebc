"""Services of companies, their members and their keys; none needs a job's lock."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from allauth.account.models import EmailAddress
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Coalesce, Now
from django.utils import timezone
from uuid_utils.compat import uuid7

from applicants.addresses import normal_address, valid_address
from jobs import keys
from jobs.errors import (
    AlreadyMember,
    ApiKeyNotFound,
    BadLifetime,
    BadName,
    BadPassword,
    BadRetention,
    CompanyNotFound,
    SecondStepMissing,
)
from jobs.models import NAME_LENGTH, ApiKey, Company, Membership, Retention, Role, Scope, User
from jobs.selectors import has_second_step
from jobs.team import lock_team_member
from tasks.sql.prepared import PreparedStatement

security = logging.getLogger("security")

KEY_USE_NOTED_EVERY = timedelta(minutes=1)
MOST_KEY_DAYS = 3_650


@transaction.atomic
def create_company(*, name: str, owner_email: str, password: str | None = None) -> Company:
    """Create a company with its first owner, and a staff account for the owner's new address.

    Without a password, a new account cannot sign in with one. The password of an existing account
    is never changed. Raises BadName, BadPassword, and ValidationError for a bad address.
    """
    company = Company.objects.create(name=_checked_company_name(name))
    owner = _staff_account(owner_email, password)
    Membership.objects.create(company=company, user=owner, role=Role.OWNER)
    security.info("company.created", extra={"company": str(company.id), "owner": str(owner.id)})
    return company


@transaction.atomic
def set_first_password(*, user_id: UUID, password: str) -> None:
    """Set the first password of an account; the caller vouches for its address.

    An existing password is kept. Raises BadPassword.
    """
    user = User.objects.get(id=user_id)
    if not user.has_usable_password():
        _check_staff_password(password, user)
        user.set_password(password)
        user.save(update_fields=["password"])
        EmailAddress.objects.update_or_create(
            user=user, email=user.email, defaults={"verified": True, "primary": True}
        )


def has_staff_account(email: str) -> bool:
    """Tell if an address, in any spelling, has a staff account."""
    return User.objects.filter(email=normal_address(email)).exists()


@transaction.atomic
def add_member(*, company_id: UUID, email: str, role: Role) -> Membership:
    """Add a person to a company's team, with a staff account if the address is new.

    A new account has no password: its owner signs in with a code sent to the address. Raises
    AlreadyMember, and ValidationError for a bad address.
    """
    user = _staff_account(email, None)
    membership, is_new = Membership.objects.get_or_create(
        company_id=company_id, user=user, defaults={"role": role}
    )
    if not is_new:
        raise AlreadyMember
    security.info("member.added", extra=_ids_for_security_log(membership) | {"role": str(role)})
    return membership


@transaction.atomic
def change_role(*, company_id: UUID, membership_id: int, role: Role) -> Membership:
    """Change a member's role. Raises MemberNotFound, LastOwner."""
    member = lock_team_member(company_id, membership_id, stays_owner=role == Role.OWNER)
    before, member.role = member.role, role
    member.save(update_fields=["role"])
    roles = {"role": str(role), "before": str(before)}
    security.info("role.changed", extra=_ids_for_security_log(member) | roles)
    return member


@transaction.atomic
def remove_member(*, company_id: UUID, membership_id: int) -> Membership:
    """Remove a member from a company's team. The account itself remains.

    Raises MemberNotFound, LastOwner.
    """
    member = lock_team_member(company_id, membership_id, stays_owner=False)
    Membership.objects.filter(id=member.id).delete()
    security.info("member.removed", extra=_ids_for_security_log(member))
    return member


def choose_member_emails(
    *, membership_id: int, digest: bool | None = None, alerts: bool | None = None
) -> None:
    """Choose which emails a member gets for a company; None leaves a choice as it is."""
    chosen = {"digest": digest, "alerts": alerts}
    changes = {name: value for name, value in chosen.items() if value is not None}
    Membership.objects.filter(id=membership_id).update(**changes)


def _ids_for_security_log(member: Membership) -> dict[str, str]:
    return {"company": str(member.company_id), "member": str(member.user_id)}


def require_second_step(*, company_id: UUID, required: bool, by: UUID) -> None:
    """Require, or no longer require, a passkey or authenticator app of a company's members.

    It takes effect at once, in open sessions too. Raises SecondStepMissing if the owner who
    requires it (`by`) has none: they would lock themselves out.
    """
    if required and not has_second_step(by):
        raise SecondStepMissing
    Company.objects.filter(id=company_id).update(requires_second_step=required)
    event = "second_step.required" if required else "second_step.optional"
    security.info(event, extra={"company": str(company_id)})


def set_retention(*, job_id: UUID, keep_days: int, legal_hold: bool) -> None:
    """Set how many days a job keeps personal data of ended applications, and its legal hold.

    Raises BadRetention.
    """
    least, most = Retention.LEAST_DAYS, Retention.MOST_DAYS
    if not least <= keep_days <= most:
        raise BadRetention(f"Enter a number of days from {least} to {most:,}.")
    values = {"keep_days": keep_days, "legal_hold": legal_hold}
    Retention.objects.update_or_create(job_id=job_id, defaults=values)
    security.info("retention.changed", extra={"job": str(job_id), **values})


def create_api_key(
    *,
    company_id: UUID,
    name: str,
    scopes: Iterable[Scope],
    key_id: UUID | None = None,
    expires_in_days: int | None = None,
) -> tuple[ApiKey, str]:
    """Create an API key; return its row and the key itself, which cannot be shown again.

    A `key_id` given by the caller stops a retry from creating a second key. Without
    `expires_in_days` the key is valid until it is revoked. Raises CompanyNotFound, BadName,
    BadLifetime, and IntegrityError if the id exists.
    """
    if expires_in_days is not None and not 1 <= expires_in_days <= MOST_KEY_DAYS:
        raise BadLifetime(f"A key can be valid for 1 to {MOST_KEY_DAYS:,} days.")
    if not Company.objects.filter(id=company_id).exists():
        raise CompanyNotFound
    key = keys.new_api_key()
    row = ApiKey.objects.create(
        id=key_id or uuid7(),
        company_id=company_id,
        name=_checked_company_name(name),
        hint=keys.api_key_hint(key),
        digest=keys.api_key_digest(key),
        scopes=sorted(set(scopes)),
        expires_at=None
        if expires_in_days is None
        else timezone.now() + timedelta(days=expires_in_days),
    )
    facts = {"company": str(company_id), "key": str(row.id), "scopes": ",".join(row.scopes)}
    security.info("key.created", extra=facts)
    return row, key


class KnownKey(NamedTuple):
    """Valid API key, with its company and scopes."""

    id: UUID
    company_id: UUID
    scopes: list[str]
    last_used_at: datetime | None


FIND_KEY = PreparedStatement(
    """
SELECT id, company_id, scopes, last_used_at FROM jobs_apikey
WHERE digest = %(digest)s AND revoked_at IS NULL
  AND (expires_at IS NULL OR expires_at > statement_timestamp())
""",
    KnownKey,
)


def find_api_key(key: str) -> KnownKey | None:
    """Return a key if it exists and is neither revoked nor expired; one look-up by hash."""
    return FIND_KEY.first(digest=keys.api_key_digest(key))


def note_key_use(key: KnownKey) -> None:
    """Record the use of a key, at most once a minute."""
    fresh = key.last_used_at and timezone.now() - key.last_used_at < KEY_USE_NOTED_EVERY
    if not fresh:
        stale = Q(last_used_at=None) | Q(last_used_at__lte=Now() - KEY_USE_NOTED_EVERY)
        ApiKey.objects.filter(stale, id=key.id).update(last_used_at=Now())


def revoke_api_key(*, company_id: UUID, key_id: UUID) -> ApiKey:
    """Revoke a company's key. Revoking twice is harmless.

    Raises ApiKeyNotFound, also for another company's key.
    """
    keys_of_company = ApiKey.objects.filter(company_id=company_id, id=key_id)
    if not keys_of_company.update(revoked_at=Coalesce("revoked_at", Now())):
        raise ApiKeyNotFound
    security.info("key.revoked", extra={"company": str(company_id), "key": str(key_id)})
    return keys_of_company.get()


def _staff_account(email: str, password: str | None) -> User:
    email = valid_address(email)
    User._meta.get_field("email").run_validators(email)  # its length too
    if user := User.objects.filter(email=email).first():
        return user
    user = User(email=email)
    if password is not None:
        _check_staff_password(password, user)
    user.set_password(password)
    user.save()
    return user


def _check_staff_password(password: str, user: User) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise BadPassword(*error.messages) from None


def _checked_company_name(name: str) -> str:
    name = name.strip()
    if not name or len(name) > NAME_LENGTH or not name.isprintable():
        raise BadName(f"A name has 1 to {NAME_LENGTH} printable characters.")
    return name
