"""Statuses of an application, and every legal move between them: one table. Pure.

`MOVES` drives services, replay, the API and the documentation. Any other move is illegal.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from uuid import UUID

from pipeline.domain.errors import IllegalMove

# The longest time for which someone who waits can ask for no seat.
DEFER_WITHIN = timedelta(days=60)
# The longest time for which a yes in advance holds.
ACCEPT_WITHIN = timedelta(days=14)
# How long an unverified application is kept, and the reason code of its end.
VERIFY_WITHIN = timedelta(hours=24)
UNVERIFIED = "UNVERIFIED"
# The name in an event's data of the company's key through which the applicant acted.
VIA_KEY = "via_key"
# The name in an event's data of the time zone by which a deadline leaves out the quiet hours.
TIME_ZONE = "time_zone"
# The name in an event's data of the plan by which the system changed the number of seats, or of the
# plan whose seat was offered.
PLANNED_SEATS = "planned_seats_id"

# The name in an event's data of the time until which a person had accepted a seat in advance: in
# those of the promotion and of the confirmation that follows it at once.
ACCEPTED_UNTIL = "accepted_until"

# The name in an event's data of the time of a draw by lot: in those of the job, and in those of
# people who apply before it.
DRAW_AT = "draw_at"


class Status(StrEnum):
    """Status of an application."""

    WAITLIST = "WAITLIST"  # moved on by the system, when a seat opens
    PENDING_ACKNOWLEDGMENT = "PENDING_ACKNOWLEDGMENT"  # by the applicant, or by the deadline
    ACTIVE = "ACTIVE"  # by the company, or by the applicant on leaving
    INACTIVE = "INACTIVE"  # ended; after a lapse, the company can give the place back

    @property
    def holds_seat(self) -> bool:
        """Tell whether an application in this status holds one of the job's seats."""
        return self in (Status.ACTIVE, Status.PENDING_ACKNOWLEDGMENT)


class Outcome(StrEnum):
    """Outcome of an application that is INACTIVE."""

    WITHDRAWN = "WITHDRAWN"
    REMOVED = "REMOVED"
    REJECTED = "REJECTED"
    HIRED = "HIRED"
    LAPSED = "LAPSED"
    JOB_CLOSED = "JOB_CLOSED"


class EventType(StrEnum):
    """Kind of an event in the log."""

    APPLIED = "APPLIED"
    VERIFIED = "VERIFIED"
    PROMOTED = "PROMOTED"
    ACKNOWLEDGED = "ACKNOWLEDGED"
    DEADLINE_EXTENDED = "DEADLINE_EXTENDED"
    DECAYED = "DECAYED"
    LAPSED = "LAPSED"
    REINSTATED = "REINSTATED"
    PLACED = "PLACED"
    DEFERRED = "DEFERRED"  # with a time, or without one any more
    PREACCEPTED = "PREACCEPTED"  # the same
    PASS_ASKED = "PASS_ASKED"  # noqa: S105  the next turn is to be passed, or not any more
    PASSED = "PASSED"  # a turn: an open offer, or the one that the person asked to pass
    WITHDRAWN = "WITHDRAWN"
    REMOVED = "REMOVED"
    CLOSED_OUT = "CLOSED_OUT"
    CONTESTED = "CONTESTED"  # the person asked the company to look again
    CONTEST_ANSWERED = "CONTEST_ANSWERED"
    JOB_CREATED = "JOB_CREATED"
    JOB_OPENED = "JOB_OPENED"
    JOB_PAUSED = "JOB_PAUSED"
    JOB_RESUMED = "JOB_RESUMED"
    JOB_CLOSED = "JOB_CLOSED"
    CAPACITY_CHANGED = "CAPACITY_CHANGED"
    POLICY_CHANGED = "POLICY_CHANGED"
    CLOCK_ADVANCED = "CLOCK_ADVANCED"  # of a sandbox
    DRAWN = "DRAWN"  # the order of the first line, by lot


class Move(StrEnum):
    """Transition of one application. The first three admit a new one."""

    SEAT = "SEAT"
    OFFER = "OFFER"
    QUEUE = "QUEUE"
    VERIFY = "VERIFY"
    EXPIRE = "EXPIRE"  # never verified
    PROMOTE = "PROMOTE"
    ACKNOWLEDGE = "ACKNOWLEDGE"
    EXTEND = "EXTEND"
    DECAY = "DECAY"
    LAPSE = "LAPSE"
    REINSTATE = "REINSTATE"  # to the place before a miss, or before a contested decision
    PLACE = "PLACE"  # by the draw of the order
    DEFER = "DEFER"  # the person keeps the place, and is offered no seat until a time
    PREACCEPT = "PREACCEPT"  # the person accepts a seat that is offered before a time
    ASK_PASS = "ASK_PASS"  # noqa: S105  the person wants to pass their next turn
    PASS = "PASS"  # noqa: S105  a turn, without a miss
    WITHDRAW = "WITHDRAW"
    REMOVE = "REMOVE"
    REJECT = "REJECT"
    HIRE = "HIRE"
    CLOSE_OUT = "CLOSE_OUT"
    CONTEST = "CONTEST"  # nothing changes until the company answers
    ANSWER_CONTEST = "ANSWER_CONTEST"


_NOBODY, _WAIT, _PENDING = None, Status.WAITLIST, Status.PENDING_ACKNOWLEDGMENT
_ACTIVE, _ENDED = Status.ACTIVE, Status.INACTIVE

MOVES: dict[tuple[Status | None, Move], Status] = {
    (_NOBODY, Move.SEAT): _ACTIVE,
    (_NOBODY, Move.OFFER): _PENDING,
    (_NOBODY, Move.QUEUE): _WAIT,
    (_WAIT, Move.VERIFY): _WAIT,
    (_WAIT, Move.EXPIRE): _ENDED,
    (_WAIT, Move.PROMOTE): _PENDING,
    (_PENDING, Move.ACKNOWLEDGE): _ACTIVE,
    (_PENDING, Move.EXTEND): _PENDING,
    (_PENDING, Move.DECAY): _WAIT,
    (_PENDING, Move.LAPSE): _ENDED,
    (_WAIT, Move.REINSTATE): _WAIT,
    (_ENDED, Move.REINSTATE): _WAIT,
    (_WAIT, Move.PLACE): _WAIT,
    (_WAIT, Move.DEFER): _WAIT,
    (_WAIT, Move.PREACCEPT): _WAIT,
    (_WAIT, Move.ASK_PASS): _WAIT,
    (_WAIT, Move.PASS): _WAIT,
    (_PENDING, Move.PASS): _WAIT,
    (_WAIT, Move.WITHDRAW): _ENDED,
    (_PENDING, Move.WITHDRAW): _ENDED,
    (_ACTIVE, Move.WITHDRAW): _ENDED,
    (_WAIT, Move.REMOVE): _ENDED,
    (_PENDING, Move.REMOVE): _ENDED,
    (_ACTIVE, Move.REMOVE): _ENDED,
    (_WAIT, Move.REJECT): _ENDED,
    (_PENDING, Move.REJECT): _ENDED,
    (_ACTIVE, Move.REJECT): _ENDED,
    (_ACTIVE, Move.HIRE): _ENDED,
    (_WAIT, Move.CLOSE_OUT): _ENDED,
    (_PENDING, Move.CLOSE_OUT): _ENDED,
    (_ENDED, Move.CONTEST): _ENDED,
    (_ENDED, Move.ANSWER_CONTEST): _ENDED,
}

EVENTS: dict[Move, EventType] = {
    Move.SEAT: EventType.APPLIED,
    Move.OFFER: EventType.APPLIED,
    Move.QUEUE: EventType.APPLIED,
    Move.VERIFY: EventType.VERIFIED,
    Move.EXPIRE: EventType.LAPSED,
    Move.PROMOTE: EventType.PROMOTED,
    Move.ACKNOWLEDGE: EventType.ACKNOWLEDGED,
    Move.EXTEND: EventType.DEADLINE_EXTENDED,
    Move.DECAY: EventType.DECAYED,
    Move.LAPSE: EventType.LAPSED,
    Move.REINSTATE: EventType.REINSTATED,
    Move.PLACE: EventType.PLACED,
    Move.DEFER: EventType.DEFERRED,
    Move.PREACCEPT: EventType.PREACCEPTED,
    Move.ASK_PASS: EventType.PASS_ASKED,
    Move.PASS: EventType.PASSED,
    Move.WITHDRAW: EventType.WITHDRAWN,
    Move.REMOVE: EventType.REMOVED,
    Move.REJECT: EventType.REMOVED,
    Move.HIRE: EventType.REMOVED,
    Move.CLOSE_OUT: EventType.CLOSED_OUT,
    Move.CONTEST: EventType.CONTESTED,
    Move.ANSWER_CONTEST: EventType.CONTEST_ANSWERED,
}

OUTCOMES: dict[Move, Outcome] = {
    Move.EXPIRE: Outcome.LAPSED,
    Move.LAPSE: Outcome.LAPSED,
    Move.WITHDRAW: Outcome.WITHDRAWN,
    Move.REMOVE: Outcome.REMOVED,
    Move.REJECT: Outcome.REJECTED,
    Move.HIRE: Outcome.HIRED,
    Move.CLOSE_OUT: Outcome.JOB_CLOSED,
}

# The outcomes that a company can choose, and the move of each.
DECISIONS: dict[Outcome, Move] = {
    Outcome.REMOVED: Move.REMOVE,
    Outcome.REJECTED: Move.REJECT,
    Outcome.HIRED: Move.HIRE,
}


# The moves that an unverified application cannot make, besides those into a seat.
_OF_VERIFIED = (
    Move.REINSTATE,
    Move.DEFER,
    Move.PREACCEPT,
    Move.ASK_PASS,
    Move.PASS,
    Move.CONTEST,
    Move.ANSWER_CONTEST,
)

# Every legal change of a job's own status, and its event.
JOB_MOVES: dict[tuple[str | None, str], EventType] = {
    (None, "DRAFT"): EventType.JOB_CREATED,
    ("DRAFT", "OPEN"): EventType.JOB_OPENED,
    ("OPEN", "PAUSED"): EventType.JOB_PAUSED,
    ("PAUSED", "OPEN"): EventType.JOB_RESUMED,
    ("OPEN", "CLOSED"): EventType.JOB_CLOSED,
    ("PAUSED", "CLOSED"): EventType.JOB_CLOSED,
}


def status_after(status: Status | None, move: Move, *, verified: bool | None = None) -> Status:
    """Return the status after a move. A status of None means a new application. Raises IllegalMove.

    `verified`: whether the application is verified. Unverified ones get no seat, so they cannot
    miss, defer, accept, pass or contest one, and only they can be verified.
    """
    to = MOVES.get((status, move))
    of_unverified = move in (Move.VERIFY, Move.EXPIRE)
    of_verified = to is not None and (to.holds_seat or move in _OF_VERIFIED)
    if to is None or (verified and of_unverified) or (verified is False and of_verified):
        raise IllegalMove(status=status, move=move)
    return to


class ActorKind(StrEnum):
    """Kind of actor that causes a change."""

    APPLICANT = "APPLICANT"
    COMPANY = "COMPANY"
    SYSTEM = "SYSTEM"


@dataclass(frozen=True, slots=True)
class Actor:
    """Actor of a change: an applicant, a company's key or member, or the system, without an id.

    `via_key`: the company's key through which an applicant acts, on the company's own site.
    """

    kind: ActorKind
    id: UUID | None = None
    via_key: UUID | None = None


SYSTEM = Actor(ActorKind.SYSTEM)


class Reason(StrEnum):
    """Reason for a company's decision. The log holds this code, never free text."""

    NOT_A_MATCH = "NOT_A_MATCH"
    POSITION_FILLED = "POSITION_FILLED"
    NO_RESPONSE = "NO_RESPONSE"
    MISSED_INTERVIEW = "MISSED_INTERVIEW"
    DUPLICATE_PERSON = "DUPLICATE_PERSON"
    OTHER = "OTHER"
    IMPORT_UNDONE = "IMPORT_UNDONE"  # the import that added the person was undone


# The reasons that someone who decides can choose.
CHOSEN_REASONS = tuple(each for each in Reason if each is not Reason.IMPORT_UNDONE)


class ReinstatementReason(StrEnum):
    """Reason for giving a place back after a miss. The log holds this code, never free text."""

    ACCOMMODATION = "ACCOMMODATION"
    OUR_ERROR = "OUR_ERROR"
    MAIL_FAILURE = "MAIL_FAILURE"
