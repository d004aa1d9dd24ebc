"""Endpoints for a company's decisions on applications."""

from __future__ import annotations

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.access import received_application
from pipeline.api.callers import caller_of
from pipeline.api.endpoint import Endpoint, endpoint_body
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.problem_types import (
    CLOCK_MOVING,
    DUPLICATE_SUBMISSION,
    INVALID_TRANSITION,
    NOT_REINSTATABLE,
    SANDBOX_FULL,
)
from pipeline.api.v1.applications.inputs import DecisionIn, ReinstatementIn
from pipeline.api.v1.applications.outputs import ApplicationOut, application_answer
from pipeline.domain.permissions import Action
from pipeline.domain.states import Outcome, ReinstatementReason
from pipeline.services.reinstate import reinstate
from pipeline.services.remove import remove


class RemovalDecision(Endpoint):
    """`/applications/{id}/remove`"""

    @describes(
        "remove_application",
        Tag.APPLICATIONS,
        Action.DECIDE,
        ApplicationOut,
        takes=(DecisionIn,),
        refuses=(INVALID_TRANSITION, CLOCK_MOVING),
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """End an application as REMOVED, REJECTED or HIRED."""
        caller, facts = received_application(caller_of(request), application_id, Action.DECIDE)
        given = endpoint_body(request, DecisionIn)
        application = remove(
            application_id=application_id,
            outcome=Outcome(given["outcome"]),
            actor=caller.actor,
            reason=given["reason"],
            note=given["note"],
            request_id=idempotent_row_id(request),
        )
        return application_answer(facts, application, private=True)


class ReinstatementDecision(Endpoint):
    """`/applications/{id}/reinstate`"""

    @describes(
        "reinstate_application",
        Tag.APPLICATIONS,
        Action.REINSTATE,
        ApplicationOut,
        takes=(ReinstatementIn,),
        refuses=(
            INVALID_TRANSITION,
            NOT_REINSTATABLE,
            DUPLICATE_SUBMISSION,
            CLOCK_MOVING,
            SANDBOX_FULL,
        ),
        about="The person returns to the place before the last miss, which no longer counts,"
        " without a cool-down, and is offered a seat by the ordinary rule: at once if one is"
        " free."
        " Nobody loses a seat. Possible after a miss, until the person is offered a seat again or"
        " the application ends in another way, and while the job is not closed. While the"
        " application is live, a repetition before another miss gets 200 and changes nothing:"
        " it never undoes an earlier miss. `DUPLICATE_SUBMISSION`: the person has another live"
        " application to the job; `NOT_REINSTATABLE`: a later one that has ended.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Give a person back the place they had before their last missed deadline."""
        caller, facts = received_application(caller_of(request), application_id, Action.REINSTATE)
        given = endpoint_body(request, ReinstatementIn)
        application = reinstate(
            application_id=application_id,
            reason=ReinstatementReason(given["reason"]),
            actor=caller.actor,
            note=given.get("note") or "",
            request_id=idempotent_row_id(request),
        )
        return application_answer(facts, application, private=True)
