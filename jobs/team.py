"""A company's team: its members and their roles, read and changed."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import JSONObject

from applicants.texts import folded_name
from jobs import accounts, activity, keys
from jobs.accounts import SECOND_STEPS
from jobs.errors import (
    AlreadyMember,
    LastOwner,
    MemberNotFound,
    TooManyOnJob,
)
from jobs.models import JobMember, JobRole, Membership, Role

security = logging.getLogger("security")

# How many members a job can have of its own, and how many single jobs a member.
MOST_OF_JOB, MOST_JOBS = 100, 200


class Roles(NamedTuple):
    """A member's role for the whole company, None if there is none, and those on single jobs."""

    role: Role | None
    jobs: Mapping[UUID, JobRole] = {}

    @classmethod
    def read(cls, role: str, job_roles: Iterable[Mapping[str, str]]) -> Roles:
        """Return the roles that an open membership has stored."""
        on_jobs = {UUID(each["job"]): JobRole(each["role"]) for each in job_roles}
        return cls(Role(role) if role else None, on_jobs)


def has_company(user_id: UUID) -> bool:
    """Tell whether an account may act for some company now, in one query."""
    return open_memberships().filter(user_id=user_id).exists()


def read_roles_and_sandboxes(user_id: UUID) -> tuple[dict[UUID, Roles], dict[UUID, Roles]]:
    """Return an account's roles in each company, and in each sandbox its role in the live company.

    In one query.
    """
    theirs = open_memberships().filter(user_id=user_id)
    columns: tuple[Any, ...] = ("company_id", "company__sandbox__id", "role", "job_roles")
    rows = list(theirs.values_list(*columns))
    live = {company_id: Roles.read(role, on_jobs) for company_id, _, role, on_jobs in rows}
    tried = {
        sandbox_id: Roles(Role(role)) for _, sandbox_id, role, _ in rows if sandbox_id and role
    }
    return live, tried


def open_memberships() -> QuerySet[Membership]:
    """Return the memberships whose accounts may act for their company now, with their `job_roles`.

    Accounts without a second step are left out where the company requires one.
    """
    from allauth.mfa.models import Authenticator  # its models are not loaded before ours

    steps = Authenticator.objects.filter(user_id=OuterRef("user_id"), type__in=SECOND_STEPS)
    on_jobs = JobMember.objects.filter(membership_id=OuterRef("id")).order_by("job_id")
    rows = on_jobs.values(data=JSONObject(job="job_id", role="role"))
    theirs = Membership.objects.annotate(job_roles=ArraySubquery(rows))
    return theirs.filter(Q(company__requires_second_step=False) | Exists(steps))


def members_with(
    company_id: Any, job_id: Any, *, roles: Collection[Role], job_roles: Collection[JobRole]
) -> QuerySet[Membership]:
    """Return the members of a company with one of these roles, or with one of those on the job."""
    on_job = JobMember.objects.filter(
        membership_id=OuterRef("id"), job_id=job_id, role__in=job_roles
    )
    return Membership.objects.filter(Q(role__in=roles) | Exists(on_job), company_id=company_id)


def inviting_company_name(email: str) -> str:
    """Return the company's name for a member who has never signed in, else "", in one query."""
    theirs = Membership.objects.filter(user__email=email, user__last_login=None)
    return theirs.order_by("id").values_list("company__name", flat=True).first() or ""


def read_members(company_id: UUID) -> list[Membership]:
    """Return a company's members with their accounts, by role and address, in one query."""
    team = Membership.objects.filter(company_id=company_id).select_related("user")
    ranks = [*reversed(Role), ""]
    members = team.order_by("user__email")
    return sorted(members, key=lambda member: ranks.index(member.role))


def read_job_members(job_id: UUID) -> list[JobMember]:
    """Return the members who have a role on a job, by address, in one query."""
    rows = JobMember.objects.filter(job_id=job_id).select_related("membership__user")
    return list(rows.order_by("membership__user__email"))


def read_job_roles(membership_id: int) -> list[JobMember]:
    """Return a member's roles on single jobs, newest job first, in one query."""
    rows = JobMember.objects.filter(membership_id=membership_id, job__posting__isnull=False)
    return list(rows.select_related("job__posting").order_by("-job_id"))


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
def add_member(*, company_id: UUID, email: str, role: Role, by: UUID | None = None) -> Membership:
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
    note_member(activity.MEMBER_ADDED, membership, by=by, about={"role": role})
    return membership


@transaction.atomic
def change_role(
    *, company_id: UUID, membership_id: int, role: Role | None, by: UUID | None = None
) -> Membership:
    """Change a member's role; None leaves them single jobs. Raises MemberNotFound, LastOwner."""
    member = lock_member(company_id, membership_id, stays_owner=role == Role.OWNER)
    before, member.role = member.role, role or ""
    member.save(update_fields=["role"])
    roles = {"role": str(role or ""), "before": str(before)}
    security.info("role.changed", extra=_log_ids(member) | roles)
    note_member(activity.ROLE_CHANGED, member, by=by, about=roles)
    return member


@transaction.atomic
def remove_member(*, company_id: UUID, membership_id: int, by: UUID | None = None) -> Membership:
    """Remove a member from a company's team. The account itself remains, and so do keys.

    Raises MemberNotFound, LastOwner.
    """
    member = lock_member(company_id, membership_id, stays_owner=False)
    Membership.objects.filter(id=member.id).delete()
    security.info("member.removed", extra=_log_ids(member))
    note_member(activity.MEMBER_REMOVED, member, by=by)
    return member


@transaction.atomic
def end_access(*, company_id: UUID, membership_id: int, by: UUID | None) -> None:
    """Remove a member whose identity provider gives no role any more, and all that they hold.

    They are signed out everywhere, and the keys that they made stop, with their portal tokens.
    Unlike after `remove_member`, the provider can bring them back. Raises MemberNotFound,
    LastOwner.
    """
    member = lock_member(company_id, membership_id, stays_owner=False)
    Membership.objects.filter(id=member.id).delete()
    for key in keys.read_made_by(company_id, member.user_id):
        keys.revoke(company_id=company_id, key_id=key.id, by=by)
    accounts.end_sessions(member.user_id)
    security.info("member.access_ended", extra=_log_ids(member) | {"by": str(by or "")})
    note_member(activity.ACCESS_ENDED, member, by=by)


@transaction.atomic
def give_job_role(
    *, company_id: UUID, job_id: UUID, email: str, role: JobRole, by: UUID | None = None
) -> tuple[Membership, bool]:
    """Give a person a role on one job, in place of an earlier one there.

    Someone who is not in the team joins it without a role for the whole company, with a staff
    account if the address is new. Returns the member, and whether they have just joined. Raises
    TooManyOnJob, and ValidationError for a bad address.
    """
    user = accounts.find_or_create(email, None)
    member, is_new = Membership.objects.get_or_create(company_id=company_id, user=user)
    if is_new:
        security.info("member.added", extra=_log_ids(member) | {"role": ""})
    put_on_job(member, job_id, role)
    note_member(activity.JOB_ROLE_GIVEN, member, by=by, job_id=job_id, about={"role": role})
    return member, is_new


def put_on_job(member: Membership, job_id: UUID, role: JobRole) -> None:
    """Give a member a role on a job of their company, within the caller's transaction.

    Raises TooManyOnJob.
    """
    Membership.objects.select_for_update(of=("self",)).get(id=member.id)
    on_job = JobMember.objects.filter(job_id=job_id)
    own = JobMember.objects.filter(membership=member)
    is_full = on_job.count() >= MOST_OF_JOB or own.count() >= MOST_JOBS
    if is_full and not own.filter(job_id=job_id).exists():
        raise TooManyOnJob
    own.update_or_create(job_id=job_id, membership=member, defaults={"role": role})
    about = {"job": str(job_id), "role": str(role)}
    security.info("job_role.given", extra=_log_ids(member) | about)


@transaction.atomic
def take_job_role(
    *, company_id: UUID, job_id: UUID, membership_id: int, by: UUID | None = None
) -> Membership:
    """Take a member's role on a job away; it may be gone. Raises MemberNotFound."""
    member = read_member(company_id, membership_id)
    if JobMember.objects.filter(membership=member, job_id=job_id).delete()[0]:
        security.info("job_role.taken", extra=_log_ids(member) | {"job": str(job_id)})
        note_member(activity.JOB_ROLE_TAKEN, member, by=by, job_id=job_id)
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


def note_member(
    kind: activity.Kind,
    member: Membership,
    *,
    by: UUID | None,
    job_id: UUID | None = None,
    about: Mapping[str, object] | None = None,
) -> None:
    """Note for the owners what happened to a member."""
    activity.note(
        kind,
        company_id=member.company_id,
        by=by,
        job_id=job_id,
        whom=member.user_id,
        about=about,
    )


def _log_ids(member: Membership) -> dict[str, str]:
    return {"company": str(member.company_id), "member": str(member.user_id)}


def locked_companies(user_id: UUID) -> list[str]:
    """Return the names of companies that an account cannot act for without a second step."""
    theirs = Membership.objects.filter(user_id=user_id).exclude(id__in=open_memberships())
    return sorted(theirs.values_list("company__name", flat=True), key=folded_name)
