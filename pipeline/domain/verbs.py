"""Verbs of the line and events of its log: the one declaration of each. Pure.

A verb is declared here once: its moves from status to status, who may make it, what refuses it, the
event that it writes, the field of the place that it sets, and every word that people read about it.
Services, the API and its document, webhooks, pages and emails take these from here. The proof of a
log (`pipeline.audit`) takes the names and the table of moves, and no rule.
"""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy, pgettext_lazy

from pipeline.domain import errors
from pipeline.domain.endings import OF_ENDINGS
from pipeline.domain.events import (
    COOLDOWN,
    JOB_EVENTS,
    LOSS,
    OFFERED,
    QUIET,
    EventWords,
    LoggedEvent,
    Told,
    Verb,
    put_forward,
)
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
from pipeline.domain.wishes import OF_WISHES

_WAIT, _PENDING = Status.WAITLIST, Status.PENDING_ACKNOWLEDGMENT
_ACTIVE, _ENDED = Status.ACTIVE, Status.INACTIVE

# What differs in some events: a place given back although no deadline was missed.
AFTER_REMOVAL = "removal"
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
OF_APPLICATIONS: dict[EventType, LoggedEvent] = {
    EventType.APPLIED: LoggedEvent(
        words=EventWords(
            "wait",
            _("{name} applied"),
            pgettext_lazy("event", "Applied"),
            pgettext_lazy("event", "Applied"),
        ),
        webhook="A person applied, or the company submitted them",
        verbs=(
            Verb(Move.SEAT, {None: _ACTIVE}, Action.APPLY, _JOINING),
            Verb(Move.OFFER, {None: _PENDING}, Action.APPLY, _JOINING),
            Verb(Move.QUEUE, {None: _WAIT}, Action.APPLY, _JOINING),
        ),
        sentences={
            UNVERIFIED: Told(
                _(
                    "An application was made with your email address. It keeps its place in "
                    "line, but gets no seat until the address is verified. Otherwise it ends "
                    "at {verify_by}."
                ),
                _(
                    "An application was made with the applicant’s email address. It keeps "
                    "its place in line, but gets no seat until the address is verified. "
                    "Otherwise it ends at {verify_by}."
                ),
            ),
            put_forward(Status.ACTIVE): Told(
                _("You were put forward by the company. A seat was free, so you got it at once."),
                _(
                    "The applicant was put forward by the company. A seat was free, so the "
                    "applicant got it at once."
                ),
            ),
            Status.ACTIVE: Told(
                _("You applied. A seat was free, so you got it at once."),
                _("The applicant applied. A seat was free, so the applicant got it at once."),
            ),
            put_forward(Status.PENDING_ACKNOWLEDGMENT): Told(
                _("You were put forward by the company. A seat was free, so you were offered it."),
                _(
                    "The applicant was put forward by the company. A seat was free, so the "
                    "applicant was offered it."
                ),
                then=(*OFFERED,),
            ),
            Status.PENDING_ACKNOWLEDGMENT: Told(
                _("You applied. A seat was free, so you were offered it."),
                _("The applicant applied. A seat was free, so the applicant was offered it."),
                then=(*OFFERED,),
            ),
            put_forward(DRAW_AT): Told(
                _(
                    "You were put forward by the company before the draw. The order of the "
                    "line is drawn by lot, and then the first in line are offered the seats."
                ),
                _(
                    "The applicant was put forward by the company before the draw. The order "
                    "of the line is drawn by lot, and then the first in line are offered the "
                    "seats."
                ),
            ),
            DRAW_AT: Told(
                _(
                    "You applied before the draw. The order of the line is drawn by lot, and "
                    "then the first in line are offered the seats."
                ),
                _(
                    "The applicant applied before the draw. The order of the line is drawn "
                    "by lot, and then the first in line are offered the seats."
                ),
            ),
            put_forward(Status.WAITLIST): Told(
                _(
                    "You were put forward by the company and joined the line. You will be "
                    "offered a seat after everyone ahead has had a turn."
                ),
                _(
                    "The applicant was put forward by the company and joined the line. The "
                    "applicant will be offered a seat after everyone ahead has had a turn."
                ),
                then=(*COOLDOWN,),
            ),
            Status.WAITLIST: Told(
                _(
                    "You applied and joined the line. You will be offered a seat after "
                    "everyone ahead has had a turn."
                ),
                _(
                    "The applicant applied and joined the line. The applicant will be "
                    "offered a seat after everyone ahead has had a turn."
                ),
                then=(*COOLDOWN,),
            ),
        },
    ),
    EventType.VERIFIED: LoggedEvent(
        words=EventWords(
            "wait",
            _("{name} verified the email address"),
            _("Verified the address"),
            _("Email address verified"),
        ),
        webhook="A person proved their address",
        verbs=(Verb(Move.VERIFY, {_WAIT: _WAIT}, Action.TAKE_OVER, (errors.IllegalMove,)),),
        sentences={
            None: Told(
                _(
                    "You verified the email address and can now be offered a seat. Your "
                    "place in line stays the same."
                ),
                _(
                    "The applicant verified the email address and can now be offered a seat. "
                    "The applicant’s place in line stays the same."
                ),
            ),
        },
    ),
    EventType.PROMOTED: LoggedEvent(
        words=EventWords(
            "warn",
            _("{name} was offered a seat"),
            _("Promoted: a seat was offered"),
            _("A seat was offered"),
        ),
        filtered=pgettext_lazy("event", "Promoted"),
        webhook="A person was offered a seat",
        verbs=(Verb(Move.PROMOTE, {_WAIT: _PENDING}),),
        sentences={
            None: Told(
                _("A seat opened and it was your turn, so it was offered to you."),
                _(
                    "A seat opened and it was the applicant’s turn, so it was offered to the "
                    "applicant."
                ),
                then=(*OFFERED,),
            ),
            EventType.PASSED: Told(
                _("The person ahead passed their turn, so the seat was offered to you."),
                _("The person ahead passed their turn, so the seat was offered to the applicant."),
                then=(*OFFERED,),
            ),
            EventType.VERIFIED: Told(
                _("A seat was free, so it was offered to you."),
                _("A seat was free, so it was offered to the applicant."),
                then=(*OFFERED,),
            ),
            PLANNED_SEATS: Told(
                _("A planned seat opened and it was your turn, so it was offered to you."),
                _(
                    "A planned seat opened and it was the applicant’s turn, so it was "
                    "offered to the applicant."
                ),
                then=(*OFFERED,),
            ),
            ACCEPTED_UNTIL: Told(
                _("A seat was free and it was your turn. You had accepted it in advance."),
                _(
                    "A seat was free and it was the applicant’s turn. The applicant had "
                    "accepted it in advance."
                ),
            ),
        },
    ),
    EventType.ACKNOWLEDGED: LoggedEvent(
        words=EventWords(
            "good", _("{name} confirmed the seat"), _("Confirmed the seat"), _("Seat confirmed")
        ),
        filtered=pgettext_lazy("event", "Confirmed"),
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
            ACCEPTED_UNTIL: Told(
                _(
                    "You had said yes in advance until {accepted_until}. So the seat was "
                    "confirmed at once. It is your seat until the company decides."
                ),
                _(
                    "The applicant had said yes in advance until {accepted_until}. So the "
                    "seat was confirmed at once. It is the applicant’s seat until the "
                    "company decides."
                ),
            ),
            None: Told(
                _("You confirmed the seat in time. It is your seat until the company decides."),
                _(
                    "The applicant confirmed the seat in time. It is the applicant’s seat "
                    "until the company decides."
                ),
            ),
            VIA_KEY: Told(
                _(
                    "You confirmed the seat in time, on the company’s own site. It is your "
                    "seat until the company decides."
                ),
                _(
                    "The applicant confirmed the seat in time, on the company’s own site. It "
                    "is the applicant’s seat until the company decides."
                ),
            ),
        },
    ),
    EventType.DEADLINE_EXTENDED: LoggedEvent(
        words=EventWords(
            "warn", _("{name} was given more time"), _("Got more time"), _("More time")
        ),
        filtered=_("Deadline extended"),
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
            ActorKind.COMPANY: Told(
                _("The company gave you more time: the seat can be confirmed until {deadline}."),
                _(
                    "The company gave the applicant more time: the seat can be confirmed "
                    "until {deadline}."
                ),
            ),
            None: Told(
                _(
                    "You lost time to confirm the seat through no fault of your own. The "
                    "deadline was extended to {deadline}."
                ),
                _(
                    "The applicant lost time to confirm the seat through no fault of their "
                    "own. The deadline was extended to {deadline}."
                ),
                then=(QUIET,),
            ),
        },
    ),
    EventType.DECAYED: LoggedEvent(
        words=EventWords(
            "bad", _("{name} missed the deadline"), _("Missed the deadline"), _("Deadline missed")
        ),
        webhook="A person missed the deadline and is back in line",
        verbs=(Verb(Move.DECAY, {_PENDING: _WAIT}),),
        sentences={
            None: Told(
                _("You missed the deadline of {missed} and lost the seat."),
                _("The applicant missed the deadline of {missed} and lost the seat."),
                then=(
                    *LOSS,
                    *COOLDOWN,
                ),
            ),
        },
    ),
    EventType.LAPSED: LoggedEvent(
        words=EventWords(
            "bad",
            _("{name} missed too many deadlines"),
            _("Missed too many deadlines"),
            _("Ended: too many deadlines missed"),
        ),
        other_words={
            UNVERIFIED: EventWords(
                "plain",
                _("{name} was not verified in time"),
                _("Ended: the address was not verified"),
                _("Ended: the address was not verified"),
            )
        },
        filtered=pgettext_lazy("event", "Lapsed"),
        webhook="A person missed the last deadline, or never proved the address",
        verbs=(
            Verb(Move.EXPIRE, {_WAIT: _ENDED}, outcome=Outcome.LAPSED),
            Verb(Move.LAPSE, {_PENDING: _ENDED}, outcome=Outcome.LAPSED),
        ),
        sentences={
            UNVERIFIED: Told(
                _(
                    "Nobody verified the email address by {missed}, so the application "
                    "ended. This does not count as a miss if you apply again."
                ),
                _(
                    "Nobody verified the email address by {missed}, so the application "
                    "ended. This does not count as a miss if the applicant applies again."
                ),
            ),
            Outcome.LAPSED: Told(
                _(
                    "You missed the deadline of {missed}. That is one miss more than this "
                    "job allows, so the application ended. You can apply again, but the "
                    "misses still count."
                ),
                _(
                    "The applicant missed the deadline of {missed}. That is one miss more "
                    "than this job allows, so the application ended. The applicant can apply "
                    "again, but the misses still count."
                ),
            ),
        },
    ),
    EventType.REINSTATED: LoggedEvent(
        words=EventWords(
            "good",
            _("{name} got their place back"),
            _("Got their place back"),
            _("Your place was given back"),
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
            None: Told(
                _(
                    "The company cancelled your missed deadline of {given}. Its reason: "
                    "{why_back}. You got the earlier place back, and the miss no longer "
                    "counts."
                ),
                _(
                    "The company cancelled the applicant’s missed deadline of {given}. Its "
                    "reason: {why_back}. The applicant got the earlier place back, and the "
                    "miss no longer counts."
                ),
            ),
            AFTER_REMOVAL: Told(
                _(
                    "The company reversed its decision and gave you your earlier place back. "
                    "Its reason: {why_back}."
                ),
                _(
                    "The company reversed its decision and gave the applicant the "
                    "applicant’s earlier place back. Its reason: {why_back}."
                ),
            ),
        },
    ),
    EventType.PLACED: LoggedEvent(
        words=EventWords(
            "plain",
            _("{name} was placed by the draw"),
            _("Placed by the draw"),
            _("The order was drawn"),
        ),
        webhook="A person got their place in line by the draw",
        verbs=(Verb(Move.PLACE, {_WAIT: _WAIT}),),
        sentences={
            None: Told(
                _(
                    "The order of the line was drawn by lot, and this gave you your place. "
                    "People who apply later join behind."
                ),
                _(
                    "The order of the line was drawn by lot, and this gave the applicant the "
                    "applicant’s place. People who apply later join behind."
                ),
            ),
        },
    ),
    EventType.MOVED_AHEAD: LoggedEvent(
        words=EventWords(
            "warn",
            _("{name} was moved to the front by an exception"),
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
            None: Told(
                ngettext_lazy(
                    "The company moved you to the front of the line, ahead of {passed} "
                    "person. Its reason: {why_ahead}. Everyone passed is told.",
                    "The company moved you to the front of the line, ahead of {passed} "
                    "people. Its reason: {why_ahead}. Everyone passed is told.",
                    "passed",
                ),
                ngettext_lazy(
                    "The company moved the applicant to the front of the line, ahead of "
                    "{passed} person. Its reason: {why_ahead}. Everyone passed is told.",
                    "The company moved the applicant to the front of the line, ahead of "
                    "{passed} people. Its reason: {why_ahead}. Everyone passed is told.",
                    "passed",
                ),
            ),
        },
    ),
}
OF_APPLICATIONS |= OF_WISHES | OF_ENDINGS | OF_NOTES

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
