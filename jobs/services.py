"""Companies, their members and their keys: everything that is written without a job's lock."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from jobs import keys
from jobs.errors import BadName, BadPassword, CompanyNotFound
from jobs.models import NAME_LENGTH, ApiKey, Company, Membership, Role, Scope, User


@transaction.atomic
def create_company(*, name: str, owner_email: str, password: str | None = None) -> Company:
    """A company with its first owner, whose staff account is made if the address is new.

    Without a password a new account cannot sign in by password. The password of an account that
    exists already is never changed. Raises BadName, BadPassword, ValidationError (the address).
    """
    company = Company.objects.create(name=_sane(name))
    owner = _staff_account(owner_email, password)
    Membership.objects.create(company=company, user=owner, role=Role.OWNER)
    return company


def create_api_key(*, company_id: UUID, name: str, scopes: Iterable[Scope]) -> tuple[ApiKey, str]:
    """A new key of a company, and the key itself, which cannot be had again.

    Raises CompanyNotFound, BadName.
    """
    if not Company.objects.filter(id=company_id).exists():
        raise CompanyNotFound
    key = keys.new_key()
    row = ApiKey.objects.create(
        company_id=company_id,
        name=_sane(name),
        hint=keys.hint_of(key),
        digest=keys.digest_of(key),
        scopes=sorted(set(scopes)),
    )
    return row, key


def find_api_key(key: str) -> ApiKey | None:
    """The key's row, if the key is genuine and was not revoked. One look-up by hash."""
    return ApiKey.objects.filter(digest=keys.digest_of(key), revoked_at=None).first()


def _staff_account(email: str, password: str | None) -> User:
    email = email.strip().lower()
    validate_email(email)
    if user := User.objects.filter(email=email).first():
        return user
    user = User(email=email)
    if password is not None:
        _check_password(password, user)
    user.set_password(password)
    user.save()
    return user


def _check_password(password: str, user: User) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise BadPassword(*error.messages) from None


def _sane(name: str) -> str:
    name = name.strip()
    if not name or len(name) > NAME_LENGTH or not name.isprintable():
        raise BadName(f"A name has 1 to {NAME_LENGTH} printable characters.")
    return name
