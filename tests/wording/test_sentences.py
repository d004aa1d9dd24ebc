"""Sentences about events: each kind has one for people and one for companies."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from jobs.policies import Policy
from pipeline.domain.contests import OF_CONTESTS, REASONS_OF, ContestAnswer, ContestReason
from pipeline.domain.events import OPENS_AND_CLOSES, put_forward, with_reason
from pipeline.domain.states import (
    ACCEPTED_UNTIL,
    CLOSES_AT,
    DRAW_AT,
    FILLED_BY,
    OPENS_AT,
    PLANNED_CHANGE,
    PLANNED_SEATS,
    POSITIONS,
    QUESTION_ID,
    RESERVED_SEATS,
    RESERVED_UNTIL,
    UNVERIFIED,
    VIA_KEY,
    ActorKind,
    EventType,
    Reason,
    ReinstatementReason,
)
from pipeline.domain.verbs import AFTER_REMOVAL, EVENTS, MOVES, OUTCOMES, WISHED
from pipeline.line.event_log import logged_time
from pipeline.wording import sentences
from pipeline.wording.events import CONTEST_REASON_WORDS, find_words
from pipeline.wording.sentences import SENTENCES, Reader

NOON = datetime(2026, 3, 1, 12, 0, 59, 999_999, tzinfo=UTC)
HOUR = timedelta(hours=1)

STEPS = sorted({(EVENTS[move], str(to), OUTCOMES.get(move)) for (_, move), to in MOVES.items()})
JOB_EVENTS = [event for event in EventType if event not in {step[0] for step in STEPS}]
ALL = STEPS + [(event, "OPEN", None) for event in JOB_EVENTS]


@dataclass
class Row:
    """A row of the log, as far as a sentence looks at it."""

    event: str
    to_status: str | None = None
    outcome: str | None = None
    actor_kind: str = "APPLICANT"
    effective_at: datetime = NOON
    data: dict[str, Any] = field(default_factory=dict)


FACTS = {
    "deadline": logged_time(NOON + HOUR),
    "eligible_at": logged_time(NOON + 2 * HOUR),
    "not_before": logged_time(NOON + 3 * HOUR),
    "accept_until": logged_time(NOON + 4 * HOUR),
    "places": 2,
    "decay_count": 1,
    "capacity": 3,
    "reason": "NOT_A_MATCH",
    "missed": logged_time(NOON),
    "policy": Policy().values(),
}


def facts_of(event: EventType) -> dict[str, Any]:
    """The data of a kind of event."""
    if event in OF_CONTESTS:
        answer = {"answer": "UPHELD", "reason": "DECISION_STANDS"}
        return {"decay_count": 1, "answer_by": logged_time(NOON)} | (
            answer if event == EventType.CONTEST_ANSWERED else {}
        )
    if event == EventType.QUESTION_ASKED:
        return {"decay_count": 1, "answer_by": logged_time(NOON)}
    return FACTS | ({"reason": "OUR_ERROR"} if event == EventType.REINSTATED else {})


@pytest.mark.parametrize("reader", Reader)
@pytest.mark.parametrize("actor", ActorKind)
@pytest.mark.parametrize("step", ALL, ids=str)
def test_every_event_and_outcome_has_a_sentence(
    step: Any, actor: ActorKind, reader: Reader
) -> None:
    event, to_status, outcome = step

    said = sentences.compose(Row(event, to_status, outcome, actor, data=facts_of(event)), reader)

    assert re.fullmatch(r"[A-Z][^{}]*\.", said)
    assert "None" not in said
    assert "unknown" not in said
    assert all(time in said for time in re.findall(r"\d\d:\d\d[^.,]*", said) if "UTC" in time)
    assert len(re.findall(r"\d\d:\d\d", said)) == said.count(" UTC on ")


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_an_applicant_is_you_and_a_company_reads_of_the_applicant(step: Any) -> None:
    event, to_status, outcome = step
    row = Row(event, to_status, outcome, data=facts_of(event))

    to_them, to_company = (
        sentences.compose(row, Reader.APPLICANT),
        sentences.compose(row, Reader.COMPANY),
    )

    assert "the applicant" not in to_them.lower()
    assert not re.search(r"\byour?s?\b", to_company, re.I)
    if event is not EventType.CLOSED_OUT:
        assert re.search(r"\byou", to_them, re.I)


def test_the_table_has_nothing_that_never_happens() -> None:
    possible = {(event, what) for event, to, outcome in ALL for what in (to, outcome, None)}

    possible |= {(EventType.APPLIED, UNVERIFIED), (EventType.LAPSED, UNVERIFIED)}
    possible |= {(EventType.ACKNOWLEDGED, VIA_KEY), (EventType.WITHDRAWN, VIA_KEY)}
    possible |= {(EventType.APPLIED, DRAW_AT), (EventType.ANSWERS_CHANGED, QUESTION_ID)}
    possible |= set(WISHED.items())
    possible |= {(EventType.PROMOTED, ACCEPTED_UNTIL), (EventType.ACKNOWLEDGED, ACCEPTED_UNTIL)}
    possible |= {(EventType.PROMOTED, cause) for cause in (EventType.PASSED, EventType.VERIFIED)}
    possible |= {(EventType.CONTEST_ANSWERED, each) for each in ContestAnswer}
    possible.add((EventType.REINSTATED, AFTER_REMOVAL))
    possible |= {(EventType.CAPACITY_CHANGED, PLANNED_SEATS), (EventType.PROMOTED, PLANNED_SEATS)}
    possible |= {(EventType.JOB_OPENED, ActorKind.SYSTEM), (EventType.JOB_CLOSED, ActorKind.SYSTEM)}
    possible |= {(EventType.JOB_CLOSED, FILLED_BY), (EventType.POSITIONS_CHANGED, POSITIONS)}
    possible.add((EventType.DEADLINE_EXTENDED, ActorKind.COMPANY))
    admitted = (DRAW_AT, *(to for event, to, _ in STEPS if event is EventType.APPLIED))
    possible |= {(EventType.APPLIED, put_forward(what)) for what in admitted}
    removed = (outcome for event, _, outcome in STEPS if event is EventType.REMOVED)
    possible |= {(EventType.REMOVED, with_reason(what)) for what in removed if what}
    reserve = (RESERVED_SEATS, RESERVED_UNTIL, ActorKind.SYSTEM)
    possible |= {(EventType.RESERVE_CHANGED, what) for what in reserve}
    dates = (OPENS_AT, CLOSES_AT, OPENS_AND_CLOSES)
    possible |= {(EventType.DATES_CHANGED, what) for what in dates}
    assert {key for key in SENTENCES if key not in possible} == set()


@pytest.mark.parametrize("reader", Reader)
@pytest.mark.parametrize(
    "step", [("ACKNOWLEDGED", "ACTIVE", None), ("WITHDRAWN", "INACTIVE", "WITHDRAWN")]
)
def test_an_act_on_the_companys_own_site_is_said_to_be_one(step: Any, reader: Reader) -> None:
    through, here = Row(*step, data={VIA_KEY: "a key"}), Row(*step)

    assert "on the company’s own site" in sentences.compose(through, reader)
    assert "own site" not in sentences.compose(here, reader)


@pytest.mark.parametrize("reader", Reader)
def test_planned_seats_are_said_to_be_planned(reader: Reader) -> None:
    as_planned = Row("CAPACITY_CHANGED", data=FACTS | {PLANNED_SEATS: "a plan"})

    said = "As planned for 12:00 UTC on 1 March 2026, the number of seats changed: 3 seats."
    assert sentences.compose(as_planned, reader) == said
    assert "The company changed" in sentences.compose(Row("CAPACITY_CHANGED", data=FACTS), reader)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (Row("JOB_CLOSED", actor_kind="SYSTEM"), "As announced for 12:00 UTC on 1 March 2026"),
        (Row("JOB_OPENED", actor_kind="SYSTEM"), "As announced for 12:00 UTC on 1 March 2026"),
        (Row("JOB_CLOSED", actor_kind="COMPANY"), "The company closed the job."),
        (Row("JOB_CLOSED", actor_kind="COMPANY", data={FILLED_BY: 3}), "The last position was"),
        (Row("POSITIONS_CHANGED", data={POSITIONS: 2}), "to fill: 2 positions."),
        (Row("POSITIONS_CHANGED", data={}), "open-ended"),
        (Row("DATES_CHANGED", data={CLOSES_AT: logged_time(NOON)}), "closes at 12:00 UTC"),
        (Row("DATES_CHANGED", data={OPENS_AT: logged_time(NOON)}), "opens at 12:00 UTC"),
        (
            Row(
                "DATES_CHANGED",
                data={OPENS_AT: logged_time(NOON), CLOSES_AT: logged_time(NOON + HOUR)},
            ),
            "and closes at 13:00 UTC",
        ),
        (Row("DATES_CHANGED", data={}), "took back the announced date"),
        (Row("SEATS_KEPT", data={PLANNED_CHANGE: -2}), "1 March 2026, 2 seats were to close."),
    ],
)
def test_positions_and_dates_are_said_in_words(row: Row, said: str) -> None:
    assert said in sentences.compose(row, Reader.COMPANY)


@pytest.mark.parametrize("reader", Reader)
@pytest.mark.parametrize("event", ["APPLIED", "LAPSED"])
def test_an_unverified_application_is_said_to_be_one(event: str, reader: Reader) -> None:
    data = FACTS | {"verify_by": logged_time(NOON + 24 * HOUR), "reason": UNVERIFIED}

    said = sentences.compose(
        Row(event, "WAITLIST", data=data, effective_at=NOON + 24 * HOUR), reader
    )

    assert "email address" in said
    assert "12:00 UTC on 2 March 2026" in said
    assert ("misses still count" in said) is False


def test_a_miss_says_what_it_costs() -> None:
    decayed = Row("DECAYED", "WAITLIST", data=FACTS)

    assert sentences.compose(decayed, Reader.APPLICANT) == (
        "You missed the deadline of 12:00 UTC on 1 March 2026 and lost the seat. You went behind "
        "everyone in line and the next 2 people to join. After a miss, you can be offered a seat "
        "again from 14:00 UTC on 1 March 2026."
    )
    one, none = FACTS | {"places": 1}, FACTS | {"places": 0}
    to_company = sentences.compose(Row("DECAYED", data=one), Reader.COMPANY)
    assert "behind everyone in line and the next person to join." in to_company
    assert "The applicant went to the end of the line. " in sentences.compose(
        Row("DECAYED", data=none), Reader.COMPANY
    )


def test_times_are_in_utc_wherever_they_were_written() -> None:
    elsewhere = NOON.astimezone(timezone(timedelta(hours=-8)))

    said = sentences.compose(Row("DECAYED", data=FACTS, effective_at=elsewhere), Reader.APPLICANT)

    assert "12:00 UTC on 1 March 2026" in said


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_of_a_company_is_said(reason: Reason) -> None:
    removed = Row("REMOVED", "INACTIVE", "REMOVED", "COMPANY", data={"reason": reason.value})

    assert "(reason: " in sentences.compose(removed, Reader.APPLICANT)
    assert reason.value not in sentences.compose(removed, Reader.APPLICANT)
    without = Row("REMOVED", "INACTIVE", "REMOVED", "COMPANY")
    assert "reason" not in sentences.compose(without, Reader.APPLICANT)


@pytest.mark.parametrize("reason", ReinstatementReason)
def test_every_reason_for_giving_a_place_back_is_said(reason: ReinstatementReason) -> None:
    facts = {"reason": reason.value, "missed": logged_time(NOON)}
    said = sentences.compose(Row("REINSTATED", "WAITLIST", data=facts), Reader.APPLICANT)

    assert (
        f"12:00 UTC on 1 March 2026. Its reason: {CONTEST_REASON_WORDS[ContestReason(reason)]}."
        in said
    )


ANSWERS = [(answer, reason) for answer, reasons in REASONS_OF.items() for reason in reasons]


@pytest.mark.parametrize(("answer", "reason"), ANSWERS)
def test_every_answer_to_a_contest_is_said(answer: ContestAnswer, reason: ContestReason) -> None:
    facts = {"answer": answer.value, "reason": reason.value}
    said = sentences.compose(
        Row("CONTEST_ANSWERED", "INACTIVE", "REJECTED", data=facts), Reader.APPLICANT
    )

    assert str(CONTEST_REASON_WORDS[reason]) in said or answer is ContestAnswer.DROPPED
    assert ("your place back" in said) == (answer is ContestAnswer.CHANGED)


def test_a_place_after_a_decision_was_cost_by_no_deadline() -> None:
    said = sentences.compose(
        Row("REINSTATED", "WAITLIST", data={"reason": "OUR_ERROR"}), Reader.APPLICANT
    )

    assert said.startswith("The company reversed its decision and gave you your earlier place back")
    assert "deadline" not in said


def test_what_never_happens_has_no_sentence() -> None:
    with pytest.raises(KeyError):
        sentences.compose(Row("APPLIED", "INACTIVE"), Reader.APPLICANT)


def test_times_within_minutes_show_their_seconds() -> None:
    minute = FACTS | {"eligible_at": logged_time(NOON + timedelta(minutes=1))}

    said = sentences.compose(Row("DECAYED", data=minute), Reader.APPLICANT)

    assert "the deadline of 12:00:59 UTC" in said
    assert "from 12:01:59 UTC" in said


def test_a_pause_of_less_than_a_minute_is_not_spoken_of() -> None:
    moment = FACTS | {"eligible_at": logged_time(NOON + timedelta(seconds=59))}

    said = sentences.compose(Row("DECAYED", data=moment), Reader.APPLICANT)

    assert "again" not in said


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        ("PASSED", "The person ahead passed their turn, so the seat was offered to you."),
        ("VERIFIED", "A seat was free, so it was offered to you."),
        ("REMOVED", "A seat opened and it was your turn, so it was offered to you."),
        (None, "A seat opened and it was your turn, so it was offered to you."),
    ],
)
def test_an_offer_says_why_it_came(cause: str | None, words: str) -> None:
    promoted = Row("PROMOTED", "PENDING_ACKNOWLEDGMENT", data=FACTS)

    assert sentences.compose(promoted, Reader.APPLICANT, cause=cause).startswith(words)


@pytest.mark.parametrize(
    ("event", "data", "words", "title"),
    [
        ("PASSED", {}, "The applicant passed their turn", "Passed a turn"),
        (
            "PASS_ASKED",
            {"pass_next": True},
            "The applicant asked to pass their next turn.",
            "Asked to pass a turn",
        ),
        (
            "PASS_ASKED",
            {},
            "The applicant took back their wish to pass the next turn.",
            "Took back the wish to pass",
        ),
    ],
)
def test_a_company_reads_of_a_passed_turn_in_plain_words(
    event: str, data: dict[str, Any], words: str, title: str
) -> None:
    row = Row(event, "WAITLIST", data=data)

    assert sentences.compose(row, Reader.COMPANY).startswith(words)
    assert find_words(row).company == title
