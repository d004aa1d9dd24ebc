"""Reading companies, their members and their keys."""

from __future__ import annotations

from uuid import UUID

from jobs.models import ApiKey, Membership, Role


def roles_of(user_id: UUID) -> dict[UUID, Role]:
    """In which companies a staff account has which role, in one query."""
    rows = Membership.objects.filter(user_id=user_id).values_list("company_id", "role")
    return {company_id: Role(role) for company_id, role in rows}


def keys_of(company_id: UUID, *, after: UUID | None, most: int) -> list[ApiKey]:
    """A company's keys, newest first, revoked ones too, in one query; behind a key, if given."""
    keys = ApiKey.objects.filter(company_id=company_id)
    if after:
        keys = keys.filter(id__lt=after)
    return list(keys.order_by("-id")[:most])
