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
from django.db.models import Count
from django.db.models.functions import Now

from jobs.models import Job
from pipeline.domain.errors import AssigneeNotFound
from pipeline.domain.permissions import Action
from pipeline.domain.states import Status
from pipeline.models import ApplicationAssignee, ReviewNotice, RotaMember
from pipeline.review.annotations import annotated_application
from pipeline.review.notices import note_once
from pipeline.selectors.members import members_allowed


@transaction.atomic
def set_members(*, job_id: UUID, company_id: UUID, user_ids: Collection[UUID]) -> None:
    """Let these members, who may decide there, review a job in turn. Raises AssigneeNotFound."""
    deciders = members_allowed(Action.DECIDE, company_id=company_id, job_id=job_id)
    if deciders.filter(user_id__in=user_ids).count() != len(set(user_ids)):
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
            chosen = _next_member(job, turns)
            if chosen is None:
                return None
            _, is_new = ApplicationAssignee.objects.get_or_create(
                application=application, defaults={"user_id": chosen, "job_id": job.id}
            )
            if not is_new:
                return None
            rota.filter(user_id=chosen).update(assigned_at=Now())
            return chosen


def _next_member(job: Job, turns: dict[UUID, datetime | None]) -> UUID | None:
    """Return whose turn it is; None if everyone is away, has left or may not decide any more."""
    team = members_allowed(Action.DECIDE, company_id=job.company_id, job_id=job.id)
    team = team.filter(user_id__in=turns, user__is_active=True)
    team = team.exclude(away_until__gte=datetime.now(UTC).date())
    present = list(team.order_by("id").values_list("user_id", flat=True))
    held = ApplicationAssignee.objects.filter(
        job__company_id=job.company_id, user_id__in=present, application__status=Status.ACTIVE
    )
    counted = held.values_list("user_id").annotate(n=Count("application_id"))
    reviews = dict(counted)
    never = datetime.min.replace(tzinfo=UTC)
    return min(present, key=lambda id_: (reviews.get(id_, 0), turns[id_] or never), default=None)
