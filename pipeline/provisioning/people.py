"""People as an identity provider tells of them: created, changed, deactivated and deleted by SCIM.

A provider can name addresses at the company's proved domains only, as when it signs people in. Who
is deactivated or deleted loses access, sessions and keys in the same transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from scim2_models import (
    ConflictException,
    ForbiddenException,
    InvalidValueException,
    NotFoundException,
    UniquenessException,
)

from applicants.addresses import checked_address
from jobs import accounts, team
from jobs.errors import AddressTaken, LastOwner
from jobs.models import NAME_LENGTH, Membership
from pipeline.models import (
    EXTERNAL_ID_LENGTH,
    USER_NAME_LENGTH,
    ProvisionedUser,
    ProvisioningToken,
)
from pipeline.provisioning.resources import User
from pipeline.provisioning.tokens import lock
from pipeline.sign_on import people as sign_on
from pipeline.sign_on.people import SignOnRefused

security = logging.getLogger("security")

MOST_USERS = 10_000
LAST_OWNER = "This is the last owner of the company. Make someone else an owner first."
OTHER_DOMAIN = (
    "The address is at a domain that the company has not proved."
    " Add it in Settings, Single sign-on."
)


@dataclass(frozen=True, slots=True)
class Person:
    """Person as a provider wants them to be. `is_active` None: as they are."""

    user_name: str
    external_id: str
    email: str
    name: str
    is_active: bool | None

    @classmethod
    def read(cls, said: User) -> Person:
        """Return what a resource says. Raises InvalidValueException."""
        emails = sorted(said.emails or (), key=lambda each: (not each.primary, each.type != "work"))
        email = next((each.value for each in emails if each.value), said.user_name)
        try:
            address = checked_address(email or "")
        except ValidationError:
            raise InvalidValueException(
                detail="An email address is needed, in emails or as userName."
            ) from None
        return cls(
            user_name=checked_text(said.user_name, "userName", USER_NAME_LENGTH),
            external_id=checked_text(said.external_id, "externalId", EXTERNAL_ID_LENGTH),
            email=address,
            name=checked_text(said.display_name or _whole_name(said), "displayName", NAME_LENGTH),
            is_active=said.active,
        )


def _whole_name(said: User) -> str:
    """Return the name of somebody without a `displayName`, which some providers leave out."""
    name = said.unknown_attributes.get("name")
    if not isinstance(name, Mapping):
        return ""
    parts = {key.lower(): each for key, each in name.items() if isinstance(each, str)}
    whole = f"{parts.get('givenname', '')} {parts.get('familyname', '')}".strip()
    return parts.get("formatted") or whole


def checked_text(text: str | None, attribute: str, most: int) -> str:
    """Return the text of an attribute, empty without one. Raises InvalidValueException."""
    said = (text or "").strip()
    if len(said) > most or (said and not said.isprintable()):
        why = f"{attribute} has at most {most} characters, and no control characters."
        raise InvalidValueException(detail=why)
    return said


def read(token: ProvisioningToken, user_id: UUID) -> ProvisionedUser:
    """Return a person of the token's company. Raises NotFoundException."""
    rows = ProvisionedUser.objects.filter(provider=token.provider, id=user_id)
    row = rows.select_related("user").prefetch_related("groups").first()
    if row is None:
        raise NotFoundException(detail="There is no such user.")
    return row


@transaction.atomic
def create(token: ProvisioningToken, wanted: Person) -> ProvisionedUser:
    """Create a person, or adopt the account of their address.

    A member is adopted with the role that they have. Raises SCIMException.
    """
    provider = token.provider
    lock(provider)
    if provider.users.count() >= MOST_USERS:
        raise ForbiddenException(detail=f"At most {MOST_USERS} users.")
    if not sign_on.vouches_for(provider, wanted.email):
        raise InvalidValueException(detail=OTHER_DOMAIN)
    user = accounts.find_or_create(wanted.email, None)
    try:
        sign_on.check_account(provider, user)
    except SignOnRefused:
        raise ForbiddenException(detail="This account cannot be provisioned.") from None
    row = ProvisionedUser(
        provider=provider,
        user=user,
        user_name=wanted.user_name,
        external_id=wanted.external_id,
        is_active=wanted.is_active is not False,
    )
    _save(row)
    if wanted.name:
        accounts.change_name(user_id=user.id, name=wanted.name)
    belongs = Membership.objects.filter(company=provider.company, user=user).exists()
    if not row.is_active:
        _end_access(token, row)
    elif not belongs:
        give_roles(token.provider, row, by=token.id)
    security.info("provisioning.created", extra=_log_ids(token, row))
    return read(token, row.id)


@transaction.atomic
def change(
    token: ProvisioningToken, user_id: UUID, edit: Callable[[ProvisionedUser], Person]
) -> ProvisionedUser:
    """Change a person to what `edit` makes of them, under the lock. Raises SCIMException."""
    lock(token.provider)
    row = read(token, user_id)
    wanted = edit(row)
    # A sign-in of this moment either ends before this, or sees it.
    ProvisionedUser.objects.select_for_update(of=("self",), no_key=True).get(id=row.id)
    before = (row.user_name, row.external_id, row.is_active, row.user.name, row.user.email)
    is_active = row.is_active if wanted.is_active is None else wanted.is_active
    after = (wanted.user_name, wanted.external_id, is_active, wanted.name, wanted.email)
    if before == after:
        return row
    _change_account(token, row, wanted)
    row.user_name, row.external_id = wanted.user_name, wanted.external_id
    was_active, row.is_active = row.is_active, is_active
    _save(row)
    if was_active and not is_active:
        _end_access(token, row)
    elif is_active and not was_active:
        give_roles(token.provider, row, by=token.id)
    security.info("provisioning.changed", extra=_log_ids(token, row) | {"active": is_active})
    return read(token, row.id)


@transaction.atomic
def delete(
    token: ProvisioningToken, user_id: UUID, check: Callable[[ProvisionedUser], None]
) -> None:
    """Delete a person whom `check` lets go; the account itself remains. Raises SCIMException."""
    lock(token.provider)
    row = read(token, user_id)
    check(row)
    ProvisionedUser.objects.select_for_update(of=("self",)).get(id=row.id)
    _end_access(token, row)
    row.delete()
    security.info("provisioning.deleted", extra=_log_ids(token, row))


def give_roles(provider: Any, row: ProvisionedUser, *, by: UUID) -> None:
    """Give a person the roles of their groups, or end their access if these give none."""
    if not row.is_active:
        return
    with suppress(SignOnRefused):  # an owner removed them
        sign_on.check_account(provider, row.user)
        sign_on.give_roles(provider, row.user, None, by=by)


def _save(row: ProvisionedUser) -> None:
    row.changed_at = Now()
    if not row.user_name:
        raise InvalidValueException(detail="userName is needed.")
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        why = "Another user has this userName, externalId or address."
        raise UniquenessException(detail=why) from None


def _change_account(token: ProvisioningToken, row: ProvisionedUser, wanted: Person) -> None:
    """Change address and name, while both addresses are at domains that the company has proved."""
    user, provider = row.user, token.provider
    is_theirs = sign_on.vouches_for(provider, user.email) and not (
        user.is_staff or user.is_superuser
    )
    if wanted.email != user.email:
        if not is_theirs or not sign_on.vouches_for(provider, wanted.email):
            raise InvalidValueException(detail=OTHER_DOMAIN)
        try:
            accounts.change_address(user_id=user.id, email=wanted.email)
        except AddressTaken:
            raise UniquenessException(detail="Another account has this address.") from None
        security.info("provisioning.address_changed", extra=_log_ids(token, row))
    if wanted.name != user.name and is_theirs:
        accounts.change_name(user_id=user.id, name=wanted.name)


def _end_access(token: ProvisioningToken, row: ProvisionedUser) -> None:
    """End what a person can do here, in this transaction. Raises ConflictException."""
    company_id = token.provider.company_id
    assert company_id  # noqa: S101  the site's own provider has no tokens
    member = Membership.objects.filter(company_id=company_id, user=row.user).first()
    if member is None:
        accounts.end_sessions(row.user_id)
        return
    try:
        team.end_access(company_id=company_id, membership_id=member.id, by=token.id)
    except LastOwner:
        raise ConflictException(detail=LAST_OWNER) from None


def _log_ids(token: ProvisioningToken, row: ProvisionedUser) -> dict[str, Any]:
    ids = {"company": str(token.provider.company_id), "token": str(token.id)}
    return ids | {"member": str(row.user_id)}
