"""Reads of companies, their members and their keys."""

from __future__ import annotations

from uuid import UUID

from jobs.errors import ApiKeyNotFound, MemberNotFound
from jobs.models import ApiKey, Membership, Role


def roles_of(user_id: UUID) -> dict[UUID, Role]:
    """Return a staff account's role in each of its companies, in one query."""
    rows = Membership.objects.filter(user_id=user_id).values_list("company_id", "role")
    return {company_id: Role(role) for company_id, role in rows}


def company_of_newcomer(email: str) -> str:
    """Return the company name of a member who has never signed in, else ""; in one query."""
    theirs = Membership.objects.filter(user__email=email, user__last_login=None)
    return theirs.order_by("id").values_list("company__name", flat=True).first() or ""


def keys_of(company_id: UUID, *, after: UUID | None, most: int) -> list[ApiKey]:
    """Return a company's keys after a key, newest first, with revoked ones; in one query."""
    keys = ApiKey.objects.filter(company_id=company_id)
    if after:
        keys = keys.filter(id__lt=after)
    return list(keys.order_by("-id")[:most])


def team_of(company_id: UUID) -> list[Membership]:
    """Return a company's members with accounts, owners first, then by address; in one query."""
    team = Membership.objects.filter(company_id=company_id).select_related("user")
    ranks = list(reversed(Role))
    members = team.order_by("user__email")
    return sorted(members, key=lambda member: ranks.index(Role(member.role)))


def member_of(company_id: UUID, membership_id: int) -> Membership:
    """Return a member of a company with the account, in one query. Raises MemberNotFound."""
    team = Membership.objects.filter(company_id=company_id).select_related("user")
    member = team.filter(id=membership_id).first()
    if member is None:
        raise MemberNotFound
    return member


def key_of(company_id: UUID, key_id: UUID) -> ApiKey:
    """Return a key of a company, in one query. Raises ApiKeyNotFound."""
    key = ApiKey.objects.filter(company_id=company_id, id=key_id).first()
    if key is None:
        raise ApiKeyNotFound
    return key
