"""Explanations of a line: its rules, the effect of doing nothing, and why a place changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from jobs.policies import DAY, Policy
from pipeline.domain.states import EventType, Outcome, Status
from pipeline.wording.events import ENDING_WORDS
from pipeline.wording.explanations import (
    ExplainedStanding,
    explain_doing_nothing,
    explain_line,
)
from pipeline.wording.waiting import PlaceChange, explain_moved_position

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


def rules(capacity: int = 3, **policy: Any) -> str:
    sentences = explain_line(Policy(**policy), capacity)
    assert len(sentences) == 7
    assert all(each.endswith(".") for each in sentences)
    return " ".join(sentences)


def test_the_rules_name_every_value_of_the_policy() -> None:
    said = rules(
        acknowledgment_window_seconds=30 * 3600, penalty_places=2, max_decays=3, cooldown_seconds=90
    )

    assert "3 applicants at a time" in said
    assert "They have 1 day and 6 hours to confirm it" in said
    assert "behind everyone in line and the next 2 people to join." in said
    assert "After a second miss, behind the next 4 people to join, and so on." in said
    assert "You can miss three deadlines and stay in line. One more ends the application." in said
    assert "for 1 minute and 30 seconds" in said


def test_rules_shorter_than_a_minute_are_not_spoken_of() -> None:
    told = explain_line(Policy(cooldown_seconds=59), 3)

    assert len(told) == 6
    assert not any("second" in each.replace("a second miss", "") for each in told)


def test_the_rules_say_who_can_get_ahead() -> None:
    told = rules()

    assert "Nobody who joined after you gets ahead of you unless you miss a deadline." in told
    assert "the company can cancel a miss or reverse a decision" in told


def test_the_rules_of_the_edges() -> None:
    assert "One applicant at a time" in rules(1)
    assert "You go behind everyone in line and the next person to join." in rules(penalty_places=1)
    assert "You go to the end of the line." in rules(penalty_places=0)
    assert "However many deadlines you miss" in rules(max_decays=None)
    assert "One missed deadline ends" in rules(max_decays=0)
    assert "You can miss one deadline and" in rules(max_decays=1)
    assert "second miss" not in rules(max_decays=1)
    assert "If you are signed in already, it is yours at once." in rules()
    assert "You confirm it like everyone else" in rules(acknowledge_first_seat=True)
    assert "They have 24 hours to confirm it." in rules()


def standing(status: Status, misses: int = 0, **more: Any) -> ExplainedStanding:
    policy = more.pop("policy", Policy())
    return ExplainedStanding(status=status, policy=policy, now=NOW, misses=misses, **more)


@pytest.mark.parametrize(
    ("misses", "policy", "words"),
    [
        (0, Policy(), "behind everyone in line and the next person to join."),
        (
            0,
            Policy(),
            "You could then miss two more deadlines, and one more would end the application.",
        ),
        (
            1,
            Policy(),
            "You could then miss one more deadline, and one more would end the application.",
        ),
        (1, Policy(), "the next 2 people to join."),
        (2, Policy(), "The next miss after that ends the application."),
        (3, Policy(), "Your application ends. This would be miss number 4."),
        (0, Policy(max_decays=0), "Your application ends. You could apply again"),
        (9, Policy(max_decays=None), "However often that happens, you stay in line."),
    ],
)
def test_an_offer_names_the_exact_loss(misses: int, policy: Policy, words: str) -> None:
    deadline = NOW + timedelta(seconds=DAY)
    pending = standing(Status.PENDING_ACKNOWLEDGMENT, misses, policy=policy, deadline=deadline)

    assert words in explain_doing_nothing(pending)
    assert explain_doing_nothing(pending).startswith(
        "If you do nothing, the next person gets the seat. You"
    )


def test_times_are_told_in_the_readers_zone() -> None:
    cooling = standing(Status.WAITLIST, 1, eligible_at=NOW + timedelta(hours=1))

    said = explain_doing_nothing(cooling, ZoneInfo("America/New_York"))

    assert "before 04:00 on 21 November 2026 (New York)" in said


def test_waiting_is_told_with_what_holds_it_up() -> None:
    waiting, cooling = Status.WAITLIST, NOW + timedelta(minutes=5)

    assert "When it is your turn, we email you" in explain_doing_nothing(standing(waiting))
    assert "paused" in explain_doing_nothing(standing(waiting, job_status="PAUSED"))
    assert "before 08:05 UTC" in explain_doing_nothing(standing(waiting, 1, eligible_at=cooling))
    assert "before" not in explain_doing_nothing(standing(waiting, 1, eligible_at=NOW))


def test_waiting_with_a_wish_is_told_without_a_contradiction() -> None:
    until = NOW + timedelta(days=1)

    passing = explain_doing_nothing(standing(Status.WAITLIST, pass_next=True))
    accepting = explain_doing_nothing(standing(Status.WAITLIST, accept_until=until))

    assert passing == (
        "You keep your place in line. You pass your next turn. That seat goes to the person behind"
        " you."
    )
    assert "When it is your turn, we email you" not in accepting
    assert "the seat is yours at once. If it comes later, we email you" in accepting
    assert accepting.count("said yes") == 1


@pytest.mark.parametrize("status", [Status.WAITLIST, Status.PENDING_ACKNOWLEDGMENT])
def test_on_a_closed_job_it_is_about_to_end(status: Status) -> None:
    assert "about to end" in explain_doing_nothing(standing(status, job_status="CLOSED"))


def test_a_deadline_that_has_passed_is_no_threat_any_more() -> None:
    late = standing(Status.PENDING_ACKNOWLEDGMENT, deadline=NOW)

    assert "The deadline has passed" in explain_doing_nothing(late)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_end_says_what_can_be_done(outcome: Outcome) -> None:
    assert (
        explain_doing_nothing(standing(Status.INACTIVE, outcome=outcome))
        == ENDING_WORDS[outcome].advice
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (PlaceChange(EventType.APPLIED, NOW, own=True), "You joined the line."),
        (PlaceChange(EventType.DECAYED, NOW, own=True), "You missed a deadline"),
        (PlaceChange(EventType.PROMOTED, NOW, own=True), ""),  # read while they still waited
        (PlaceChange(EventType.PROMOTED, NOW), "Someone ahead of you was offered a seat"),
        (PlaceChange(EventType.PROMOTED, NOW, 3), "Three people ahead of you were offered"),
        (PlaceChange(EventType.REMOVED, NOW, 12), "12 people ahead of you left the line"),
        (PlaceChange(EventType.APPLIED, NOW), "You moved back by one"),
        (PlaceChange(EventType.REINSTATED, NOW), "Someone is ahead of you again"),
        (PlaceChange(EventType.REINSTATED, NOW, 2), "Two people are ahead of you again"),
        (PlaceChange(EventType.REINSTATED, NOW, own=True), "gave you back the place"),
        (PlaceChange(EventType.PASSED, NOW), "Someone who passed a turn is ahead of you again"),
        (PlaceChange(EventType.PASSED, NOW, own=True), "You passed a turn, and kept your place."),
    ],
)
def test_a_change_of_place_has_a_reason(change: PlaceChange, words: str) -> None:
    assert words in explain_moved_position(change)


@pytest.mark.parametrize(
    ("quiet", "said"),
    [
        (
            {"quiet_from": "22:00", "quiet_to": "08:00", "quiet_weekends": True},
            "That time does not run from 22:00 to 08:00 your time or at weekends. If we do not know"
            " your zone, Europe/Berlin counts.",
        ),
        (
            {"quiet_weekends": True},
            "That time does not run at weekends. If we do not know your zone, Europe/Berlin"
            " counts.",
        ),
    ],
)
def test_the_rules_say_when_the_time_to_confirm_does_not_run(
    quiet: dict[str, Any], said: str
) -> None:
    policy = {"quiet_time_zone": "Europe/Berlin"} | quiet

    assert f" to confirm it. {said}" in rules(**policy)
    waiting = ExplainedStanding(Status.WAITLIST, Policy(**policy), NOW)
    assert said.partition(".")[0] in explain_doing_nothing(waiting)
    assert "does not run" not in rules()
