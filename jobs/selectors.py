"""Reads of companies, their members and their keys."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from jobs.errors import ApiKeyNotFound, MemberNotFound
from jobs.models import ApiKey, Company, Membership, Role

# Types of allauth's authenticators that count as a second step (recovery codes do not).
SECOND_STEPS = ("totp", "webauthn")


def roles_of(user_id: UUID) -> dict[UUID, Role]:
    """Return an account's role in each company that it may act for now, in one query."""
    rows = open_memberships().filter(user_id=user_id).values_list("company_id", "role")
    return {company_id: Role(role) for company_id, role in rows}


def open_memberships() -> QuerySet[Membership]:
    """Return the memberships whose accounts may act for their company now.

    Accounts without a second step are left out where the company requires one.
    """
    from allauth.mfa.models import Authenticator  # its models are not loaded before ours

    steps = Authenticator.objects.filter(user_id=OuterRef("user_id"), type__in=SECOND_STEPS)
    return Membership.objects.filter(Q(company__requires_second_step=False) | Exists(steps))


def has_second_step(user_id: UUID) -> bool:
    """Tell whether an account has a passkey or an authenticator app, in one query."""
    from allauth.mfa.models import Authenticator  # its models are not loaded before ours

    return Authenticator.objects.filter(user_id=user_id, type__in=SECOND_STEPS).exists()


def locked_companies(user_id: UUID) -> list[str]:
    """Return the names of companies that an account cannot act for without a second step."""
    theirs = Membership.objects.filter(user_id=user_id).exclude(id__in=open_memberships())
    return list(theirs.order_by("company__name").values_list("company__name", flat=True))


def company_of_newcomer(email: str) -> str:
    """Return the company's name for a member who has never signed in, else "", in one query."""
    theirs = Membership.objects.filter(user__email=email, user__last_login=None)
    return theirs.order_by("id").values_list("company__name", flat=True).first() or ""


def keys_of(company_id: UUID, *, after: UUID | None, most: int) -> list[ApiKey]:
    """Return a page of a company's keys, newest first, including revoked ones, in one query."""
    keys = ApiKey.objects.filter(company_id=company_id)
    if after:
        keys = keys.filter(id__lt=after)
    return list(keys.order_by("-id")[:most])


def team_of(company_id: UUID) -> list[Membership]:
    """Return a company's members with their accounts, by role and address, in one query."""
    team = Membership.objects.filter(company_id=company_id).select_related("user")
    ranks = list(reversed(Role))
    members = team.order_by("user__email")
    return sorted(members, key=lambda member: ranks.index(Role(member.role)))


def member_of(company_id: UUID, membership_id: int) -> Membership:
    """Return a member of a company with their account, in one query. Raises MemberNotFound."""
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


def read_company(company_id: UUID) -> Company:
    """Return a company that must exist, in one query."""
    return Company.objects.get(id=company_id)
