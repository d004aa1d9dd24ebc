"""Verbs of a person who waits: not yet, a yes in advance, a turn that is passed. Pure.

Declared like the others in `pipeline.domain.verbs`, which has all of them together.
"""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from pipeline.domain import errors
from pipeline.domain.events import COOLDOWN, EventWords, LoggedEvent, Told, Verb
from pipeline.domain.notes import CHANGED
from pipeline.domain.permissions import Action
from pipeline.domain.states import EventType, Move, Status

_WAIT, _PENDING = Status.WAITLIST, Status.PENDING_ACKNOWLEDGMENT
# What differs in some events: a wish that is not one any more.
TAKEN_BACK = "taken back"

OF_WISHES: dict[EventType, LoggedEvent] = {
    EventType.DEFERRED: LoggedEvent(
        words=EventWords(
            "wait",
            _("{name} chose when to be asked"),
            _("Chose when to be asked"),
            _("You chose when to be asked"),
        ),
        filtered=_("Chose a time"),
        webhook="A person asked for no offers until a time, or cancelled that request",
        wish="not_before",
        verbs=(
            Verb(
                Move.DEFER,
                {_WAIT: _WAIT},
                Action.DEFER,
                (errors.NotDeferrable, *CHANGED),
                of_verified=True,
            ),
        ),
        sentences={
            "not_before": Told(
                _(
                    "You asked not to be offered a seat until {not_before}. The place in "
                    "line stays the same. Seats that open earlier go to people behind."
                ),
                _(
                    "The applicant asked not to be offered a seat until {not_before}. The "
                    "place in line stays the same. Seats that open earlier go to people "
                    "behind."
                ),
            ),
            None: Told(
                _("You can be offered a seat at any time again."),
                _("The applicant can be offered a seat at any time again."),
            ),
        },
    ),
    EventType.PREACCEPTED: LoggedEvent(
        words=EventWords(
            "wait",
            _("{name} answered in advance"),
            _("Answered in advance"),
            _("You answered in advance"),
        ),
        webhook="A person accepted a seat in advance, or took that back",
        wish="accept_until",
        verbs=(
            Verb(
                Move.PREACCEPT,
                {_WAIT: _WAIT},
                Action.PREACCEPT,
                (errors.NotPreacceptable, *CHANGED),
                of_verified=True,
            ),
        ),
        sentences={
            "accept_until": Told(
                _(
                    "You said yes in advance. A seat that comes before {accept_until} is "
                    "confirmed at once. The place in line stays the same."
                ),
                _(
                    "The applicant said yes in advance. A seat that comes before "
                    "{accept_until} is confirmed at once. The place in line stays the same."
                ),
            ),
            None: Told(
                _("You took back your yes in advance. You will be asked to confirm a seat."),
                _(
                    "The applicant took back their yes in advance. The applicant will be "
                    "asked to confirm a seat."
                ),
            ),
        },
    ),
    EventType.PASS_ASKED: LoggedEvent(
        words=EventWords(
            "wait",
            _("{name} asked to pass a turn"),
            _("Asked to pass a turn"),
            _("You asked to pass a turn"),
        ),
        other_words={
            TAKEN_BACK: EventWords(
                "wait",
                _("{name} took back the wish to pass"),
                _("Took back the wish to pass"),
                _("You took back your wish to pass"),
            )
        },
        webhook="A person asked to pass their next turn, or took that back",
        wish="pass_next",
        verbs=(
            Verb(
                Move.ASK_PASS,
                {_WAIT: _WAIT},
                Action.PASS_TURN,
                (errors.NotPassable, *CHANGED),
                of_verified=True,
            ),
        ),
        sentences={
            "pass_next": Told(
                _(
                    "You asked to pass your next turn. That seat goes to the next in line, "
                    "and the place in line stays the same."
                ),
                _(
                    "The applicant asked to pass their next turn. That seat goes to the next "
                    "in line, and the place in line stays the same."
                ),
            ),
            None: Told(
                _("You took back your wish to pass the next turn. You will be offered that seat."),
                _(
                    "The applicant took back their wish to pass the next turn. The applicant "
                    "will be offered that seat."
                ),
            ),
        },
    ),
    EventType.PASSED: LoggedEvent(
        words=EventWords(
            "wait", _("{name} passed a turn"), _("Passed a turn"), _("You passed your turn")
        ),
        webhook="A person passed a turn and keeps their place",
        verbs=(
            Verb(
                Move.PASS,
                {_WAIT: _WAIT, _PENDING: _WAIT},
                Action.PASS_TURN,
                (errors.NotPassable, errors.AcknowledgmentExpired, *CHANGED),
                of_verified=True,
            ),
        ),
        sentences={
            None: Told(
                _(
                    "You passed your turn and did not take the seat. This does not count as "
                    "a miss, and the place in line stays the same."
                ),
                _(
                    "The applicant passed their turn and did not take the seat. This does "
                    "not count as a miss, and the place in line stays the same."
                ),
                then=(*COOLDOWN,),
            ),
        },
    ),
}
