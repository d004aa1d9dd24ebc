"""Endpoint for the scorecards of an application."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypedDict
from uuid import UUID

from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.auth import CompanyCaller, caller_of, received_application
from pipeline.api.endpoint import Endpoint, answer_read, read_body
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.parameters import parse_id
from pipeline.api.problem_types import CRITERIA_CHANGED, INVALID_TRANSITION
from pipeline.api.rendering import NumberJSONRenderer
from pipeline.api.v1.fields import Letter, Line, Shape, Whole
from pipeline.api.v1.outputs import Count
from pipeline.domain.permissions import Action
from pipeline.models import SCORE_TEXT_LENGTH, Score
from pipeline.review.scores import MOST_CRITERIA, Mark, give
from pipeline.selectors.applications import read_application
from pipeline.selectors.scores import Scorecard, Scorecards, read_scorecards


class ScoreIn(Shape):
    """A mark by one criterion, and the reason for it."""

    criterion_id = Line(max_length=36)
    score = Whole(min_value=Score.LEAST, max_value=Score.MOST)
    text = Letter(max_length=SCORE_TEXT_LENGTH, allow_blank=True, allow_null=True, required=False)


class ScorecardIn(Shape):
    """The caller's own marks: one by each criterion of the job."""

    scores = serializers.ListField(child=ScoreIn(), min_length=1, max_length=MOST_CRITERIA)

    def validate(self, attrs: dict[str, list[dict[str, object]]]) -> dict[str, dict[UUID, Mark]]:
        """Return the marks by criterion. Refuses ids that are none, and two marks by one."""
        marks: dict[UUID, Mark] = {}
        for each in attrs["scores"]:
            criterion_id = parse_id(str(each["criterion_id"]))
            if criterion_id is None or criterion_id in marks:
                why = _("Must name each criterion of the job once, by its id.")
                raise ValidationError({"scores": [ErrorDetail(why, "invalid")]})
            marks[criterion_id] = Mark(int(str(each["score"])), str(each.get("text") or ""))
        return {"marks": marks}


class CriterionOut(TypedDict):
    """A criterion by which the job's reviewers give marks."""

    id: UUID
    label: str
    help: str


class ScoreOut(TypedDict):
    """A mark from 1 to 4 by a criterion, in the words that it had then."""

    criterion_id: UUID
    label: str
    score: Annotated[int, ("minimum", Score.LEAST), ("maximum", Score.MOST)]
    text: str | None


class ScorecardOut(TypedDict):
    """The marks of one reviewer. `reviewer_id` is null once the account is deleted."""

    reviewer_id: UUID | None
    given_at: datetime
    scores: list[ScoreOut]


class ScoreSummaryOut(TypedDict):
    """The marks by a criterion: their average, and how often 1, 2, 3 and 4 were given."""

    criterion_id: UUID
    label: str
    average: float
    counts: list[Count]


class ScorecardsOut(TypedDict):
    """The scorecards of an application, as the caller may see them."""

    criteria: list[CriterionOut]
    reviewers_count: Count
    is_hidden: bool
    scorecards: list[ScorecardOut]
    summary: list[ScoreSummaryOut]


class ScoresOfApplication(Endpoint):
    """`/applications/{id}/scores`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "get_scores",
        Tag.APPLICATIONS,
        Action.READ_APPLICATION,
        ScorecardsOut,
        tagged=True,
        about="Until the application has ended, a member sees the marks only after giving their"
        " own, and a key sees none (`is_hidden`). Applicants never see them here, but find them in"
        " the data that they can download.",
    )
    def get(self, request: Request, application_id: UUID) -> Response:
        """Return the marks that reviewers gave, and the criteria of the job."""
        caller, _facts = received_application(
            caller_of(request), application_id, Action.READ_APPLICATION
        )
        return answer_read(request, _read(caller, application_id))

    @describes(
        "give_scores",
        Tag.APPLICATIONS,
        Action.SCORE,
        ScorecardsOut,
        takes=(ScorecardIn,),
        refuses=(CRITERIA_CHANGED, INVALID_TRANSITION),
        about="For members who are signed in: a score is one person's. It replaces the marks that"
        " they gave before. Possible while the person has a seat and no decision is made.",
    )
    def put(self, request: Request, application_id: UUID) -> Response:
        """Give or replace the caller's own marks."""
        caller, _facts = received_application(caller_of(request), application_id, Action.SCORE)
        give(
            application_id=application_id,
            reviewer_id=caller.actor_id,
            **read_body(request, ScorecardIn),
        )
        return Response(_read(caller, application_id))


def _read(caller: CompanyCaller, application_id: UUID) -> ScorecardsOut:
    row = read_application(application_id).application
    return scorecards_out(read_scorecards(row, None if caller.is_key else caller.actor_id))


def scorecards_out(shown: Scorecards) -> ScorecardsOut:
    """Return scorecards as one caller may see them."""
    return {
        "criteria": [
            {"id": row.id, "label": row.label, "help": row.help} for row in shown.criteria
        ],
        "reviewers_count": shown.reviewers,
        "is_hidden": shown.is_hidden,
        "scorecards": [_scorecard_out(card) for card in shown.cards],
        "summary": [
            {
                "criterion_id": each.criterion.id,
                "label": each.criterion.label,
                "average": round(each.average, 2),
                "counts": each.counts,
            }
            for each in shown.summary
        ],
    }


def _scorecard_out(card: Scorecard) -> ScorecardOut:
    return {
        "reviewer_id": card.reviewer_id,
        "given_at": card.given_at,
        "scores": [
            {
                "criterion_id": each.criterion.id,
                "label": each.criterion.label,
                "score": each.mark,
                "text": each.text or None,
            }
            for each in card.scores
        ],
    }
