"""Why nobody is being promoted: one answer in every state, and the right one."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest

from pipeline.wording.status import Cause, PromotionFacts, explain_promotion

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SOON, PAST = NOW + timedelta(hours=1), NOW - timedelta(seconds=5)
LONG_AGO = NOW - timedelta(days=3)


def facts(**differing: Any) -> PromotionFacts:
    """An open job with two seats, both active, and someone waiting."""
    usual = {"status": "OPEN", "capacity": 2, "active": 2, "pending": 0, "waiting": 1, "now": NOW}
    return PromotionFacts(**usual | differing)


@pytest.mark.parametrize(
    ("differing", "cause", "tone"),
    [
        ({"status": "DRAFT", "active": 0, "waiting": 0}, Cause.DRAFT, "warn"),
        ({"status": "CLOSED"}, Cause.CLOSING_OUT, "warn"),
        ({"status": "CLOSED", "waiting": 0, "pending": 1}, Cause.CLOSING_OUT, "warn"),
        ({"status": "CLOSED", "worker_alive": False}, Cause.CLOSING_OUT, "bad"),
        ({"status": "CLOSED", "waiting": 0}, Cause.CLOSED, "plain"),
        (
            {"active": 1, "pending": 1, "first_deadline": PAST, "worker_alive": False},
            Cause.WORKER_SILENT,
            "bad",
        ),
        (
            {"status": "PAUSED", "pending": 1, "first_deadline": PAST, "worker_alive": False},
            Cause.WORKER_SILENT,
            "bad",
        ),
        (
            {"active": 1, "first_eligible": PAST, "worker_alive": False},
            Cause.WORKER_SILENT,
            "bad",
        ),
        ({"active": 1, "pending": 1, "first_deadline": PAST}, Cause.SETTLING, "plain"),
        ({"active": 1, "first_eligible": NOW}, Cause.SETTLING, "plain"),
        ({"status": "PAUSED"}, Cause.PAUSED, "warn"),
        ({"status": "PAUSED", "active": 1, "first_eligible": PAST}, Cause.PAUSED, "warn"),
        ({"active": 5}, Cause.DRAINING, "warn"),
        ({"active": 5, "waiting": 0}, Cause.DRAINING, "warn"),
        ({"waiting": 0}, Cause.NOBODY_WAITS, "good"),
        ({"active": 1, "waiting": 0}, Cause.SEATS_FREE, "good"),
        ({"active": 0, "first_eligible": SOON}, Cause.COOL_DOWNS, "plain"),
        ({"last_promotion": PAST}, Cause.MOVING, "good"),
        ({"last_promotion": LONG_AGO}, Cause.NO_SEAT_FREE, "warn"),
        ({"active": 1, "pending": 1, "first_deadline": SOON}, Cause.NO_SEAT_FREE, "plain"),
        ({"worker_alive": False, "first_eligible": PAST}, Cause.NO_SEAT_FREE, "warn"),
    ],
)
def test_each_state_has_its_answer(differing: dict[str, Any], cause: Cause, tone: str) -> None:
    answer = explain_promotion(facts(**differing))

    assert (answer.cause, answer.tone) == (cause, tone)


def test_the_answer_says_who_holds_the_seats_and_until_when() -> None:
    full = explain_promotion(facts(active=1, pending=1, first_deadline=SOON))

    assert "1 in review and 1 must confirm" in full.text
    assert full.at == SOON


@pytest.mark.parametrize(
    "differing",
    [
        {"status": "DRAFT", "active": 0, "waiting": 0},
        {"active": 1, "waiting": 0},
        {"active": 0, "first_eligible": SOON},
    ],
)
def test_a_seat_that_must_be_confirmed_is_only_offered(differing: dict[str, Any]) -> None:
    given = explain_promotion(facts(**differing)).next
    offered = explain_promotion(facts(**differing, offers_first_seat=True)).next

    assert re.search("gets? ", given)
    assert "offered" not in given
    assert "offered" in offered
    assert not re.search("gets? ", offered)


def test_one_seat_is_not_spoken_of_as_several() -> None:
    free = explain_promotion(facts(capacity=1, active=0, waiting=0))
    moving = explain_promotion(facts(capacity=1, active=1, last_promotion=PAST))
    many = explain_promotion(facts(last_promotion=PAST))

    assert free.next == "The next person who applies gets it."
    assert moving.text.startswith("The seat is taken again")
    assert moving.next.endswith("or when they withdraw.")
    assert many.text.startswith("Every seat is taken again")
    assert many.next.endswith("or when one of them withdraws.")


def test_a_line_that_moves_is_not_said_to_stand_still() -> None:
    moving = explain_promotion(facts(last_promotion=PAST))
    still = explain_promotion(facts(last_promotion=LONG_AGO))

    assert moving.title.startswith("The line is moving")
    assert "Nothing happens until then" not in moving.next
    assert "Nothing happens until then" in still.next


def test_a_drain_says_how_many_have_to_leave() -> None:
    assert "5 of 2" in explain_promotion(facts(active=5)).title
    assert "After 4 of them" in explain_promotion(facts(active=5)).next


def test_a_cool_down_says_when_it_ends() -> None:
    answer = explain_promotion(facts(active=0, waiting=3, first_eligible=SOON))

    assert answer.title == "Nobody waiting can be promoted yet."
    assert answer.at == SOON


def test_a_silent_worker_says_when_it_was_last_seen() -> None:
    late = {"pending": 1, "active": 1, "first_deadline": PAST, "worker_alive": False}

    assert explain_promotion(facts(**late, worker_seen=LONG_AGO)).at == LONG_AGO
    assert "never" in explain_promotion(facts(**late)).at_words


STATES = product(
    ["DRAFT", "OPEN", "PAUSED", "CLOSED"],
    [1, 3],
    range(4),
    range(4),
    range(3),
    [None, PAST, SOON],
    [None, PAST, SOON],
    [None, PAST, LONG_AGO],
    [None, LONG_AGO],
    [True, False],
)
NAMES = (
    "status capacity active pending waiting first_deadline first_eligible last_promotion"
    " worker_seen worker_alive"
).split()


def test_there_is_an_answer_in_every_state() -> None:
    for values in STATES:
        line = facts(**dict(zip(NAMES, values, strict=True)))

        answer = explain_promotion(line)

        said = (answer.title, answer.text, answer.next)
        assert all(said), line
        assert "None" not in "".join(said), line
        assert answer.tone in ("good", "plain", "warn", "bad"), line
        assert answer.at is None or answer.at_words, line
        assert_fits(line, answer.cause)


def assert_fits(line: PromotionFacts, cause: Cause) -> None:
    """Check that the statements of the causes about the line hold."""
    if cause in (Cause.NO_SEAT_FREE, Cause.MOVING, Cause.NOBODY_WAITS):
        assert not line.free, line
    if cause in (Cause.SEATS_FREE, Cause.COOL_DOWNS):
        assert line.free, line
    if cause in (Cause.COOL_DOWNS, Cause.NO_SEAT_FREE, Cause.MOVING):
        assert line.waiting, line
    if cause is Cause.WORKER_SILENT:
        assert not line.worker_alive, line
    if cause is Cause.DRAINING:
        assert line.held > line.capacity, line
    assert (cause is Cause.DRAFT) == (line.status == "DRAFT"), line
    assert (cause in (Cause.CLOSED, Cause.CLOSING_OUT)) == (line.status == "CLOSED"), line
