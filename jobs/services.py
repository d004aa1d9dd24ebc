"""Services of companies, their members and their keys; none needs a job's lock."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from allauth.account.models import EmailAddress
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Coalesce, Now
from django.utils import timezone
from uuid_utils.compat import uuid7

from jobs import keys
from jobs.errors import (
    AlreadyMember,
    ApiKeyNotFound,
    BadName,
    BadPassword,
    CompanyNotFound,
)
from jobs.models import NAME_LENGTH, ApiKey, Company, Membership, Role, Scope, User
from jobs.team import locked_member
from tasks.sql.prepared import Statement

KEY_USE_NOTED_EVERY = timedelta(minutes=1)


@transaction.atomic
def create_company(*, name: str, owner_email: str, password: str | None = None) -> Company:
    """Create a company with its first owner, whose staff account is created if the address is new.

    Without a password a new account cannot sign in by password. The password of an account that
    exists already is never changed. Raises BadName, BadPassword, ValidationError (the address).
    """
    company = Company.objects.create(name=_checked_name(name))
    owner = _staff_account(owner_email, password)
    Membership.objects.create(company=company, user=owner, role=Role.OWNER)
    return company


@transaction.atomic
def set_first_password(*, user_id: UUID, password: str) -> None:
    """Give an account without a password its first one; the caller vouches for its address.

    An account that has a password keeps it. Raises BadPassword.
    """
    user = User.objects.get(id=user_id)
    if not user.has_usable_password():
        _check_password(password, user)
        user.set_password(password)
        user.save(update_fields=["password"])
        EmailAddress.objects.update_or_create(
            user=user, email=user.email, defaults={"verified": True, "primary": True}
        )


def has_staff_account(email: str) -> bool:
    """Tell if an address, in any case, has a staff account."""
    return User.objects.filter(email=_normal_address(email)).exists()


@transaction.atomic
def add_member(*, company_id: UUID, email: str, role: Role) -> Membership:
    """Add a person to a company's team; their staff account is created if the address is new.

    A new account has no password: its owner signs in by a code sent to the address. Raises
    AlreadyMember, ValidationError (the address).
    """
    user = _staff_account(email, None)
    membership, is_new = Membership.objects.get_or_create(
        company_id=company_id, user=user, defaults={"role": role}
    )
    if not is_new:
        raise AlreadyMember
    return membership


@transaction.atomic
def change_role(*, company_id: UUID, membership_id: int, role: Role) -> Membership:
    """Give a member of a company another role. Raises MemberNotFound, LastOwner."""
    member = locked_member(company_id, membership_id, stays_owner=role == Role.OWNER)
    member.role = role
    member.save(update_fields=["role"])
    return member


@transaction.atomic
def remove_member(*, company_id: UUID, membership_id: int) -> Membership:
    """Take a member out of a company's team; the account itself stays.

    Raises MemberNotFound, LastOwner.
    """
    member = locked_member(company_id, membership_id, stays_owner=False)
    Membership.objects.filter(id=member.id).delete()
    return member


def create_api_key(
    *, company_id: UUID, name: str, scopes: Iterable[Scope], key_id: UUID | None = None
) -> tuple[ApiKey, str]:
    """Create a key of a company; return its row and the key itself, which is shown only now.

    `key_id`: the id of the new key, so that a retry makes no second one. Raises CompanyNotFound,
    BadName, IntegrityError (there is a key with that id).
    """
    if not Company.objects.filter(id=company_id).exists():
        raise CompanyNotFound
    key = keys.new_key()
    row = ApiKey.objects.create(
        id=key_id or uuid7(),
        company_id=company_id,
        name=_checked_name(name),
        hint=keys.hint_of(key),
        digest=keys.digest_of(key),
        scopes=sorted(set(scopes)),
    )
    return row, key


class KnownKey(NamedTuple):
    """Genuine API key, and what it stands for."""

    id: UUID
    company_id: UUID
    scopes: list[str]
    last_used_at: datetime | None


FIND_KEY = Statement(
    """
SELECT id, company_id, scopes, last_used_at FROM jobs_apikey
WHERE digest = %(digest)s AND revoked_at IS NULL
""",
    KnownKey,
)


def find_api_key(key: str) -> KnownKey | None:
    """Return a key if it is genuine and not revoked; one look-up by hash."""
    return FIND_KEY.first(digest=keys.digest_of(key))


def note_use(key: KnownKey) -> None:
    """Record that a key was just used, unless that was recorded within the last minute."""
    fresh = key.last_used_at and timezone.now() - key.last_used_at < KEY_USE_NOTED_EVERY
    if not fresh:
        stale = Q(last_used_at=None) | Q(last_used_at__lte=Now() - KEY_USE_NOTED_EVERY)
        ApiKey.objects.filter(stale, id=key.id).update(last_used_at=Now())


def revoke_api_key(*, company_id: UUID, key_id: UUID) -> ApiKey:
    """Revoke a key of a company. Revoking twice is harmless.

    Raises ApiKeyNotFound, also for another company's key.
    """
    keys_of_company = ApiKey.objects.filter(company_id=company_id, id=key_id)
    if not keys_of_company.update(revoked_at=Coalesce("revoked_at", Now())):
        raise ApiKeyNotFound
    return keys_of_company.get()


def _staff_account(email: str, password: str | None) -> User:
    email = _normal_address(email)
    validate_email(email)
    User._meta.get_field("email").run_validators(email)  # its length too
    if user := User.objects.filter(email=email).first():
        return user
    user = User(email=email)
    if password is not None:
        _check_password(password, user)
    user.set_password(password)
    user.save()
    return user


def _normal_address(email: str) -> str:
    return email.strip().lower()


def _check_password(password: str, user: User) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise BadPassword(*error.messages) from None


def _checked_name(name: str) -> str:
    name = name.strip()
    if not name or len(name) > NAME_LENGTH or not name.isprintable():
        raise BadName(f"A name has 1 to {NAME_LENGTH} printable characters.")
    return name
