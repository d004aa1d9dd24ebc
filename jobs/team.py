"""Lock held while a company's team changes."""

from __future__ import annotations

from uuid import UUID

from jobs.errors import LastOwner, MemberNotFound
from jobs.models import Membership, Role


def lock_team_member(company_id: UUID, membership_id: int, *, stays_owner: bool) -> Membership:
    """Lock all members of a company until the transaction ends, and return one of them.

    If two owners remove each other at the same time, the second removal thus finds only one owner
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
