"""Lock under which a company's team changes."""

from __future__ import annotations

from uuid import UUID

from jobs.errors import LastOwner, MemberNotFound
from jobs.models import Membership, Role


def lock_team_member(company_id: UUID, membership_id: int, *, stays_owner: bool) -> Membership:
    """Lock all members of a company until the transaction ends, and return one of them.

    Of two owners who remove each other at once, the second thus finds to be the last. Raises
    MemberNotFound; LastOwner, unless the member stays an owner.
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
