"""What a mail says about each event: one table."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from pipeline.domain.states import EventType, Outcome
from pipeline.notifications.messages import MAILS, Facts, may_have_mail, message_for

DEADLINE = "2026-11-22T08:00:59.000000Z"
FACTS = Facts(
    job_title="Boat\nbuilder",
    company="Harbour",
    confirm_link="https://line.example/confirm/x/",
    application_link="https://line.example/me/applications/y/",
    openings_link="https://line.example/",
    data_link="https://line.example/me/data/",
)
FIRST_SEATS = Facts(
    job_title="Boatbuilder",
    company="Harbour",
    confirm_link="https://line.example/confirm/x/",
    application_link="https://line.example/me/applications/y/",
    openings_link="https://line.example/",
    data_link="https://line.example/me/data/",
    asks_first_seats=True,
)


@dataclass
class Row:
    """A row of the log, as far as mails look at it."""

    event: str
    to_status: str | None = None
    outcome: str | None = None
    actor_kind: str = "SYSTEM"
    data: dict[str, Any] = field(default_factory=lambda: {"deadline": DEADLINE, "places": 1})
    application_id: UUID | None = field(default_factory=uuid4)
    seq: int = 7
    effective_at: datetime = datetime(2026, 11, 22, 8, 0, tzinfo=UTC)
    hash: bytes = bytes.fromhex("ab34" * 16)


def ended(outcome: Outcome, event: str = "REMOVED") -> Row:
    return Row(event, "INACTIVE", outcome.value)


def subject_of(row: Row, facts: Facts = FACTS) -> str:
    message = message_for(row, facts)
    assert message is not None
    return message.subject


def test_an_offer_begins_with_its_deadline_in_utc_and_its_link() -> None:
    message = message_for(Row("PROMOTED", "PENDING_ACKNOWLEDGMENT"), FACTS)

    assert message is not None
    assert message.subject == (
        "Your turn: confirm your seat for “Boat builder” by 08:00 UTC on 22 November 2026"
    )
    _hello, first, *_rest = message.text.split("\n\n")
    assert first == (
        "Confirm by 08:00 UTC on 22 November 2026, or the seat goes to the next person:\n"
        "https://line.example/confirm/x/"
    )


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (Row("DEADLINE_EXTENDED", "PENDING_ACKNOWLEDGMENT"), "More time"),
        (Row("DECAYED", "WAITLIST"), "You missed the deadline"),
        (ended(Outcome.LAPSED, "LAPSED"), "has ended: too many missed deadlines"),
        (ended(Outcome.REMOVED), "removed you from the line"),
        (ended(Outcome.REJECTED), "has decided on your application"),
        (ended(Outcome.HIRED), "You are hired"),
        (ended(Outcome.JOB_CLOSED, "CLOSED_OUT"), "has closed the job"),
        (Row("APPLIED", "WAITLIST", actor_kind="COMPANY"), "You were put forward"),
        (Row("APPLIED", "ACTIVE", actor_kind="COMPANY"), "You were put forward"),
        (Row("APPLIED", "PENDING_ACKNOWLEDGMENT", actor_kind="COMPANY"), "Your turn"),
    ],
)
def test_the_subject_tells_the_thing(row: Row, words: str) -> None:
    assert words in subject_of(row)
    assert "\n" not in subject_of(row)


@pytest.mark.parametrize("to_status", ["WAITLIST", "ACTIVE", "PENDING_ACKNOWLEDGMENT"])
def test_who_applied_by_themselves_has_seen_it(to_status: str) -> None:
    assert message_for(Row("APPLIED", to_status, actor_kind="APPLICANT"), FACTS) is None


@pytest.mark.parametrize("to_status", ["WAITLIST", "ACTIVE", "PENDING_ACKNOWLEDGMENT"])
def test_who_was_put_forward_reads_by_whom_and_how_to_be_left_alone(to_status: str) -> None:
    added = message_for(Row("APPLIED", to_status, actor_kind="COMPANY"), FACTS)
    promoted = message_for(Row("PROMOTED", "PENDING_ACKNOWLEDGMENT"), FACTS)

    assert added is not None
    assert "Harbour put you forward for this job" in added.text
    assert "withdraw" in added.text
    assert (
        "erase everything we store about you under “My data”:\nhttps://line.example/me/data/"
        in added.text
    )
    assert promoted is not None
    assert "put you forward" not in promoted.text


def test_each_ends_with_the_head_of_the_log() -> None:
    for row in (Row("PROMOTED", "PENDING_ACKNOWLEDGMENT"), ended(Outcome.REJECTED)):
        message = message_for(row, FACTS)

        assert message is not None
        assert message.text.splitlines()[-1] == f"Log 7:{'ab34' * 16}"


def test_a_first_seat_that_must_be_confirmed_is_told() -> None:
    row = Row("APPLIED", "PENDING_ACKNOWLEDGMENT", actor_kind="APPLICANT")

    assert "Your turn" in subject_of(row, FIRST_SEATS)


@pytest.mark.parametrize(
    "row", [Row("ACKNOWLEDGED", "ACTIVE"), ended(Outcome.WITHDRAWN, "WITHDRAWN")]
)
def test_what_they_did_themselves_is_not_told(row: Row) -> None:
    assert not may_have_mail(row)
    assert message_for(row, FACTS) is None


def test_changes_of_the_job_itself_are_told_to_nobody() -> None:
    assert not may_have_mail(Row("JOB_CLOSED", application_id=None))


def test_the_table_knows_only_events_and_outcomes() -> None:
    assert set(MAILS) <= {each.value for each in (*EventType, *Outcome)}
