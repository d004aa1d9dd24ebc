"""A company's team: its members and their roles, read and changed."""

from __future__ import annotations

import logging
from datetime import date
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from jobs import accounts
from jobs.accounts import SECOND_STEPS
from jobs.errors import (
    AlreadyMember,
    LastOwner,
    MemberNotFound,
)
from jobs.models import Membership, Role

security = logging.getLogger("security")


def read_roles(user_id: UUID) -> dict[UUID, Role]:
    """Return an account's role in each company that it may act for now, in one query."""
    rows = open_memberships().filter(user_id=user_id).values_list("company_id", "role")
    return {company_id: Role(role) for company_id, role in rows}


def read_roles_and_sandboxes(user_id: UUID) -> tuple[dict[UUID, Role], dict[UUID, Role]]:
    """Return an account's role in each company, and in each sandbox its role in the live company.

    In one query.
    """
    theirs = open_memberships().filter(user_id=user_id)
    rows = list(theirs.values_list("company_id", "company__sandbox__id", "role"))
    live = {company_id: Role(role) for company_id, _, role in rows}
    return live, {sandbox_id: Role(role) for _, sandbox_id, role in rows if sandbox_id}


def open_memberships() -> QuerySet[Membership]:
    """Return the memberships whose accounts may act for their company now.

    Accounts without a second step are left out where the company requires one.
    """
    from allauth.mfa.models import Authenticator  # its models are not loaded before ours

    steps = Authenticator.objects.filter(user_id=OuterRef("user_id"), type__in=SECOND_STEPS)
    return Membership.objects.filter(Q(company__requires_second_step=False) | Exists(steps))


def inviting_company_name(email: str) -> str:
    """Return the company's name for a member who has never signed in, else "", in one query."""
    theirs = Membership.objects.filter(user__email=email, user__last_login=None)
    return theirs.order_by("id").values_list("company__name", flat=True).first() or ""


def read_members(company_id: UUID) -> list[Membership]:
    """Return a company's members with their accounts, by role and address, in one query."""
    team = Membership.objects.filter(company_id=company_id).select_related("user")
    ranks = list(reversed(Role))
    members = team.order_by("user__email")
    return sorted(members, key=lambda member: ranks.index(Role(member.role)))


def read_member(company_id: UUID, membership_id: int) -> Membership:
    """Return a member of a company with their account, in one query. Raises MemberNotFound."""
    team = Membership.objects.filter(company_id=company_id).select_related("user")
    member = team.filter(id=membership_id).first()
    if member is None:
        raise MemberNotFound
    return member


def lock_member(company_id: UUID, membership_id: int, *, stays_owner: bool) -> Membership:
    """Lock all members of a company until the transaction ends, and return one of them.

    So if two owners remove each other at the same time, the second removal finds only one owner
    left. Raises MemberNotFound, and LastOwner if the last owner would not stay one.
    """
    team = Membership.objects.filter(company_id=company_id).select_related("user", "company")
    members = list(team.select_for_update(of=("self",)).order_by("id"))
    found = next((member for member in members if member.id == membership_id), None)
    if found is None:
        raise MemberNotFound
    owners = [member for member in members if member.role == Role.OWNER]
    if owners == [found] and not stays_owner:
        raise LastOwner
    return found


@transaction.atomic
def add_member(*, company_id: UUID, email: str, role: Role) -> Membership:
    """Add a person to a company's team, with a staff account if the address is new.

    A new account has no password: its owner signs in with a code sent to the address. Raises
    AlreadyMember, and ValidationError for a bad address.
    """
    user = accounts.find_or_create(email, None)
    membership, is_new = Membership.objects.get_or_create(
        company_id=company_id, user=user, defaults={"role": role}
    )
    if not is_new:
        raise AlreadyMember
    security.info("member.added", extra=_log_ids(membership) | {"role": str(role)})
    return membership


@transaction.atomic
def change_role(*, company_id: UUID, membership_id: int, role: Role) -> Membership:
    """Change a member's role. Raises MemberNotFound, LastOwner."""
    member = lock_member(company_id, membership_id, stays_owner=role == Role.OWNER)
    before, member.role = member.role, role
    member.save(update_fields=["role"])
    roles = {"role": str(role), "before": str(before)}
    security.info("role.changed", extra=_log_ids(member) | roles)
    return member


@transaction.atomic
def remove_member(*, company_id: UUID, membership_id: int) -> Membership:
    """Remove a member from a company's team. The account itself remains.

    Raises MemberNotFound, LastOwner.
    """
    member = lock_member(company_id, membership_id, stays_owner=False)
    Membership.objects.filter(id=member.id).delete()
    security.info("member.removed", extra=_log_ids(member))
    return member


def set_member_emails(
    *,
    membership_id: int,
    digest: bool | None = None,
    alerts: bool | None = None,
    reviews: str | None = None,
) -> None:
    """Choose which emails a member gets for a company; None leaves a choice as it is.

    `reviews`: a `Telling`, or empty for what is usual for the role.
    """
    chosen = {"digest": digest, "alerts": alerts, "reviews": reviews}
    changes: dict[str, Any] = {name: each for name, each in chosen.items() if each is not None}
    Membership.objects.filter(id=membership_id).update(**changes)


def set_away(*, membership_id: int, until: date | None) -> None:
    """Set the last day on which no rota assigns a member anything; None if they are there."""
    Membership.objects.filter(id=membership_id).update(away_until=until)


def _log_ids(member: Membership) -> dict[str, str]:
    return {"company": str(member.company_id), "member": str(member.user_id)}


def locked_companies(user_id: UUID) -> list[str]:
    """Return the names of companies that an account cannot act for without a second step."""
    theirs = Membership.objects.filter(user_id=user_id).exclude(id__in=open_memberships())
    return list(theirs.order_by("company__name").values_list("company__name", flat=True))
