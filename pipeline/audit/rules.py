"""Rules of the fold of a log for applications: contests, wishes, passes, lost places.

Like the rest of the fold, it shares no rule with the code that writes the log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from pipeline.domain.contests import (
    ANSWER,
    ANSWER_BY,
    ANSWER_SEQ,
    CONTEST_ID,
    CONTEST_WITHIN,
    CONTESTABLE,
    CONTESTED_SEQ,
    OF_CONTESTS,
    REASONS_OF,
    ContestAnswer,
    ContestReason,
)
from pipeline.domain.place import WISHES, PlaceState
from pipeline.domain.states import (
    ACCEPT_WITHIN,
    ACCEPTED_UNTIL,
    DEFER_WITHIN,
    EXCEPTION,
    EXTEND_WITHIN,
    FROM_TICKET,
    FROM_TIE,
    MOST_EXCEPTIONS,
    MOST_EXTENSIONS,
    OF_ANSWERS,
    PEOPLE_PASSED,
    ActorKind,
    EventType,
    ExceptionReason,
    Status,
)
from pipeline.domain.verbs import WISHED
from pipeline.line.event_log import parse_logged_time
from pipeline.models import Contest, Event, LineException
from pipeline.selectors.past import PastPlace


class _End(NamedTuple):
    """End of an application that can be contested, with its state after that event."""

    seq: int
    event: str
    at: datetime
    outcome: str
    misses: int
    eligible_at: datetime | None


@dataclass(slots=True, kw_only=True)
class LoggedContest:
    """Contest according to the log, with the fields of its row; without an answer while open."""

    application_id: UUID
    seq: int
    contested_seq: int
    asked_at: datetime
    answer_by: datetime
    answer: str = ""
    reason: str = ""
    answered_at: datetime | None = None
    answered_by: UUID | None = None
    answer_seq: int | None = None


class ContestsFold:
    """Contests of a log so far. `check` returns the fault of the next row, or nothing."""

    def __init__(self) -> None:
        self._ends: dict[UUID, _End] = {}
        self._contested: set[int] = set()
        self._open: dict[UUID, UUID] = {}
        # The application that must get a place back, the answer's seq, and the reason.
        self._to_give_back: tuple[UUID, int, str] | None = None
        self.logged: dict[UUID, LoggedContest] = {}

    @property
    def is_unfinished(self) -> bool:
        """Tell whether an answer still has to give a place back."""
        return self._to_give_back is not None

    def differences(self, contests: Iterable[Contest]) -> Iterator[str]:
        """Compare the rows of all contests with the log.

        An answered one is deleted with the person.
        """
        rows = {row.id: row for row in contests}
        for contest_id, told in self.logged.items():
            row = rows.pop(contest_id, None)
            if row is None and not told.answer:
                yield f"contest {contest_id}: open in the log, and not in the rows"
            for name in [field.name for field in fields(told)] if row else ():
                logged, live = getattr(told, name), getattr(row, name)
                if logged != live:
                    yield f"contest {contest_id}: {name} is {live}, the log says {logged}"
        yield from (f"contest {contest_id}: only in the rows" for contest_id in rows)

    def check(self, event: Event, place: PastPlace | None) -> str:
        """Check an event.

        `place` is its application's place after it; None for an event of the job.
        """
        who, due = event.application_id, self._to_give_back
        self._to_give_back = None
        answer_seq = event.data.get(ANSWER_SEQ) if event.event == EventType.REINSTATED else None
        if due != (None if answer_seq is None else (who, answer_seq, event.data["reason"])):
            return "the answer before it gives a place back, and this does not, or none does"
        if who is None or place is None:
            return ""
        if event.event == EventType.REINSTATED:
            end = self._ends.pop(who, None)
            if event.actor_kind != ActorKind.COMPANY:
                return "only the company gives a place back"
            if who in self._open or (due is None and end and end.event == EventType.REMOVED):
                return "it leaves a contest open, or takes back a decision that nobody contested"
            return ""
        if event.event in OF_CONTESTS:
            return self._check_of_contest(event, who, place)
        if event.outcome in CONTESTABLE and place.is_verified:
            left = (str(event.outcome), place.decay_count, place.eligible_at)
            self._ends[who] = _End(event.seq, event.event, event.at, *left)
        return ""

    def _check_of_contest(self, event: Event, who: UUID, place: PastPlace) -> str:
        end = self._ends.get(who)
        if end is None or event.outcome != end.outcome or not place.is_verified:
            return "the application has not ended like that"
        if (place.decay_count, place.eligible_at) != (end.misses, end.eligible_at):
            return "it changes misses or a cool-down"
        contest_id = UUID(event.data[CONTEST_ID])
        if event.event == EventType.CONTESTED:
            return self._check_question(event, who, end, contest_id)
        answer, reason = ContestAnswer(event.data[ANSWER]), event.data["reason"]
        if self._open.pop(who, None) != contest_id:
            return "it answers a contest that is not open"
        if ContestReason(reason) not in REASONS_OF[answer]:
            return f"its reason does not fit the answer {answer}"
        by_person = event.actor_kind == ActorKind.APPLICANT
        if by_person != (answer is ContestAnswer.DROPPED):
            return "only the company answers, and only an erasure drops a contest"
        if answer is ContestAnswer.CHANGED:
            self._to_give_back = (who, event.seq, reason)
        told = self.logged[contest_id]
        told.answer, told.reason = answer, reason
        told.answered_at, told.answered_by, told.answer_seq = event.at, event.actor_id, event.seq
        return ""

    def _check_question(self, event: Event, who: UUID, end: _End, contest_id: UUID) -> str:
        answer_by = parse_logged_time(event.data[ANSWER_BY])
        known = end.seq in self._contested or contest_id in self.logged
        if event.data[CONTESTED_SEQ] != end.seq or known:
            return "it contests another decision, or one that was contested before"
        if event.actor_kind != ActorKind.APPLICANT:
            return "only the person can contest how the application ended"
        late = event.at >= end.at + CONTEST_WITHIN
        if late or answer_by is None or answer_by < event.at + timedelta(days=1):
            return "it comes too late, or leaves no time for an answer"
        self._contested.add(end.seq)
        self._open[who] = contest_id
        self.logged[contest_id] = LoggedContest(
            application_id=who,
            seq=event.seq,
            contested_seq=end.seq,
            asked_at=event.at,
            answer_by=answer_by,
        )
        return ""


# Check of wishes in a log: to be offered no seat until a time, to accept one in advance, to pass.
# All keep their place. The first get no seat before that time, the second get it at once, and the
# last get none before the cool-down of the pass is over. Like the rest of the fold, it shares no
# rule with the code that writes the log.


# How far ahead the time of a wish can be, and what it is called.
_TIMED = {
    EventType.DEFERRED: (DEFER_WITHIN, "defers a turn"),
    EventType.PREACCEPTED: (ACCEPT_WITHIN, "accepts a seat"),
}


def wish_fault(event: Event, place: PastPlace, before: PlaceState) -> str:
    """Name the fault of a wish, or of an event that one forbids; empty if all is well.

    A draw by lot changes nothing but the place. `place` is the one after the event.
    """
    held = PlaceState.of(place)
    if event.event in (EventType.PASS_ASKED, EventType.PASSED):
        return ""  # checked by the passes
    if event.event in WISHED:
        return _person_fault(event, place, held, before)
    if event.event == EventType.PLACED:
        placed = replace(before, ticket=place.ticket, tie=place.tie)
        return "" if held == placed else "it places someone by lot, and changes more than that"
    if event.event in (*OF_ANSWERS, EventType.GROUP_NOTED):
        return _answers_fault(event, held, before)
    stood = before if place.status is Status.WAITLIST else PlaceState()  # wishes end with the wait
    for name in WISHES:
        if name != "pass_next" and getattr(held, name) != getattr(stood, name):
            return f"{event.event} must not change the wish {name}"
    if before.not_before and place.status.holds_seat and before.not_before > event.at:
        return f"it offers a seat that was not wanted before {before.not_before}"
    return ""


def _answers_fault(event: Event, held: PlaceState, before: PlaceState) -> str:
    asks = event.event == EventType.QUESTION_ASKED
    if event.event == EventType.GROUP_NOTED:
        by_system = event.actor_kind == ActorKind.SYSTEM
        return "it notes a group, and changes the place" if held != before or by_system else ""
    if event.actor_kind != (ActorKind.COMPANY if asks else ActorKind.APPLICANT):
        return "only the company asks, and only the person answers"
    return "" if held == before else "it concerns answers, and changes the place"


def _person_fault(event: Event, place: PastPlace, held: PlaceState, before: PlaceState) -> str:
    name = WISHED[EventType(event.event)]
    within, what = _TIMED.get(EventType(event.event), (None, "has a wish"))
    until = getattr(held, name)
    keeps_pass = before.pass_next and not (until and name == "accept_until")
    if held != replace(before, **{"pass_next": keeps_pass, name: until}):
        return f"it {what}, and changes the place or a cool-down"
    if event.actor_kind != ActorKind.APPLICANT or not place.is_verified:
        return f"only the person, once verified, {what}"
    if until and within and not event.at < until <= event.at + within:
        return f"it {what} until {until}"
    return ""


class AcceptedWishesFold:
    """Promotions of people who had accepted a seat in advance, each with its confirmation."""

    def __init__(self) -> None:
        self._promoted: Event | None = None

    @property
    def is_unfinished(self) -> bool:
        """Tell whether the last row is a promotion that the next one must confirm."""
        return self._promoted is not None

    def row_fault(self, event: Event) -> str:
        """Name the fault of a row that is not the confirmation that the last promotion requires."""
        promoted, self._promoted = self._promoted, None
        confirms = event.event == EventType.ACKNOWLEDGED and ACCEPTED_UNTIL in event.data
        if promoted is None:
            return "it confirms a seat that nobody accepted in advance" if confirms else ""
        expected = (promoted.application_id, promoted.cause_seq or promoted.seq)
        said = promoted.data[ACCEPTED_UNTIL], promoted.at
        given = event.data.get(ACCEPTED_UNTIL), event.at
        if not confirms or given != said or (event.application_id, event.cause_seq) != expected:
            return "the seat before it was accepted in advance, and this does not confirm it"
        return ""

    def promotion_fault(self, event: Event, before: PlaceState) -> str:
        """Name the fault of a promotion that contradicts the person's wish. Remembers it."""
        said = parse_logged_time(event.data.get(ACCEPTED_UNTIL))
        if event.event != EventType.PROMOTED:
            is_other = said and event.event != EventType.ACKNOWLEDGED
            return f"{event.event} accepts no seat" if is_other else ""
        until = before.accept_until
        if said != (until if until and until > event.at else None):
            return f"its seat was accepted in advance until {until}, and it says {said}"
        self._promoted = event if said else None
        return ""


class ExtensionsFold:
    """Extensions of the open offers of a log so far, by who gave the time."""

    def __init__(self) -> None:
        self._given: dict[UUID, Counter[str]] = {}

    def fault(self, event: Event, place: PastPlace, before: PlaceState) -> str:
        """Name the fault of an extension; empty if all is well. `place` is the one after it."""
        who, was, until = place.application_id, before.acknowledge_by, place.acknowledge_by
        if event.event != EventType.DEADLINE_EXTENDED:
            self._given.pop(who, None)
            return ""
        given = self._given.setdefault(who, Counter())
        given[event.actor_kind] += 1
        if was is None or until is None or not event.at < was < until:
            return "it extends a deadline that has passed, or makes it no later"
        if PlaceState.of(place) != replace(before, acknowledge_by=until):
            return "it extends a deadline, and changes more than that"
        if event.actor_kind == ActorKind.COMPANY:
            too_often = given[event.actor_kind] > MOST_EXTENSIONS
            too_far = until > event.at + EXTEND_WITHIN
            return f"the company extends a deadline to {until}" if too_often or too_far else ""
        if event.actor_kind != ActorKind.SYSTEM or given[event.actor_kind] > 1:
            return "only the company extends an offer again, and nobody their own"
        return ""


# Fold of exceptions: the company moves one person before all others, and says how many it passed.


class ExceptionsFold:
    """Exceptions of a log so far, each with the fields of its row."""

    def __init__(self) -> None:
        self.logged: dict[int, tuple[UUID, datetime, str, int, int, int]] = {}

    def fault(
        self,
        event: Event,
        place: PastPlace,
        before: PlaceState,
        everyone: Iterable[PastPlace],
        next_ticket: int,
    ) -> str:
        """Name the fault of an exception; empty if all is well. `place` is the one after it.

        `everyone`: all places after it; `next_ticket`: a newcomer's.
        """
        if event.event != EventType.MOVED_AHEAD:
            return ""
        others = [
            each
            for each in everyone
            if each.status is Status.WAITLIST and each.application_id != place.application_id
        ]
        stood = (before.ticket, before.tie)
        passed = [each for each in others if each.is_verified and _key(each) < stood]
        if event.actor_kind != ActorKind.COMPANY or not place.is_verified:
            return "only the company moves a person ahead, once verified"
        if PlaceState.of(place) != replace(before, ticket=place.ticket, tie=place.tie):
            return "it moves a person ahead, and changes more than the place"
        first = min((*(each.ticket or 0 for each in others), next_ticket))
        if not passed or (place.ticket, place.tie) != (first - 1, event.seq):
            return "it moves a person ahead of nobody, or not to the front"
        said = [event.data[name] for name in (PEOPLE_PASSED, FROM_TICKET, FROM_TIE)]
        if said != [len(passed), *stood]:
            return f"it says that it passed {said[0]} people, the log adds up to {len(passed)}"
        reason = ExceptionReason(event.data[EXCEPTION])
        self.logged[event.seq] = (
            *(place.application_id, event.at, reason),
            *(event.data[FROM_TICKET], event.data[FROM_TIE], len(passed)),
        )
        return "" if len(self.logged) <= MOST_EXCEPTIONS else "the job has had too many exceptions"

    def differences(self, rows: Iterable[LineException]) -> Iterator[str]:
        """Compare the rows of all exceptions with the log."""
        live = {
            row.seq: (
                *(row.application_id, row.at, row.reason),
                *(row.from_ticket, row.from_tie, row.people_passed),
            )
            for row in rows
        }
        for seq in sorted(live.keys() | self.logged.keys()):
            if live.get(seq) != self.logged.get(seq):
                yield f"exception {seq}: its row is not what the log says"


def _key(place: PastPlace) -> tuple[int, int]:
    return place.ticket or 0, place.tie or 0


# Check of passes in a log: who asks to pass their next turn, and each turn that is passed. Like the
# rest of the fold, it shares no rule with the code that writes the log.


def pass_fault(
    event: Event, place: PastPlace, before: PlaceState, policy: Mapping[str, Any]
) -> str:
    """Name the fault of a pass, or of an event that one forbids; empty if all is well.

    `place` is the one after the event. Rules that are older than passes allow none.
    """
    held, most = PlaceState.of(place), policy.get("max_passes", 0)
    if event.event == EventType.PASS_ASKED:
        return pass_request_fault(event, place, held, before, most)
    if event.event == EventType.PASSED:
        return passed_turn_fault(event, held, before, policy)
    if event.from_status is None or event.event == EventType.PREACCEPTED:
        return "it passes a turn on joining" if held.pass_next and not event.from_status else ""
    seated, waits = place.status.holds_seat, place.status is Status.WAITLIST
    if held.passes_used != before.passes_used or held.pass_next != (before.pass_next and waits):
        return f"{event.event} must not change which turns are passed"
    if held.passed_at != (None if seated else before.passed_at):
        return f"{event.event} must not change when a turn was passed"
    if seated and before.pass_next:
        return "it offers a seat to a person who had asked to pass that turn"
    if seated and before.passed_at and before.eligible_at and before.eligible_at > event.at:
        return f"it offers a seat before the cool-down of a pass is over, at {before.eligible_at}"
    return ""


def pass_request_fault(
    event: Event, place: PastPlace, held: PlaceState, before: PlaceState, most: int
) -> str:
    """Name the fault of a person's request to pass the next turn."""
    kept = replace(before, pass_next=held.pass_next)
    if held.pass_next:
        kept = replace(kept, accept_until=None)
    if held != kept or held.pass_next == before.pass_next:
        return "it asks to pass a turn, or takes that back, and changes something else, or nothing"
    if event.actor_kind != ActorKind.APPLICANT or not place.is_verified:
        return "only the person, once verified, passes a turn"
    if held.pass_next and before.passes_used >= most:
        return f"it asks to pass a turn after {before.passes_used} passes, and {most} are allowed"
    return ""


def passed_turn_fault(
    event: Event, held: PlaceState, before: PlaceState, policy: Mapping[str, Any]
) -> str:
    """Name the fault of a turn that is passed."""
    until = event.at + timedelta(seconds=policy["cooldown_seconds"])
    passed = replace(
        before,
        passes_used=before.passes_used + 1,
        pass_next=False,
        passed_at=event.at,
        eligible_at=until,
        acknowledge_by=None,
        reserved_seat=False,
    )
    if event.from_status == Status.WAITLIST:
        if not before.pass_next or event.actor_kind != ActorKind.SYSTEM:
            return "it passes a turn that the person did not ask to pass"
        held_back = [each for each in (before.eligible_at, before.not_before) if each]
        if any(each > event.at for each in held_back):
            return "it passes a turn that cannot have come yet"
        return "" if held == passed else "it passes a turn, and changes more than that"
    most = policy.get("max_passes", 0)
    if event.actor_kind != ActorKind.APPLICANT:
        return "only the person passes an offer"
    if before.passes_used >= most:
        return f"it passes an offer after {before.passes_used} passes, and {most} are allowed"
    if before.acknowledge_by is None or before.acknowledge_by <= event.at:
        return "it passes an offer after its deadline"
    if held != replace(passed, ticket=held.ticket, tie=held.tie):
        return "it passes an offer, and changes more than that"
    return ""


# Fold of lost places: which place was someone's before a seat, a miss or a removal. Only that place
# is given back, and only that place is kept by a pass. Like the rest of the fold, it shares no rule
# with the code that writes the log.


Place = tuple[int | None, int | None]


class _Lost(NamedTuple):
    """Miss or removal that can be reversed: its seq, and the state that this restores."""

    seq: int
    misses: int
    place: Place
    eligible_at: datetime | None


class LostPlacesFold:
    """Places lost in a log so far. `check` returns the fault of the next row, or nothing."""

    def __init__(self) -> None:
        # The place before each seat, and each miss or removal that is the last event; after a
        # pass, the miss before its offer can still be reversed.
        self._offered: dict[UUID, Place] = {}
        self._lost: dict[UUID, _Lost] = {}
        self._lost_before_offer: dict[UUID, _Lost] = {}

    def check(
        self, event: Event, place: PastPlace, stood: Place, misses: int, policy: Mapping[str, Any]
    ) -> str:
        """Check that a place is given back once, or kept by a pass, as it was before.

        `place` is the one after the event; `stood` and `misses` are those before it.
        """
        who, stands = place.application_id, (place.ticket, place.tie)
        if event.event == EventType.REINSTATED:
            given = (event.cause_seq, place.decay_count, stands, place.eligible_at)
            if given != self._lost.get(who):
                return "it does not give back the place before the last miss"
        if event.event in (
            "DEADLINE_EXTENDED",
            "MOVED_AHEAD",
            "GROUP_NOTED",
            *WISHED,
            *OF_CONTESTS,
            *OF_ANSWERS,
        ):
            return ""
        if event.event == EventType.PASSED:
            return self.check_pass(event, place)
        before, lost = self._offered.pop(who, None), self._lost.pop(who, None)
        if place.status.holds_seat:
            if event.from_status is None:  # the place at which they would have joined
                behind = policy["penalty_places"] * place.decay_count
                stood = (event.data["next_ticket"] + behind, event.seq)
            self._offered[who] = before or stood
            if lost:
                self._lost_before_offer[who] = lost
        else:
            self._lost_before_offer.pop(who, None)
            self.note_loss(event, place, before, stood, misses)
        return ""

    def note_loss(
        self, event: Event, place: PastPlace, before: Place | None, stood: Place, misses: int
    ) -> None:
        """Remember the place that is lost through a miss or a removal."""
        who = place.application_id
        if before and event.event in (EventType.DECAYED, EventType.LAPSED):
            self._lost[who] = _Lost(event.seq, misses, before, None)
        elif event.event == EventType.REMOVED and event.outcome in CONTESTABLE:
            self._lost[who] = _Lost(event.seq, misses, before or stood, place.eligible_at)

    def check_pass(self, event: Event, place: PastPlace) -> str:
        """Check that a pass keeps the place. Its cool-down continues if a miss is reversed."""
        who = place.application_id
        if event.from_status == Status.PENDING_ACKNOWLEDGMENT:
            if (place.ticket, place.tie) != self._offered.pop(who, None):
                return "it passes an offer, and does not keep the place before it"
            if lost := self._lost_before_offer.pop(who, None):
                self._lost[who] = lost
        if lost := self._lost.get(who):
            self._lost[who] = lost._replace(eligible_at=place.eligible_at)
        return ""
