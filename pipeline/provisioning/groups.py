"""Groups as an identity provider tells of them by SCIM, and the roles that change with them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now
from scim2_models import (
    ForbiddenException,
    InvalidValueException,
    NotFoundException,
    UniquenessException,
)

from pipeline.models import (
    EXTERNAL_ID_LENGTH,
    GROUP_LENGTH,
    IdentityProvider,
    ProvisionedGroup,
    ProvisionedUser,
    ProvisioningToken,
)
from pipeline.provisioning import roles
from pipeline.provisioning.people import checked_text
from pipeline.provisioning.resources import Group
from pipeline.provisioning.tokens import lock

security = logging.getLogger("security")

MOST_GROUPS, MOST_MEMBERS = 500, 1_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """Group as a provider wants it to be."""

    name: str
    external_id: str
    user_ids: frozenset[UUID]

    @classmethod
    def read(cls, said: Group) -> Wanted:
        """Return what a resource says. Raises InvalidValueException."""
        members = said.members or ()
        if len(members) > MOST_MEMBERS:
            raise InvalidValueException(detail=f"A group has at most {MOST_MEMBERS} members.")
        name = checked_text(said.display_name, "displayName", GROUP_LENGTH)
        if not name:
            raise InvalidValueException(detail="displayName is needed.")
        external_id = checked_text(said.external_id, "externalId", EXTERNAL_ID_LENGTH)
        return cls(name, external_id, frozenset(_user_id(each.value) for each in members))


def _user_id(value: str | None) -> UUID:
    with suppress(ValueError):
        return UUID(value or "")
    raise InvalidValueException(detail="A member is named by the id of a user.")


def read(token: ProvisioningToken, group_id: UUID) -> ProvisionedGroup:
    """Return a group of the token's company. Raises NotFoundException."""
    rows = ProvisionedGroup.objects.filter(provider=token.provider, id=group_id)
    row = rows.prefetch_related("users").first()
    if row is None:
        raise NotFoundException(detail="There is no such group.")
    return row


@transaction.atomic
def create(token: ProvisioningToken, wanted: Wanted) -> ProvisionedGroup:
    """Create a group. Raises SCIMException."""
    lock(token.provider)
    if token.provider.groups.count() >= MOST_GROUPS:
        raise ForbiddenException(detail=f"At most {MOST_GROUPS} groups.")
    row = ProvisionedGroup(provider=token.provider)
    _write(token, row, wanted)
    return read(token, row.id)


@transaction.atomic
def change(
    token: ProvisioningToken, group_id: UUID, edit: Callable[[ProvisionedGroup], Wanted]
) -> ProvisionedGroup:
    """Change a group to what `edit` makes of it, under the lock. Raises SCIMException."""
    lock(token.provider)
    row = read(token, group_id)
    _write(token, row, edit(row))
    return read(token, group_id)


@transaction.atomic
def delete(
    token: ProvisioningToken, group_id: UUID, check: Callable[[ProvisionedGroup], None]
) -> None:
    """Delete a group that `check` lets go, and the roles that it gave. Raises SCIMException."""
    lock(token.provider)
    row = read(token, group_id)
    check(row)
    left, names = [each.id for each in row.users.all()], _names(row)
    row.delete()
    security.info("provisioning.group_deleted", extra=_log_ids(token, group_id))
    roles.give(token.provider, left, names, by=token.id)


def apply(provider: IdentityProvider, name: str, *, by: UUID) -> None:
    """Give the members of a provisioned group, by name or id, the roles that groups now give."""
    with transaction.atomic():
        lock(provider)
        of_name = ProvisionedGroup.objects.filter(Q(name=name) | Q(external_id=name))
        theirs = ProvisionedUser.objects.filter(groups__in=of_name.filter(provider=provider))
        ids = theirs.values_list("id", flat=True)
        roles.give(provider, ids, {name}, by=by)


def _write(token: ProvisioningToken, row: ProvisionedGroup, wanted: Wanted) -> None:
    known = ProvisionedUser.objects.filter(provider=token.provider, id__in=wanted.user_ids)
    if len(known) < len(wanted.user_ids):
        raise InvalidValueException(detail="A member is no user of this company.")
    is_new = row._state.adding
    before = frozenset() if is_new else frozenset(each.id for each in row.users.all())
    names = _names(row)
    is_renamed = (row.name, row.external_id) != (wanted.name, wanted.external_id)
    if not is_renamed and before == wanted.user_ids:
        return
    row.name, row.external_id, row.changed_at = wanted.name, wanted.external_id, Now()
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        raise UniquenessException(detail="Another group has this displayName.") from None
    row.users.set(known)
    security.info("provisioning.group_changed", extra=_log_ids(token, row.id))
    changed = before | wanted.user_ids if is_renamed else before ^ wanted.user_ids
    roles.give(token.provider, changed, names | _names(row), by=token.id)


def _names(row: ProvisionedGroup) -> set[str]:
    return {each for each in (row.name, row.external_id) if each}


def _log_ids(token: ProvisioningToken, group_id: UUID) -> dict[str, Any]:
    company = str(token.provider.company_id)
    return {"company": company, "token": str(token.id), "group": str(group_id)}
