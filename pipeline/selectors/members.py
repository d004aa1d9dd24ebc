"""Reads of a company's members by what the table of permissions allows them on a job."""

from __future__ import annotations

from collections import Counter
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from jobs.models import Membership
from jobs.team import members_with
from pipeline.domain.permissions import RULES, Action


def members_allowed(action: Action, *, company_id: Any, job_id: Any) -> QuerySet[Membership]:
    """Return the members who may take an action on a job, by either of their roles.

    The ids may be expressions of an outer query; `job_id` is used two levels below it.
    """
    rule = RULES[action]
    return members_with(company_id, job_id, roles=rule.roles, job_roles=rule.job_roles)


def read_choices(action: Action, *, company_id: UUID, job_id: UUID) -> list[tuple[UUID, str]]:
    """Return the ids and names of the members who may take an action on a job, in one query.

    Of two with the same name, each has its address, too.
    """
    members = members_allowed(action, company_id=company_id, job_id=job_id)
    users = [each.user for each in members.select_related("user").order_by("user__email")]
    named = Counter(user.shown_name for user in users)
    return [
        (
            user.id,
            user.shown_name if named[user.shown_name] == 1 else f"{user.shown_name} ({user.email})",
        )
        for user in users
    ]
