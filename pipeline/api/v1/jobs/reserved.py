"""Endpoints of a job's reserved seats, and of who says that they belong to their group."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, TypedDict
from uuid import UUID

from django.utils.translation import gettext as _
from rest_framework.exceptions import Throttled, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import MAX_CAPACITY, RESERVED_CODE_LENGTH, RESERVED_SENTENCE_LENGTH
from pipeline.api.auth import (
    caller_of,
    own_application,
    own_job,
    received_application,
    visible_application,
)
from pipeline.api.endpoint import Endpoint, answer_read, read_body
from pipeline.api.openapi.schemas import Tag, describes, describes_move
from pipeline.api.problem_types import INVALID_TRANSITION, RESERVE_REFUSED
from pipeline.api.v1.fields import Choice, Flag, Line, Moment, Name, Shape, Whole
from pipeline.api.v1.jobs.shapes import JobOut, job_out
from pipeline.domain.permissions import Action
from pipeline.domain.states import ClaimState, GroupKind, Move
from pipeline.models import GroupClaim
from pipeline.selectors.jobs import read_job
from pipeline.services.reserved import (
    Reserve,
    count_code,
    decide_claim,
    reserve_seats,
    state_claim,
)


class ReserveIn(Shape):
    """Seats reserved for a group; 0 reserves none any more, and the rest is then left out."""

    seats = Whole(min_value=0, max_value=MAX_CAPACITY)
    kind = Choice(choices=[each.value for each in GroupKind], required=False)
    reason = Name(max_length=RESERVED_SENTENCE_LENGTH, required=False, allow_blank=True)
    code = Line(max_length=RESERVED_CODE_LENGTH, required=False, allow_blank=True)
    until = Moment(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require the group, and the company's own words for a group of its own."""
        if attrs["seats"] and "kind" not in attrs:
            raise ValidationError({"kind": _("Say which group the seats are for.")})
        if attrs["seats"] and attrs["kind"] == GroupKind.OWN and not attrs.get("reason"):
            raise ValidationError({"reason": _("Say whom the seats are reserved for, and why.")})
        return attrs


class ReservedSeats(Endpoint):
    """`/jobs/{id}/reserved-seats`"""

    @describes(
        "reserve_seats",
        Tag.JOBS,
        Action.CHANGE_RULES,
        JobOut,
        takes=(ReserveIn,),
        refuses=(RESERVE_REFUSED, INVALID_TRANSITION),
        about="Only confirmed people of the group can take these seats, in the order of the line."
        " While none of them waits, the seats stay free, or fall to the line at `until`. Nobody"
        " loses a seat. Everyone sees how many seats are reserved, for whom, `reason` and `until`;"
        " only the company's members see `code`. Whoever enters it is confirmed at once. Repeating"
        " it is harmless.",
    )
    def put(self, request: Request, job_id: UUID) -> Response:
        """Reserve seats of a job for a group, or none any more."""
        caller, _facts = own_job(caller_of(request), job_id, Action.CHANGE_RULES)
        given = read_body(request, ReserveIn)
        reserve = Reserve(
            seats=given["seats"],
            kind=GroupKind(given["kind"]) if "kind" in given else None,
            sentence=given.get("reason", ""),
            code=given.get("code", ""),
            until=given.get("until"),
        )
        reserve_seats(job_id=job_id, reserve=reserve, actor=caller.actor)
        return Response(job_out(read_job(job_id)))


class GroupClaimIn(Shape):
    """A person says that they belong to the group, and enters its code if they have it."""

    code = Line(max_length=RESERVED_CODE_LENGTH, required=False, allow_blank=True)


class GroupDecisionIn(Shape):
    """A company confirms, or declines, that a person belongs to the group."""

    confirm = Flag()


class GroupClaimOut(TypedDict):
    """A person's statement that they belong to the group of the reserved seats; null if none."""

    application_id: UUID
    state: Annotated[str, ClaimState] | None
    stated_at: datetime | None
    decided_at: datetime | None


def claim_out(application_id: UUID, claim: GroupClaim | None) -> GroupClaimOut:
    """Return a statement as its person and the company see it."""
    return {
        "application_id": application_id,
        "state": claim.state if claim else None,
        "stated_at": claim.stated_at if claim else None,
        "decided_at": claim.decided_at if claim else None,
    }


class GroupClaims(Endpoint):
    """`/applications/{id}/group-claim`"""

    @describes(
        "get_group_claim",
        Tag.APPLICATIONS,
        Action.READ_APPLICATION,
        GroupClaimOut,
        tagged=True,
    )
    def get(self, request: Request, application_id: UUID) -> Response:
        """Return what the person has said about the group, and what was decided about that."""
        visible_application(caller_of(request), application_id)
        claim = GroupClaim.objects.filter(application_id=application_id).first()
        return answer_read(request, claim_out(application_id, claim))

    @describes(
        "state_group_claim",
        Tag.APPLICATIONS,
        Action.CHANGE_ANSWERS,
        GroupClaimOut,
        takes=(GroupClaimIn,),
        refuses=(RESERVE_REFUSED, INVALID_TRANSITION),
        about="Possible while the person waits. The right `code` confirms it at once; otherwise"
        " the company decides. A person can enter ten codes a day.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Say that one belongs to the group of the job's reserved seats. Repeating is harmless."""
        caller, facts = own_application(caller_of(request), application_id, Action.CHANGE_ANSWERS)
        code = read_body(request, GroupClaimIn).get("code", "")
        if code and not (tally := count_code(facts.job_id, facts.applicant_id)).allowed:
            raise Throttled(wait=tally.wait_seconds)
        claim = state_claim(application_id=application_id, code=code, actor=caller.actor)
        return Response(claim_out(application_id, claim))


class GroupDecision(Endpoint):
    """`/applications/{id}/group-claim/decide`"""

    @describes_move(
        "decide_group_claim",
        Move.NOTE_GROUP,
        GroupClaimOut,
        takes=(GroupDecisionIn,),
        about="The log holds a salted digest of the decision, and not what it was. A confirmed"
        " person is offered a free reserved seat at once.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Confirm, or decline, that a person belongs to the group. Repeating it is harmless."""
        caller, _facts = received_application(caller_of(request), application_id, Action.DECIDE)
        confirms = read_body(request, GroupDecisionIn)["confirm"]
        claim = decide_claim(application_id=application_id, confirms=confirms, actor=caller.actor)
        return Response(claim_out(application_id, claim))
