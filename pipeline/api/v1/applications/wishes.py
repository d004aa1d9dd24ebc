"""Endpoints for people's wishes about their turn."""

from __future__ import annotations

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.auth import caller_of, own_application
from pipeline.api.endpoint import Endpoint, read_body
from pipeline.api.openapi.schemas import describes_move
from pipeline.api.v1.applications.shapes import ApplicationOut, answer_changed
from pipeline.api.v1.fields import Flag, Moment, Shape
from pipeline.domain.permissions import Action
from pipeline.domain.states import Move
from pipeline.services.turns import defer, pass_next, pass_offer, preaccept


class DeferralIn(Shape):
    """A person asks not to be offered a seat until a time; null cancels this."""

    not_before = Moment(allow_null=True)


class PreacceptanceIn(Shape):
    """A person accepts a seat that is offered before a time; null cancels this."""

    accept_until = Moment(allow_null=True)


class PassNextIn(Shape):
    """A person passes their next turn; false cancels this."""

    pass_next = Flag()


class Defer(Endpoint):
    """`/applications/{id}/defer`"""

    @describes_move(
        "defer",
        Move.DEFER,
        ApplicationOut,
        takes=(DeferralIn,),
        about="The person keeps their place in line. Until `not_before`, at most 60 days ahead,"
        " seats go to the people behind them; that does not count as a miss. With null, they can"
        " be offered a seat at once. Only a verified person on the waitlist without an open offer"
        " can do this.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Ask not to be offered a seat until a time, or cancel that. Repeating it is harmless."""
        caller, facts = own_application(caller_of(request), application_id, Action.DEFER)
        not_before = read_body(request, DeferralIn)["not_before"]
        return answer_changed(
            facts,
            defer(application_id=application_id, not_before=not_before, actor=caller.actor),
        )


class Preaccept(Endpoint):
    """`/applications/{id}/preaccept`"""

    @describes_move(
        "preaccept",
        Move.PREACCEPT,
        ApplicationOut,
        takes=(PreacceptanceIn,),
        about="A seat that goes to the person before `accept_until`, at most 14 days ahead, is"
        " confirmed at once, without an offer. The place in line stays the same. With null, they"
        " are asked again. Only a verified person on the waitlist can do this.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Accept a seat in advance, or cancel that. It can be repeated while the person waits."""
        caller, facts = own_application(caller_of(request), application_id, Action.PREACCEPT)
        until = read_body(request, PreacceptanceIn)["accept_until"]
        return answer_changed(
            facts,
            preaccept(application_id=application_id, accept_until=until, actor=caller.actor),
        )


class PassOffer(Endpoint):
    """`/applications/{id}/pass`"""

    @describes_move(
        "pass_offer",
        Move.PASS,
        ApplicationOut,
        about="The person keeps the place that they had before the offer, and it does not count"
        " as a miss. The seat goes to the next in line, and for `cooldown_seconds` no other seat"
        " is offered to the person. The policy says how often (`max_passes`); passes still"
        " count if the person applies again.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Pass an offered seat. Repeating it before the next offer is harmless."""
        caller, facts = own_application(caller_of(request), application_id, Action.PASS_TURN)
        passed = pass_offer(application_id=application_id, actor=caller.actor)
        return answer_changed(facts, passed)


class PassNext(Endpoint):
    """`/applications/{id}/pass-next`"""

    @describes_move(
        "pass_next",
        Move.ASK_PASS,
        ApplicationOut,
        takes=(PassNextIn,),
        about="When the person's turn comes, it is passed: the seat goes to the next in line,"
        " and the rest is as with `/pass`. This cancels a yes in advance, and a later yes in"
        " advance cancels this. With false, the person takes the turn. Only a verified person on"
        " the waitlist can do this.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Pass the next turn when it comes, or cancel that. Repeating it is harmless."""
        caller, facts = own_application(caller_of(request), application_id, Action.PASS_TURN)
        wanted = read_body(request, PassNextIn)["pass_next"]
        answer = pass_next(application_id=application_id, wanted=wanted, actor=caller.actor)
        return answer_changed(facts, answer)
