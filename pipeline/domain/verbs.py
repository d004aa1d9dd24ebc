"""Verbs of the line and events of its log: the one declaration of each. Pure.

A verb is declared here once: its moves from status to status, who may make it, what refuses it, the
event that it writes, the field of the place that it sets, and every word that people read about it.
Services, the API and its document, webhooks, pages and emails take these from here. The proof of a
log (`pipeline.audit`) takes the names and the table of moves, and no rule.
"""

from __future__ import annotations

from django.utils.translation import gettext_noop as _

from pipeline.domain import errors
from pipeline.domain.events import JOB_EVENTS, EventWords, LoggedEvent, Verb
from pipeline.domain.notes import CHANGED, OF_NOTES
from pipeline.domain.permissions import Action
from pipeline.domain.states import (
    ACCEPTED_UNTIL,
    DRAW_AT,
    PLANNED_SEATS,
    UNVERIFIED,
    VIA_KEY,
    ActorKind,
    EventType,
    Move,
    Outcome,
    Status,
)

_WAIT, _PENDING = Status.WAITLIST, Status.PENDING_ACKNOWLEDGMENT
_ACTIVE, _ENDED = Status.ACTIVE, Status.INACTIVE

# What differs in some events: a place given back although no deadline was missed, a wish that is
# not one any more.
AFTER_REMOVAL, TAKEN_BACK = "removal", "taken back"
_JOINING = (
    errors.AlreadyApplied,
    errors.AlreadyDecided,
    errors.ExternalIdTaken,
    errors.JobNotOpen,
    errors.DrawFull,
    errors.FormChanged,
    errors.RequirementNotMet,
    errors.ConsentsChanged,
    errors.ConsentMissing,
    errors.ClockMoving,
    errors.SandboxFull,
)
# What is said of every offer.
_DEADLINE = " It must be confirmed by {deadline}, or it goes to the next in line.{quiet}"

OF_APPLICATIONS: dict[EventType, LoggedEvent] = {
    EventType.APPLIED: LoggedEvent(
        words=EventWords("wait", "applied", "Applied", "Applied"),
        webhook="A person applied, or the company submitted them",
        verbs=(
            Verb(Move.SEAT, {None: _ACTIVE}, Action.APPLY, _JOINING),
            Verb(Move.OFFER, {None: _PENDING}, Action.APPLY, _JOINING),
            Verb(Move.QUEUE, {None: _WAIT}, Action.APPLY, _JOINING),
        ),
        sentences={
            UNVERIFIED: (
                "An application was made with {their} email address. It keeps its place in line, "
                "but gets no seat until the address is verified. Otherwise it ends at {verify_by}."
            ),
            Status.ACTIVE: "{applied}. A seat was free, so {they} got it at once.",
            Status.PENDING_ACKNOWLEDGMENT: (
                "{applied}. A seat was free, so {they} {were} offered it." + _DEADLINE
            ),
            DRAW_AT: (
                "{applied} before the draw. The order of the line is drawn by lot, and then the "
                "first in line are offered the seats."
            ),
            Status.WAITLIST: (
                "{applied} and joined the line. {They} will be offered a seat after everyone "
                "ahead has had a turn.{cooldown}"
            ),
        },
    ),
    EventType.VERIFIED: LoggedEvent(
        words=EventWords(
            "wait", "verified the email address", "Verified the address", "Email address verified"
        ),
        webhook="A person proved their address",
        verbs=(Verb(Move.VERIFY, {_WAIT: _WAIT}, Action.TAKE_OVER, (errors.IllegalMove,)),),
        sentences={
            None: (
                "{They} verified the email address and can now be offered a seat. {Their} place "
                "in line stays the same."
            )
        },
    ),
    EventType.PROMOTED: LoggedEvent(
        words=EventWords(
            "warn", "was promoted", "Promoted: a seat was offered", "A seat was offered"
        ),
        filtered="Promoted",
        webhook="A person was offered a seat",
        verbs=(Verb(Move.PROMOTE, {_WAIT: _PENDING}),),
        sentences={
            None: (
                "A seat opened and it was {their} turn, so it was offered to {they}." + _DEADLINE
            ),
            EventType.PASSED: (
                "The person ahead passed their turn, so the seat was offered to {they}." + _DEADLINE
            ),
            EventType.VERIFIED: "A seat was free, so it was offered to {they}." + _DEADLINE,
            PLANNED_SEATS: (
                "A planned seat opened and it was {their} turn, so it was offered to {they}."
                + _DEADLINE
            ),
            ACCEPTED_UNTIL: (
                "A seat was free and it was {their} turn. {They} had accepted it in advance."
            ),
        },
    ),
    EventType.ACKNOWLEDGED: LoggedEvent(
        words=EventWords("good", "confirmed the seat", "Confirmed the seat", "Seat confirmed"),
        filtered="Confirmed",
        webhook="A person confirmed the seat",
        verbs=(
            Verb(
                Move.ACKNOWLEDGE,
                {_PENDING: _ACTIVE},
                Action.CONFIRM_SEAT,
                (errors.AcknowledgmentExpired, *CHANGED),
            ),
        ),
        sentences={
            ACCEPTED_UNTIL: (
                "{They} had said yes in advance until {accepted_until}. So the seat was confirmed "
                "at once. It is {their} seat until the company decides."
            ),
            None: (
                "{They} confirmed the seat in time. It is {their} seat until the company decides."
            ),
            VIA_KEY: (
                "{They} confirmed the seat in time, on the company’s own site. It is {their} seat "
                "until the company decides."
            ),
        },
    ),
    EventType.DEADLINE_EXTENDED: LoggedEvent(
        words=EventWords("warn", "was given more time", "Got more time", "More time"),
        filtered="Deadline extended",
        webhook="A person got more time to confirm",
        verbs=(
            Verb(  # the system makes it, too: once an offer, to give time back
                Move.EXTEND,
                {_PENDING: _PENDING},
                Action.DECIDE,
                (errors.NotExtendable, errors.AcknowledgmentExpired, *CHANGED),
            ),
        ),
        sentences={
            ActorKind.COMPANY: (
                "The company gave {they} more time: the seat can be confirmed until {deadline}."
            ),
            None: (
                "{They} lost time to confirm the seat through no fault of {own} own. The deadline "
                "was extended to {deadline}.{quiet}"
            ),
        },
    ),
    EventType.DECAYED: LoggedEvent(
        words=EventWords("bad", "missed the deadline", "Missed the deadline", "Deadline missed"),
        webhook="A person missed the deadline and is back in line",
        verbs=(Verb(Move.DECAY, {_PENDING: _WAIT}),),
        sentences={
            None: "{They} missed the deadline of {missed} and lost the seat. {loss}.{cooldown}"
        },
    ),
    EventType.LAPSED: LoggedEvent(
        words=EventWords(
            "bad",
            "missed too many deadlines",
            "Missed too many deadlines",
            "Ended: too many deadlines missed",
        ),
        other_words={
            UNVERIFIED: EventWords(
                "plain",
                "was not verified in time",
                "Ended: the address was not verified",
                "Ended: the address was not verified",
            )
        },
        filtered="Lapsed",
        webhook="A person missed the last deadline, or never proved the address",
        verbs=(
            Verb(Move.EXPIRE, {_WAIT: _ENDED}, outcome=Outcome.LAPSED),
            Verb(Move.LAPSE, {_PENDING: _ENDED}, outcome=Outcome.LAPSED),
        ),
        sentences={
            UNVERIFIED: (
                "Nobody verified the email address by {missed}, so the application ended. This "
                "does not count as a miss if {they} apply again."
            ),
            Outcome.LAPSED: (
                "{They} missed the deadline of {missed}. That is one miss more than this job "
                "allows, so the application ended. {They} can apply again, but the misses still "
                "count."
            ),
        },
    ),
    EventType.REINSTATED: LoggedEvent(
        words=EventWords(
            "good", "got their place back", "Got their place back", "Your place was given back"
        ),
        webhook="The company gave back a place that a miss or a decision had cost",
        verbs=(
            Verb(
                Move.REINSTATE,
                {_WAIT: _WAIT, _ENDED: _WAIT},
                Action.REINSTATE,
                (errors.NotReinstatable, errors.AlreadyApplied, *CHANGED),
                of_verified=True,
            ),
        ),
        sentences={
            None: (
                "The company cancelled {their} missed deadline of {given}. Its reason: {why_back}. "
                "{They} got the earlier place back, and the miss no longer counts."
            ),
            AFTER_REMOVAL: (
                "The company reversed its decision and gave {they} {their} earlier place back. "
                "Its reason: {why_back}."
            ),
        },
    ),
    EventType.PLACED: LoggedEvent(
        words=EventWords(
            "plain", "was placed by the draw", "Placed by the draw", "The order was drawn"
        ),
        webhook="A person got their place in line by the draw",
        verbs=(Verb(Move.PLACE, {_WAIT: _WAIT}),),
        sentences={
            None: (
                "The order of the line was drawn by lot, and this gave {they} {their} place. "
                "People who apply later join behind."
            )
        },
    ),
    EventType.MOVED_AHEAD: LoggedEvent(
        words=EventWords(
            "warn",
            _("was moved to the front by an exception"),
            _("Moved to the front by an exception"),
            _("You were moved to the front"),
        ),
        filtered=_("Moved ahead by an exception"),
        webhook="The company moved a person to the front of the line by a reasoned exception",
        verbs=(
            Verb(
                Move.MOVE_AHEAD,
                {_WAIT: _WAIT},
                Action.DECIDE,
                (errors.NotMovable, *CHANGED),
                of_verified=True,
            ),
        ),
        sentences={
            None: _(
                "The company moved {they} to the front of the line, ahead of {passed}. Its reason: "
                "{why_ahead}. Everyone passed is told."
            )
        },
    ),
    EventType.DEFERRED: LoggedEvent(
        words=EventWords(
            "wait", "chose when to be asked", "Chose when to be asked", "You chose when to be asked"
        ),
        filtered="Chose a time",
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
            "not_before": (
                "{They} asked not to be offered a seat until {not_before}. The place in line stays "
                "the same. Seats that open earlier go to people behind."
            ),
            None: "{They} can be offered a seat at any time again.",
        },
    ),
    EventType.PREACCEPTED: LoggedEvent(
        words=EventWords(
            "wait", "answered in advance", "Answered in advance", "You answered in advance"
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
            "accept_until": (
                "{They} said yes in advance. A seat that comes before {accept_until} is confirmed "
                "at once. The place in line stays the same."
            ),
            None: "{They} took back {own} yes in advance. {They} will be asked to confirm a seat.",
        },
    ),
    EventType.PASS_ASKED: LoggedEvent(
        words=EventWords(
            "wait", "asked to pass a turn", "Asked to pass a turn", "You asked to pass a turn"
        ),
        other_words={
            TAKEN_BACK: EventWords(
                "wait",
                "took back the wish to pass",
                "Took back the wish to pass",
                "You took back your wish to pass",
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
            "pass_next": (
                "{They} asked to pass {own} next turn. That seat goes to the next in line, and "
                "the place in line stays the same."
            ),
            None: (
                "{They} took back {own} wish to pass the next turn. {They} will be offered that "
                "seat."
            ),
        },
    ),
    EventType.PASSED: LoggedEvent(
        words=EventWords("wait", "passed a turn", "Passed a turn", "You passed your turn"),
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
            None: (
                "{They} passed {own} turn and did not take the seat. This does not count as a "
                "miss, and the place in line stays the same.{cooldown}"
            )
        },
    ),
    EventType.WITHDRAWN: LoggedEvent(
        words=EventWords("plain", "withdrew", "Withdrew", "Withdrawn"),
        webhook="A person left",
        verbs=(
            Verb(
                Move.WITHDRAW,
                {_WAIT: _ENDED, _PENDING: _ENDED, _ACTIVE: _ENDED},
                Action.WITHDRAW,
                (errors.IllegalMove, errors.ClockMoving),
                outcome=Outcome.WITHDRAWN,
            ),
        ),
        sentences={
            Outcome.WITHDRAWN: "{They} withdrew the application and left the line.",
            VIA_KEY: "{They} withdrew the application on the company’s own site and left the line.",
        },
    ),
    EventType.REMOVED: LoggedEvent(
        words=EventWords("plain", "was removed", "Removed", "Removed by the company"),
        other_words={
            Outcome.REJECTED: EventWords("bad", "was rejected", "Rejected", "Not selected"),
            Outcome.HIRED: EventWords("good", "was hired", "Hired", "Hired"),
        },
        filtered="Removed, rejected or hired",
        webhook="The company removed, rejected or hired a person",
        verbs=(
            Verb(
                Move.REMOVE,
                {_WAIT: _ENDED, _PENDING: _ENDED, _ACTIVE: _ENDED},
                Action.DECIDE,
                (errors.IllegalMove, errors.ClockMoving),
                outcome=Outcome.REMOVED,
            ),
            Verb(
                Move.REJECT,
                {_WAIT: _ENDED, _PENDING: _ENDED, _ACTIVE: _ENDED},
                Action.DECIDE,
                (errors.IllegalMove, errors.ClockMoving),
                outcome=Outcome.REJECTED,
            ),
            Verb(
                Move.HIRE,
                {_ACTIVE: _ENDED},
                Action.DECIDE,
                (
                    errors.IllegalMove,
                    errors.LastPosition,
                    errors.PositionsFilled,
                    errors.ClockMoving,
                ),
                outcome=Outcome.HIRED,
            ),
        ),
        sentences={
            Outcome.REMOVED: (
                "The company removed {their} application from the line{why}. It has ended."
            ),
            Outcome.REJECTED: (
                "The company decided against {their} application{why}. It has ended, and only the "
                "company can add {they} to this job again."
            ),
            Outcome.HIRED: "The company hired {they}{why}. The application has ended.",
        },
    ),
    EventType.CLOSED_OUT: LoggedEvent(
        words=EventWords(
            "plain",
            "was released: the job has closed",
            "Released: the job was closed",
            "Job closed",
        ),
        filtered="Released when the job closed",
        webhook="A person was released because the job closed",
        verbs=(
            Verb(Move.CLOSE_OUT, {_WAIT: _ENDED, _PENDING: _ENDED}, outcome=Outcome.JOB_CLOSED),
        ),
        sentences={
            Outcome.JOB_CLOSED: (
                "The company closed the job before {they} had a confirmed seat, so the "
                "application ended."
            )
        },
    ),
}
OF_APPLICATIONS |= OF_NOTES

DECLARED = OF_APPLICATIONS | JOB_EVENTS
VERBS: dict[Move, Verb] = {
    verb.move: verb for each in OF_APPLICATIONS.values() for verb in each.verbs
}
MOVES: dict[tuple[Status | None, Move], Status] = {
    (before, move): after for move, verb in VERBS.items() for before, after in verb.steps.items()
}
EVENTS: dict[Move, EventType] = {
    verb.move: event for event, each in OF_APPLICATIONS.items() for verb in each.verbs
}
OUTCOMES: dict[Move, Outcome] = {move: each.outcome for move, each in VERBS.items() if each.outcome}
# Who may make a move: whoever may take the action. The system alone makes the others.
ACTIONS: dict[Move, Action] = {move: each.action for move, each in VERBS.items() if each.action}
# The events that change something about an application, and leave its status as it is.
KEEPING_STATUS = [
    event
    for event, each in OF_APPLICATIONS.items()
    if all(before is after for verb in each.verbs for before, after in verb.steps.items())
]
# Those by which a person who waits states a wish, and the field of the place that each sets.
WISHED: dict[EventType, str] = {
    event: each.wish for event, each in OF_APPLICATIONS.items() if each.wish
}


def status_after(status: Status | None, move: Move, *, verified: bool | None = None) -> Status:
    """Return the status after a move. A status of None means a new application. Raises IllegalMove.

    `verified`: whether the application is verified. Unverified ones get no seat, so they cannot
    miss, defer, accept, pass or contest one, and only they can be verified.
    """
    to = MOVES.get((status, move))
    of_unverified = move in (Move.VERIFY, Move.EXPIRE)
    of_verified = to is not None and (to.holds_seat or VERBS[move].of_verified)
    if to is None or (verified and of_unverified) or (verified is False and of_verified):
        raise errors.IllegalMove(status=status, move=move)
    return to
