"""Scorecards: the criteria of a job, and the marks that reviewers give by them.

Scores are for the people who decide. Nothing in the line reads them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from pipeline.domain.errors import CriteriaChanged, ReviewOver, TooManyCriteria
from pipeline.domain.states import Status
from pipeline.models import Criterion, DecisionItem, Score
from pipeline.review.annotations import annotated_application
from pipeline.review.decisions import OPEN

MOST_CRITERIA = 8


@dataclass(frozen=True, slots=True)
class CriterionWords:
    """Words of a criterion, and the id of the one that they were shown for, if any."""

    label: str
    help: str = ""
    id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """Mark from 1 to 4, and its reason."""

    value: int
    text: str = ""


@transaction.atomic
def set_criteria(*, job_id: UUID, wanted: Sequence[CriterionWords]) -> None:
    """Give a job these criteria, in this order. Scores that were given stay as they are.

    A criterion with other words is a new one. The one before is retired if it has scores, and
    deleted otherwise. Raises TooManyCriteria.
    """
    if len(wanted) > MOST_CRITERIA:
        raise TooManyCriteria(limit=MOST_CRITERIA)
    # While this holds, no score is given, and no one else changes them.
    held = Criterion.objects.select_for_update().filter(job_id=job_id, retired_at=None)
    known = {row.id: row for row in held.order_by("id")}
    for number, words in enumerate(wanted, 1):
        row = known.get(words.id) if words.id else None
        if row and (row.label, row.help) == (words.label, words.help):
            del known[row.id]
            Criterion.objects.filter(id=row.id).update(number=number)
        else:
            Criterion.objects.create(
                job_id=job_id, number=number, label=words.label, help=words.help
            )
    _retire(known)


def _retire(criterion_ids: Collection[UUID]) -> None:
    given = Score.objects.filter(criterion_id=OuterRef("id"))
    rows = Criterion.objects.filter(id__in=criterion_ids)
    rows.filter(Exists(given)).update(retired_at=Now())
    rows.filter(~Exists(given)).delete()


def give(*, application_id: UUID, reviewer_id: UUID, marks: Mapping[UUID, Mark]) -> None:
    """Give or change a reviewer's marks for a person in review, one by each criterion of the job.

    Raises ReviewOver unless the person has a seat and no decision is made, CriteriaChanged if the
    marks are by other criteria than the job's, ApplicationNotFound.
    """
    with annotated_application(application_id) as application:
        decided = DecisionItem.objects.filter(application_id=application_id, state__in=OPEN)
        if application.status != Status.ACTIVE or decided.exists():
            raise ReviewOver
        # The lock keeps the criteria as they are until the scores are written.
        held = Criterion.objects.select_for_update(no_key=True)
        own = held.filter(job_id=application.job_id, retired_at=None).order_by("id")
        if not marks or {row.id for row in own} != marks.keys():
            raise CriteriaChanged
        Score.objects.bulk_create(
            [
                Score(
                    application=application,
                    criterion_id=criterion_id,
                    reviewer_id=reviewer_id,
                    mark=mark.value,
                    text=mark.text,
                )
                for criterion_id, mark in sorted(marks.items())
            ],
            update_conflicts=True,
            unique_fields=["application", "criterion", "reviewer"],
            update_fields=["mark", "text", "given_at"],
        )
