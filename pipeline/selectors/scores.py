"""Reads of scorecards: who may see which marks, and their summary."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from statistics import fmean
from typing import Any
from uuid import UUID

from applicants.texts import folded_name
from pipeline.domain.states import Status
from pipeline.models import Application, ApplicationRow, Criterion, Score

MARKS = range(Score.LEAST, Score.MOST + 1)


@dataclass(frozen=True, slots=True)
class GivenScore:
    """A reviewer's mark by a criterion."""

    criterion: Criterion
    mark: int
    text: str


@dataclass(frozen=True, slots=True)
class Scorecard:
    """All marks of one reviewer for an application. Without a name, the account is deleted."""

    reviewer_id: UUID | None
    name: str
    given_at: datetime
    scores: list[GivenScore]


@dataclass(frozen=True, slots=True)
class CriterionSummary:
    """Average of the marks by a criterion, and how often each was given, from 1 to 4."""

    criterion: Criterion
    average: float
    counts: list[int]

    @property
    def bar(self) -> int:
        """Return the width of the average's bar: 84 pixels are the highest mark."""
        return round(self.average * 84 / Score.MOST)


@dataclass(frozen=True, slots=True)
class Scorecards:
    """Scorecards of an application, as one reader may see them.

    `cards` and `summary` are empty while they are hidden: until the reader has given their own
    marks, or the review is over. `reviewers` counts everyone who gave some.
    """

    criteria: list[Criterion]
    reviewers: int
    is_hidden: bool
    own: Scorecard | None = None
    cards: list[Scorecard] = field(default_factory=list)
    summary: list[CriterionSummary] = field(default_factory=list)

    @property
    def stamp(self) -> str:
        """Return a text that changes whenever the reader would see something else."""
        shown = [(str(card.reviewer_id), card.given_at) for card in self.cards]
        ids = [row.id for row in self.criteria]
        return f"{ids}{self.reviewers}{self.own and self.own.given_at}{shown}"


def read_criteria(job_id: UUID) -> list[Criterion]:
    """Return the criteria of a job in their order, in one query."""
    return list(Criterion.objects.filter(job_id=job_id, retired_at=None).order_by("number", "id"))


def read_scorecards(
    application: Application | ApplicationRow, reader_id: UUID | None
) -> Scorecards:
    """Return an application's scorecards for a member, or for a program if None, in two queries."""
    ids, criteria = application.id, read_criteria(application.job_id)
    cards = _read_cards(ids)
    own = next((card for card in cards if reader_id and card.reviewer_id == reader_id), None)
    is_hidden = own is None and application.status != Status.INACTIVE
    if is_hidden:
        return Scorecards(criteria, len(cards), is_hidden=True)
    return Scorecards(criteria, len(cards), False, own, cards, _summarise(cards))


def _read_cards(application_id: UUID) -> list[Scorecard]:
    rows = Score.objects.filter(application_id=application_id)
    rows = rows.select_related("criterion", "reviewer")
    cards: dict[UUID | None, Scorecard] = {}
    for row in rows.order_by("criterion__number", "criterion_id", "id"):
        name = row.reviewer.shown_name if row.reviewer else ""
        card = cards.setdefault(row.reviewer_id, Scorecard(row.reviewer_id, name, row.given_at, []))
        card.scores.append(GivenScore(row.criterion, row.mark, row.text))
    return sorted(cards.values(), key=lambda card: folded_name(card.name))


def _summarise(cards: list[Scorecard]) -> list[CriterionSummary]:
    marks: dict[UUID, list[int]] = {}
    criteria: dict[UUID, Criterion] = {}
    for score in (score for card in cards for score in card.scores):
        criteria[score.criterion.id] = score.criterion
        marks.setdefault(score.criterion.id, []).append(score.mark)
    in_order = sorted(criteria.values(), key=lambda row: (row.number, row.id))
    counted = {id_: Counter(given) for id_, given in marks.items()}
    return [
        CriterionSummary(row, fmean(marks[row.id]), [counted[row.id][mark] for mark in MARKS])
        for row in in_order
    ]


def read_scores_for_people(application_ids: list[UUID]) -> dict[UUID, list[dict[str, Any]]]:
    """Return the marks for each application as its person may see them, in one query."""
    found: dict[UUID, list[dict[str, Any]]] = {}
    rows = Score.objects.filter(application_id__in=application_ids).select_related("criterion")
    for row in rows.order_by("given_at", "id"):
        about = {
            "criterion": row.criterion.label,
            "mark": row.mark,
            "of": Score.MOST,
            "text": row.text or None,
            "given_at": row.given_at,
        }
        found.setdefault(row.application_id, []).append(about)
    return found


def read_scored(application_ids: list[UUID], reviewer_id: UUID) -> set[UUID]:
    """Return those of the applications that a reviewer has scored, in one query."""
    theirs = Score.objects.filter(application_id__in=application_ids, reviewer_id=reviewer_id)
    return set(theirs.values_list("application_id", flat=True))
