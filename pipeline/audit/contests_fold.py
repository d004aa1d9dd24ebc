"""Fold of contests: an end is contested once, answered once, and nothing but the answer changes it.

Like the rest of the fold, it shares no rule with the code that writes the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import NamedTuple
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
from pipeline.domain.states import ActorKind, EventType
from pipeline.line.event_log import parse_logged_time
from pipeline.models import Contest, Event
from pipeline.selectors.past_states import PastPlace


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
            return "it contests another end, or one that was contested before"
        if event.actor_kind != ActorKind.APPLICANT:
            return "only the person contests an end"
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
