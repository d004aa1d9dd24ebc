"""Statuses, moves and events by their names, and whoever acts. Pure.

What belongs to each move is in `pipeline.domain.verbs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from uuid import UUID

# The longest time for which someone who waits can ask for no seat.
DEFER_WITHIN = timedelta(days=60)
# The longest time for which a yes in advance holds.
ACCEPT_WITHIN = timedelta(days=14)
# The latest new deadline that a company can give an open offer, from now, and how often.
EXTEND_WITHIN, MOST_EXTENSIONS = timedelta(days=30), 5
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
# The name in the data of a skipped planned change of its number of seats, negative to close.
PLANNED_CHANGE = "planned_seats"

# The name in an event's data of the time until which a person had accepted a seat in advance: in
# those of the promotion and of the confirmation that follows it at once.
ACCEPTED_UNTIL = "accepted_until"

# The name in an event's data of the time of a draw by lot: in those of the job, and in those of
# people who apply before it.
DRAW_AT = "draw_at"

# The names in the data of a job's events of its number of positions to fill, and of the times at
# which the system opens and closes it; left out if there are none. With a number of positions,
# every event holds how many are filled.
POSITIONS, OPENS_AT, CLOSES_AT = "positions_to_fill", "opens_at", "closes_at"
HIRED = "hired"
# The name in the data of a job's closing of the seq of the hiring that filled its last position.
FILLED_BY = "filled_by_seq"
# The name in an event's data of the answers that were given with it: the version of the form, and
# their number and digest. That of the further question that was asked or answered.
ANSWERS, QUESTION_ID = "answers", "question_id"
# The names in the data of a job's events of its number of reserved seats, of the group that they
# are for, and of the time at which they fall to the line; left out if there are none. The name in
# an event's data of the salted digest of what was decided about a person and that group.
RESERVED_SEATS, RESERVED_FOR, RESERVED_UNTIL = "reserved_seats", "reserved_for", "reserved_until"
CLAIM_DIGEST = "claim_digest"
# The name in an event's data of the number of people who hold a reserved seat, in a job that has,
# or had, reserved seats.
RESERVED_TAKEN = "reserved_taken"
# The names in the data of an exception of its reason, of the number of people passed, and of the
# ticket and tie that the person had before. How many exceptions a job can have: everyone passed is
# told of each.
EXCEPTION, PEOPLE_PASSED = "exception", "people_passed"
FROM_TICKET, FROM_TIE = "from_ticket", "from_tie"
MOST_EXCEPTIONS = 100


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
    MOVED_AHEAD = "MOVED_AHEAD"  # to the front, by a reasoned exception
    DEFERRED = "DEFERRED"  # with a time, or without one any more
    PREACCEPTED = "PREACCEPTED"  # the same
    PASS_ASKED = "PASS_ASKED"  # noqa: S105  the next turn is to be passed, or not any more
    PASSED = "PASSED"  # a turn: an open offer, or the one that the person asked to pass
    WITHDRAWN = "WITHDRAWN"
    REMOVED = "REMOVED"
    CLOSED_OUT = "CLOSED_OUT"
    GROUP_NOTED = "GROUP_NOTED"  # it was decided whether the person belongs to the job's group
    CONTESTED = "CONTESTED"  # the person asked the company to look again
    CONTEST_ANSWERED = "CONTEST_ANSWERED"
    ANSWERS_CHANGED = "ANSWERS_CHANGED"  # of a person who waits, or to a further question
    QUESTION_ASKED = "QUESTION_ASKED"  # one more, of a person in a seat
    JOB_CREATED = "JOB_CREATED"
    JOB_OPENED = "JOB_OPENED"
    JOB_PAUSED = "JOB_PAUSED"
    JOB_RESUMED = "JOB_RESUMED"
    JOB_CLOSED = "JOB_CLOSED"
    CAPACITY_CHANGED = "CAPACITY_CHANGED"
    POLICY_CHANGED = "POLICY_CHANGED"
    POSITIONS_CHANGED = "POSITIONS_CHANGED"
    DATES_CHANGED = "DATES_CHANGED"  # at which the system opens or closes the job
    RESERVE_CHANGED = "RESERVE_CHANGED"  # how many seats are for a group, or for how long
    SEATS_KEPT = "SEATS_KEPT"  # a planned change was skipped: it would cut reserved seats
    CLOCK_ADVANCED = "CLOCK_ADVANCED"  # of a sandbox
    DRAWN = "DRAWN"  # the order of the first line, by lot


# The events about answers. They move nobody.
OF_ANSWERS = (EventType.ANSWERS_CHANGED, EventType.QUESTION_ASKED)


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
    MOVE_AHEAD = "MOVE_AHEAD"  # to the front of the line, by a reasoned exception
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
    CHANGE_ANSWERS = "CHANGE_ANSWERS"  # moves nobody, as the next
    ASK_QUESTION = "ASK_QUESTION"
    NOTE_GROUP = "NOTE_GROUP"  # the same; the person may take a reserved seat, or not


# The outcomes that a company can choose, and the move of each.
DECISIONS: dict[Outcome, Move] = {
    Outcome.REMOVED: Move.REMOVE,
    Outcome.REJECTED: Move.REJECT,
    Outcome.HIRED: Move.HIRE,
}


class IfLast(StrEnum):
    """Choice of what follows if a person is hired for the last position of a job."""

    ASK = "ASK"  # nothing: the decision is refused, and has to say
    CLOSE = "CLOSE"  # the job closes
    GO_ON = "GO_ON"  # the job gets one position more
    STAY = "STAY"  # the job stays open, and nobody is offered a seat

    @classmethod
    def of(cls, *, close_job: bool | None) -> IfLast:
        """Return what follows by whether the job is to close; None if nobody has said so."""
        if close_job is None:
            return cls.ASK
        return cls.CLOSE if close_job else cls.GO_ON


# Every legal change of a job's own status, and its event.
JOB_MOVES: dict[tuple[str | None, str], EventType] = {
    (None, "DRAFT"): EventType.JOB_CREATED,
    ("DRAFT", "OPEN"): EventType.JOB_OPENED,
    ("OPEN", "PAUSED"): EventType.JOB_PAUSED,
    ("PAUSED", "OPEN"): EventType.JOB_RESUMED,
    ("OPEN", "CLOSED"): EventType.JOB_CLOSED,
    ("PAUSED", "CLOSED"): EventType.JOB_CLOSED,
}


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


class ExceptionReason(StrEnum):
    """Reason for moving a person to the front. Everyone passed reads it, and the log holds it."""

    LEGAL_DUTY = "LEGAL_DUTY"
    OUR_ERROR = "OUR_ERROR"
    HARDSHIP = "HARDSHIP"
    OTHER = "OTHER"


class GroupKind(StrEnum):
    """Public reason for which seats are reserved for a group. The log holds this code."""

    INTERNAL = "INTERNAL"
    DISABILITY = "DISABILITY"
    LEGAL_PREFERENCE = "LEGAL_PREFERENCE"
    OWN = "OWN"  # in the company's own words


class ClaimState(StrEnum):
    """State of a person's statement that they belong to a job's group."""

    STATED = "STATED"  # the company decides, or the person enters the code
    CONFIRMED = "CONFIRMED"
    DECLINED = "DECLINED"
