"""Endpoints for what people who wait want of their turn."""

from __future__ import annotations

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.access import own_application
from pipeline.api.callers import caller_of
from pipeline.api.endpoint import Endpoint, endpoint_body
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.problem_types import (
    CLOCK_MOVING,
    INVALID_TRANSITION,
    NOT_DEFERRABLE,
    NOT_PREACCEPTABLE,
    SANDBOX_FULL,
)
from pipeline.api.v1.applications.inputs import DeferralIn, PreacceptanceIn
from pipeline.api.v1.applications.outputs import ApplicationOut, application_answer
from pipeline.domain.permissions import Action
from pipeline.services.defer import defer
from pipeline.services.preaccept import preaccept


class Defer(Endpoint):
    """`/applications/{id}/defer`"""

    @describes(
        "defer",
        Tag.APPLICATIONS,
        Action.DEFER,
        ApplicationOut,
        takes=(DeferralIn,),
        refuses=(INVALID_TRANSITION, NOT_DEFERRABLE, CLOCK_MOVING, SANDBOX_FULL),
        about="The person keeps the place in line. Until `not_before`, at most 60 days ahead, seats"
        " go to the people behind them; that is no miss. With null, they can be offered a seat at"
        " once. Only a verified person on the waitlist can do this, not with an offer open.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Ask for no seat before a time, or take that back. Repeating it is harmless."""
        caller, facts = own_application(caller_of(request), application_id, Action.DEFER)
        not_before = endpoint_body(request, DeferralIn)["not_before"]
        return application_answer(
            facts,
            defer(application_id=application_id, not_before=not_before, actor=caller.actor),
        )


class Preaccept(Endpoint):
    """`/applications/{id}/preaccept`"""

    @describes(
        "preaccept",
        Tag.APPLICATIONS,
        Action.PREACCEPT,
        ApplicationOut,
        takes=(PreacceptanceIn,),
        refuses=(INVALID_TRANSITION, NOT_PREACCEPTABLE, CLOCK_MOVING, SANDBOX_FULL),
        about="A seat that goes to the person before `accept_until`, at most 14 days ahead, is"
        " confirmed at once, without an offer. The place in line stays the same. With null, they"
        " are asked again. Only a verified person on the waitlist can do this.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Accept a seat in advance, or take that back. While they wait, it can be repeated."""
        caller, facts = own_application(caller_of(request), application_id, Action.PREACCEPT)
        until = endpoint_body(request, PreacceptanceIn)["accept_until"]
        return application_answer(
            facts,
            preaccept(application_id=application_id, accept_until=until, actor=caller.actor),
        )
