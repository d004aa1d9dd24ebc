"""What a mail says about each event: one table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest

from jobs.policies import Policy
from pipeline.domain.states import MOST_EXTENSIONS, EventType, Outcome
from pipeline.notifications.messages import (
    MAILS,
    Facts,
    compose_event_email,
    compose_reminder,
    is_emailed,
)
from pipeline.notifications.rendering import render_html
from pipeline.texts.fields import greeted_name
from pipeline.wording.explanations import explain_next_miss

DEADLINE = "2026-11-22T08:00:59.000000Z"
FACTS = Facts(
    job_title="Boat\nbuilder",
    company="Harbour",
    confirm_link="https://line.example/confirm/x/",
    application_link="https://line.example/me/applications/y/",
    openings_link="https://line.example/",
    data_link="https://line.example/me/data/",
)
BERLIN = replace(FACTS, zone=ZoneInfo("Europe/Berlin"))


@dataclass
class Row:
    """A row of the log, as far as mails look at it."""

    event: str
    to_status: str | None = None
    from_status: str | None = None
    outcome: str | None = None
    actor_kind: str = "SYSTEM"
    data: dict[str, Any] = field(default_factory=lambda: {"deadline": DEADLINE, "places": 1})
    application_id: UUID | None = field(default_factory=uuid4)
    seq: int = 7
    effective_at: datetime = datetime(2026, 11, 22, 8, 0, tzinfo=UTC)
    hash: bytes = bytes.fromhex("ab34" * 16)


def ended(outcome: Outcome, event: str = "REMOVED") -> Row:
    return Row(event, "INACTIVE", "ACTIVE", outcome.value)


def subject_of(row: Row, facts: Facts = FACTS) -> str:
    message = compose_event_email(row, facts)
    assert message is not None
    return message.subject


def test_an_offer_begins_with_its_deadline_in_utc_and_its_link() -> None:
    facts = replace(FACTS, if_missed=explain_next_miss(Policy(penalty_places=2), 1))
    message = compose_event_email(Row("PROMOTED", "PENDING_ACKNOWLEDGMENT"), facts)

    assert message is not None
    assert message.subject == (
        "Your turn: confirm your seat for “Boat builder” by 08:00 UTC on 22 November 2026"
    )
    _hello, first, *_rest = message.text.split("\n\n")
    assert first == (
        "It is your turn. Confirm by 08:00 UTC on 22 November 2026. If you do nothing, the next"
        " person gets the seat. You go behind everyone in line and the next 4 people to join."
        "\nhttps://line.example/confirm/x/"
    )


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (Row("DEADLINE_EXTENDED", "PENDING_ACKNOWLEDGMENT"), "More time"),
        (Row("REINSTATED", "WAITLIST"), "You have your place back"),
        (Row("DECAYED", "WAITLIST"), "You missed the deadline"),
        (Row("CONTESTED", "INACTIVE", "INACTIVE", "REJECTED"), "You asked"),
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


def test_the_deadline_stands_in_the_readers_zone_and_in_utc() -> None:
    message = compose_event_email(Row("PROMOTED", "PENDING_ACKNOWLEDGMENT"), BERLIN)

    assert message is not None
    assert message.subject.endswith("by 09:00 on 22 November 2026 (Berlin)")
    assert "Confirm by 09:00 on 22 November 2026 (Berlin), 08:00 UTC." in message.text


def test_an_extended_deadline_goes_before_the_one_of_the_event() -> None:
    later = replace(FACTS, deadline=datetime(2026, 11, 23, 8, 0, tzinfo=UTC))

    message = compose_event_email(Row("PROMOTED", "PENDING_ACKNOWLEDGMENT"), later)

    assert message is not None
    assert "Confirm by 08:00 UTC on 23 November 2026" in message.text


@pytest.mark.parametrize("to_status", ["WAITLIST", "ACTIVE"])
def test_who_applied_gets_a_receipt_with_the_place(to_status: str) -> None:
    placed = replace(FACTS, place=1_234)

    message = compose_event_email(Row("APPLIED", to_status, actor_kind="APPLICANT"), placed)

    assert message is not None
    assert message.subject == "You have applied for “Boat builder” at Harbour"
    assert "Your place in line now: 1,234." in message.text
    assert FACTS.application_link in message.text


def test_a_reminder_begins_with_the_deadline() -> None:
    message = compose_reminder(BERLIN, datetime(2026, 11, 22, 8, 0, tzinfo=UTC))

    assert message.subject.startswith("Reminder: confirm your seat")
    assert "Confirm by 09:00 on 22 November 2026 (Berlin), 08:00 UTC" in message.text
    assert FACTS.confirm_link in message.text


@pytest.mark.parametrize("to_status", ["ACTIVE", "WAITLIST", "INACTIVE"])
def test_the_end_of_an_offer_takes_it_out_of_the_calendar(to_status: str) -> None:
    event = {"ACTIVE": "ACKNOWLEDGED", "WAITLIST": "DECAYED", "INACTIVE": "CLOSED_OUT"}[to_status]
    outcome = "JOB_CLOSED" if to_status == "INACTIVE" else None

    message = compose_event_email(Row(event, to_status, "PENDING_ACKNOWLEDGMENT", outcome), FACTS)

    assert message is not None
    assert message.calendar is not None
    assert (message.calendar.sequence, message.calendar.is_over) == (MOST_EXTENSIONS + 2, True)


def test_who_was_still_waiting_has_nothing_in_the_calendar() -> None:
    row = Row("CLOSED_OUT", "INACTIVE", "WAITLIST", "JOB_CLOSED")

    message = compose_event_email(row, FACTS)

    assert message is not None
    assert message.calendar is None


@pytest.mark.parametrize(
    ("name", "greeting"),
    [
        ("Ana Li", "Hello Ana Li,"),
        ("José María O’Brien-Díaz", "Hello José María O’Brien-Díaz,"),
        ("J. R. Smith Jr.", "Hello J. R. Smith Jr.,"),
        ("山田 太郎", "Hello 山田 太郎,"),
        ("", "Hello,"),
        ("Win at casino.example", "Hello,"),
        ("http://x", "Hello,"),
        ("Call 0900 1234", "Hello,"),
        ("a@b", "Hello,"),
        ("Very " * 20 + "Long", "Hello,"),
    ],
)
def test_an_email_greets_by_a_name_that_can_be_nothing_else(name: str, greeting: str) -> None:
    facts = replace(FACTS, name=greeted_name(name))

    message = compose_event_email(Row("PROMOTED", "PENDING_ACKNOWLEDGMENT"), facts)

    assert message is not None
    assert message.text.splitlines()[0] == greeting
    assert f"<p>{greeting}</p>" in render_html(message)


def test_a_rejection_thanks_and_says_that_one_can_ask_to_look_again(settings: Any) -> None:
    settings.CONTEST_DAYS = 14

    message = compose_event_email(ended(Outcome.REJECTED), FACTS)

    assert message is not None
    assert "Thank you for applying, and for your time." in message.text
    assert (
        "you have 14 days to ask the company to look again:\n" + FACTS.application_link
        in message.text
    )


@pytest.mark.parametrize("to_status", ["WAITLIST", "ACTIVE", "PENDING_ACKNOWLEDGMENT"])
def test_who_was_put_forward_reads_by_whom_and_how_to_be_left_alone(to_status: str) -> None:
    added = compose_event_email(Row("APPLIED", to_status, actor_kind="COMPANY"), FACTS)
    promoted = compose_event_email(Row("PROMOTED", "PENDING_ACKNOWLEDGMENT"), FACTS)

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
        message = compose_event_email(row, FACTS)

        assert message is not None
        assert message.text.splitlines()[-1] == f"Proof 7:{'ab34' * 16}"


def test_a_first_seat_that_must_be_confirmed_is_told() -> None:
    row = Row("APPLIED", "PENDING_ACKNOWLEDGMENT", actor_kind="APPLICANT")

    assert "Your turn" in subject_of(row)


def test_a_withdrawal_is_told_only_if_a_deadline_ran() -> None:
    waited = Row("WITHDRAWN", "INACTIVE", "WAITLIST", Outcome.WITHDRAWN.value)
    pending = Row("WITHDRAWN", "INACTIVE", "PENDING_ACKNOWLEDGMENT", Outcome.WITHDRAWN.value)

    assert not is_emailed(waited)
    assert compose_event_email(waited, FACTS) is None
    assert "You have withdrawn" in subject_of(pending)


def test_a_hire_is_congratulated_first_and_without_the_reason() -> None:
    row = ended(Outcome.HIRED)
    row.data["reason"] = "POSITION_FILLED"

    message = compose_event_email(row, FACTS)

    assert message is not None
    assert message.paragraphs[0].text.startswith("Congratulations!")
    assert "reason" not in " ".join(each.text for each in message.paragraphs)


def test_nobody_unverified_is_told_anything() -> None:
    row = Row("APPLIED", "WAITLIST", actor_kind="APPLICANT", data={"verify_by": DEADLINE})

    assert not is_emailed(row)
    assert compose_event_email(row, FACTS) is None


def test_changes_of_the_job_itself_are_told_to_nobody() -> None:
    assert not is_emailed(Row("JOB_CLOSED", application_id=None))


def test_the_table_knows_only_events_and_outcomes() -> None:
    assert set(MAILS) <= {each.value for each in (*EventType, *Outcome)}
