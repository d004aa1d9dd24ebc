"""Rota of a job: its members review in turn the people who take seats.

The member with the fewest open reviews in the company is next, then the one whose last turn is
longest ago. So the work stays even however long each review takes, which a fixed turn would not
achieve, and someone who comes back from a holiday is not flooded.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Count, F, QuerySet
from django.db.models.functions import Now

from jobs.models import Job, Membership, Role
from pipeline.domain.errors import AssigneeNotFound
from pipeline.domain.permissions import RULES, Action
from pipeline.domain.states import Status
from pipeline.models import ApplicationAssignee, ReviewNotice, RotaMember
from pipeline.review.annotations import annotated_application
from pipeline.review.notices import note_once

# Roles whose members may decide on the people whom they review.
_DECIDE = [role for role in Role if RULES[Action.DECIDE].allows_member(role)]


def _deciders(company_id: UUID) -> QuerySet[Membership]:
    return Membership.objects.filter(company_id=company_id, role__in=_DECIDE)


def read_possible_members(company_id: UUID) -> list[tuple[UUID, str]]:
    """Return the ids and addresses of the members who may decide, in one query."""
    team = _deciders(company_id).annotate(email=F("user__email")).order_by("email")
    return list(team.values_list("user_id", "email"))


@transaction.atomic
def set_members(*, job_id: UUID, company_id: UUID, user_ids: Collection[UUID]) -> None:
    """Let these members of the company review a job in turn. Raises AssigneeNotFound."""
    if _deciders(company_id).filter(user_id__in=user_ids).count() != len(set(user_ids)):
        raise AssigneeNotFound
    rota = RotaMember.objects.filter(job_id=job_id)
    rota.exclude(user_id__in=user_ids).delete()
    rows = [RotaMember(job_id=job_id, user_id=each) for each in sorted(set(user_ids))]
    RotaMember.objects.bulk_create(rows, ignore_conflicts=True)


def assign_in_turn(job: Job, application_id: UUID, since: datetime) -> UUID | None:
    """Assign a person who took a seat at `since` to the next member of the job's rota, if any.

    Once for each seat: calling it again changes nothing. Someone who is assigned already stays
    assigned. Returns the member's account if one was assigned now. Raises ApplicationNotFound.
    """
    with transaction.atomic():
        # One at a time for each job: two who are seated at once go to two members.
        rota = RotaMember.objects.select_for_update().filter(job_id=job.id)
        turns = {row.user_id: row.assigned_at for row in rota.order_by("id")}
        if not turns:
            return None
        with annotated_application(application_id) as application:
            is_there = application.status == Status.ACTIVE and application.status_since == since
            if not is_there or not note_once([(application_id, since)], ReviewNotice.Kind.ROTA):
                return None
            chosen = _next_member(job.company_id, turns)
            if chosen is None:
                return None
            _, is_new = ApplicationAssignee.objects.get_or_create(
                application=application, defaults={"user_id": chosen, "job_id": job.id}
            )
            if not is_new:
                return None
            rota.filter(user_id=chosen).update(assigned_at=Now())
            return chosen


def _next_member(company_id: UUID, turns: dict[UUID, datetime | None]) -> UUID | None:
    """Return whose turn it is; None if everyone is away, has left or may not decide any more."""
    team = _deciders(company_id).filter(user_id__in=turns, user__is_active=True)
    team = team.exclude(away_until__gte=datetime.now(UTC).date())
    present = list(team.order_by("id").values_list("user_id", flat=True))
    held = ApplicationAssignee.objects.filter(
        job__company_id=company_id, user_id__in=present, application__status=Status.ACTIVE
    )
    counted = held.values_list("user_id").annotate(n=Count("application_id"))
    reviews = dict(counted)
    never = datetime.min.replace(tzinfo=UTC)
    return min(present, key=lambda id_: (reviews.get(id_, 0), turns[id_] or never), default=None)
