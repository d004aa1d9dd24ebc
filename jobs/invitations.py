"""Invitations by link: made by an owner, shown once, stored as a hash, accepted after signing in.

A link gives one role, in the whole company or on a job. It ends at a time, after a number of uses,
when it is withdrawn, and when whoever made it is no longer an owner: nobody gives what they lack.
"""

from __future__ import annotations

import logging
import secrets
from datetime import timedelta
from hashlib import sha256
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from jobs import activity, team
from jobs.errors import InvitationNotFound, TooManyInvitations
from jobs.models import Invitation, JobMember, JobRole, Membership, Role

security = logging.getLogger("security")

PREFIX = "nili_"
MOST_DAYS, MOST_USES = 30, Invitation.MOST_USES
MOST_OPEN = 50  # of one company


def digest(secret: str) -> bytes:
    """Return the hash of a link's secret. Only the hash is stored."""
    return sha256(secret.encode()).digest()


@transaction.atomic
def create(
    *,
    company_id: UUID,
    by: UUID,
    role: Role | None = None,
    job_id: UUID | None = None,
    job_role: JobRole | None = None,
    days: int,
    uses: int,
) -> tuple[Invitation, str]:
    """Make an invitation to a role in the company, or to one on a job; return its secret, too.

    The caller has checked that `by` is an owner, and that the job is the company's. Raises
    TooManyInvitations, and ValueError if days or uses are out of range.
    """
    if not (1 <= days <= MOST_DAYS and 1 <= uses <= MOST_USES):
        raise ValueError(f"from 1 to {MOST_DAYS} days and {MOST_USES} uses")
    if read_open(company_id).count() >= MOST_OPEN:
        raise TooManyInvitations
    secret = PREFIX + secrets.token_urlsafe(32)
    row = Invitation.objects.create(
        company_id=company_id,
        digest=digest(secret),
        role=role or "",
        job_id=job_id,
        job_role=job_role or "",
        made_by_id=by,
        ends_at=timezone.now() + timedelta(days=days),
        most_uses=uses,
    )
    security.info("invitation.made", extra=_log_ids(row))
    activity.note(
        activity.LINK_MADE,
        company_id=company_id,
        by=by,
        job_id=job_id,
        about={"role": row.role or row.job_role},
    )
    return row, secret


def read_open(company_id: UUID) -> QuerySet[Invitation]:
    """Return a company's links that still work, newest first."""
    rows = _open().filter(company_id=company_id).select_related("made_by", "job__posting")
    return rows.order_by("-id")


def find(secret: str) -> Invitation:
    """Return the invitation of a link that still works. Raises InvitationNotFound."""
    row = _open().filter(digest=digest(secret)).select_related("company", "made_by").first()
    if row is None:
        raise InvitationNotFound
    return row


def _open() -> QuerySet[Invitation]:
    maker = Membership.objects.filter(
        company_id=OuterRef("company_id"), user_id=OuterRef("made_by_id"), role=Role.OWNER
    )
    return Invitation.objects.filter(
        Exists(maker), withdrawn_at=None, ends_at__gt=Now(), uses__lt=F("most_uses")
    )


@transaction.atomic
def withdraw(*, company_id: UUID, invitation_id: UUID, by: UUID) -> None:
    """End a link. Withdrawing twice is harmless. Raises InvitationNotFound."""
    theirs = Invitation.objects.filter(company_id=company_id, id=invitation_id)
    row = theirs.select_for_update(of=("self",)).first()
    if row is None:
        raise InvitationNotFound
    if row.withdrawn_at is None:
        theirs.update(withdrawn_at=Now())
        security.info("invitation.withdrawn", extra=_log_ids(row))
        activity.note(activity.LINK_WITHDRAWN, company_id=company_id, by=by)


@transaction.atomic
def accept(*, secret: str, user_id: UUID) -> Membership:
    """Join a team by a link. Someone who has the role, or a higher one, uses nothing up.

    Of two who come for the last use, one is refused. Raises InvitationNotFound, TooManyOnJob.
    """
    row = find(secret)
    Invitation.objects.select_for_update(of=("self",)).get(id=row.id)
    row = find(secret)  # as it is under the lock
    member, _is_new = Membership.objects.get_or_create(company_id=row.company_id, user_id=user_id)
    if not _raise_role(member, row):
        return member
    Invitation.objects.filter(id=row.id).update(uses=F("uses") + 1)
    security.info("invitation.used", extra=_log_ids(row) | {"member": str(user_id)})
    activity.note(
        activity.LINK_USED,
        company_id=row.company_id,
        by=user_id,
        job_id=row.job_id,
        about={"role": row.role or row.job_role},
    )
    return member


def _raise_role(member: Membership, row: Invitation) -> bool:
    """Give the link's role, unless the member has as much already; return whether it was given."""
    if row.job_id is None:
        ranks = ["", *Role]
        if ranks.index(member.role) >= ranks.index(row.role):
            return False
        Membership.objects.filter(id=member.id).update(role=row.role)
        return True
    job_ranks = list(JobRole)
    on_job = JobMember.objects.filter(membership=member, job_id=row.job_id).first()
    if on_job and job_ranks.index(JobRole(on_job.role)) >= job_ranks.index(JobRole(row.job_role)):
        return False
    team.put_on_job(member, row.job_id, JobRole(row.job_role))
    return True


def _log_ids(row: Invitation) -> dict[str, str]:
    return {"company": str(row.company_id), "invitation": str(row.id)}
