"""Wording for emails about applications: kinds, states and problems. Pure."""

from __future__ import annotations

from pipeline.domain.states import EventType, Outcome

KIND_WORDS: dict[str, str] = {
    EventType.APPLIED: "Application received",
    EventType.VERIFIED: "In line",
    EventType.PROMOTED: "Seat offered",
    EventType.ACKNOWLEDGED: "Seat confirmed",
    EventType.DEADLINE_EXTENDED: "More time to confirm",
    EventType.DECAYED: "Deadline missed",
    EventType.PASSED: "Turn passed",
    EventType.REINSTATED: "Place given back",
    EventType.PLACED: "Place drawn",
    EventType.CONTESTED: "Look again: received",
    EventType.CONTEST_ANSWERED: "Look again: answer",
    Outcome.LAPSED: "Application ended",
    Outcome.WITHDRAWN: "Withdrawal",
    Outcome.REMOVED: "Removed from the line",
    Outcome.REJECTED: "Decision",
    Outcome.HIRED: "Decision",
    Outcome.JOB_CLOSED: "Job closed",
    "REMINDER_HALF": "Reminder, half the time left",
    "REMINDER_HOUR": "Reminder, an hour left",
    "REMINDER_YES": "Reminder, yes in advance ends",
}

# The label of a state, and its tone.
STATE_WORDS: dict[str, tuple[str, str]] = {
    "QUEUED": ("Being sent", "wait"),
    "SENT": ("Sent", "good"),
    "FAILED": ("Not sent", "bad"),
    "BOUNCED": ("Sent back", "bad"),
    "COMPLAINED": ("Marked as unwanted", "warn"),
}

PROBLEM_WORDS: dict[str, str] = {
    "OVER": "It was no longer needed by the time it could be sent.",
    "UNREACHABLE": "The mail server could not be reached for half a day.",
    "TOO_MANY": "Your company has sent this person too many emails within a day.",
    "UNSUPPORTED": "The mail server does not support the special characters in this address.",
    "BAD_ADDRESS": "The mail server cannot write to this address.",
    "REFUSED": "The mail provider refuses to write to this address.",
    "BOUNCED": "The recipient’s mail server sent it back.",
    "COMPLAINED": "The recipient marked it as unwanted.",
}


def email_problem_in_words(code: str) -> str:
    """Return why an email was not delivered; a number is the mail server's own code."""
    if code.isdecimal():
        return f"The recipient’s mail server refused it (code {code}). Check the address."
    return PROBLEM_WORDS.get(code, "")
