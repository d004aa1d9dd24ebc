"""Words about events, ends, contests and emails. Pure."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from jobs.models import JobStatus
from pipeline.domain.contests import REASONS_OF, ContestAnswer, ContestReason
from pipeline.domain.events import EventWords
from pipeline.domain.states import (
    CHOSEN_REASONS,
    QUESTION_ID,
    UNVERIFIED,
    VIA_KEY,
    ActorKind,
    EventType,
    Outcome,
    Reason,
    ReinstatementReason,
    Status,
)
from pipeline.domain.verbs import DECLARED, TAKEN_BACK
from pipeline.models import OVERTAKEN
from pipeline.wording.english import capitalized


class EndingWords(NamedTuple):
    """An outcome as the applicant reads it: a headline, and what they can do now."""

    headline: str
    advice: str


ENDING_WORDS: dict[Outcome, EndingWords] = {
    Outcome.WITHDRAWN: EndingWords(
        "You withdrew this application.",
        "You can apply again while the job is open. You would join at the end of the line, and"
        " earlier misses still count.",
    ),
    Outcome.REMOVED: EndingWords(
        "The company removed your application from the line.",
        "Is this a mistake? Contact the company, or apply again while the job is open.",
    ),
    Outcome.REJECTED: EndingWords(
        "The company has decided not to continue with your application.",
        "Thank you for applying. For this job, only the company can add you again. You can apply"
        " to any other job.",
    ),
    Outcome.HIRED: EndingWords(
        "You are hired. Congratulations!",
        "The company will contact you about the next steps. There is nothing more to do here.",
    ),
    Outcome.LAPSED: EndingWords(
        "This application ended: too many deadlines were missed.",
        "You can apply again while the job is open. Your misses still count, so people who join"
        " after you would pass you.",
    ),
    Outcome.JOB_CLOSED: EndingWords(
        "The company closed this job, so your application ended.",
        "You did nothing wrong. The job closed before you had a confirmed seat. Thank you for"
        " waiting.",
    ),
}

# The ending of an application that was never verified: LAPSED, without a miss.
NEVER_VERIFIED = EndingWords(
    "This application ended: nobody verified the email address in time.",
    "It does not count as a miss. You can apply while the job is open.",
)


# Words about contests, and about the reasons for giving a place back. Pure.


# They include the reasons for giving a place back.
CONTEST_REASON_WORDS: dict[ContestReason, str] = {
    ContestReason.DECISION_STANDS: "the decision was right",
    ContestReason.NO_PLACE_LEFT: "there is no place left to give back",
    ContestReason.OUR_ERROR: "an error on the company’s side",
    ContestReason.NEW_INFORMATION: "the applicant’s explanation",
    ContestReason.MAIL_FAILURE: "an email that did not arrive in time",
    ContestReason.ACCOMMODATION: "an accommodation for the applicant",
    ContestReason.PERSON_ERASED: "the applicant’s data was erased",
}

# The answers that a company can give, in the order of the form.
ANSWER_WORDS: dict[ContestAnswer, str] = {
    ContestAnswer.UPHELD: "It stays as it is",
    ContestAnswer.CHANGED: "Give their place back",
}


def contest_reason_choices() -> list[tuple[str, str]]:
    """Return the reasons that a company can choose, as form choices that begin with the answer."""
    return [
        (reason.value, f"{words}: {CONTEST_REASON_WORDS[reason]}")
        for answer, words in ANSWER_WORDS.items()
        for reason in REASONS_OF[answer]
    ]


def reinstatement_reason_choices() -> list[tuple[str, str]]:
    """Return every reason for giving a place back with its label, as form choices."""
    return [
        (reason.value, capitalized(CONTEST_REASON_WORDS[ContestReason(reason)]))
        for reason in ReinstatementReason
    ]


# Labels and titles of events, outcomes, statuses, reasons and actors, one table each. Pure. Full
# sentences about events are in `sentences`; the words for background tasks in `task_words`.


class StatusWords(NamedTuple):
    """The label of a status or an outcome, and its tone: good, wait, warn, bad or plain."""

    label: str
    tone: str = "plain"


class DecisionWords(NamedTuple):
    """A company's decision: the button's verb, the past participle, and the meaning."""

    verb: str
    done: str
    meaning: str


class Loggable(Protocol):
    """The fields of a log row that decide its words."""

    event: str
    from_status: str | None
    outcome: str | None
    data: Any


STATUS_WORDS: dict[str, StatusWords] = {
    Status.WAITLIST: StatusWords("Waiting"),
    Status.PENDING_ACKNOWLEDGMENT: StatusWords("Must confirm", "warn"),
    Status.ACTIVE: StatusWords("In review", "good"),
    Outcome.WITHDRAWN: StatusWords("Withdrawn"),
    Outcome.REMOVED: StatusWords("Removed"),
    Outcome.REJECTED: StatusWords("Not selected", "bad"),
    Outcome.HIRED: StatusWords("Hired", "good"),
    Outcome.LAPSED: StatusWords("Lapsed", "bad"),
    Outcome.JOB_CLOSED: StatusWords("Job closed"),
    JobStatus.DRAFT: StatusWords("Draft"),
    JobStatus.OPEN: StatusWords("Open", "good"),
    JobStatus.PAUSED: StatusWords("Paused", "warn"),
    JobStatus.CLOSED: StatusWords("Closed"),
}

# The choices of a filter by type of event. JOB_CREATED is missing: it is always the first event.
EVENT_FILTERS: dict[EventType, str] = {
    event: each.filtered or each.words.company or each.words.log
    for event, each in DECLARED.items()
    if event is not EventType.JOB_CREATED
}

# The decisions of a company, in the order of the buttons.
DECISION_WORDS: dict[Outcome, DecisionWords] = {
    Outcome.HIRED: DecisionWords(
        "Hire",
        "hired",
        "The application ends as a success. Only a person in review can be hired.",
    ),
    Outcome.REJECTED: DecisionWords(
        "Reject",
        "rejected",
        "The company has decided against this person. Only the company can add them to this job"
        " again.",
    ),
    Outcome.REMOVED: DecisionWords(
        "Remove",
        "removed",
        "Takes the application out of the line without judging it, for example because it is a"
        " duplicate. The person can apply to this job again.",
    ),
}

REASON_WORDS: dict[Reason, str] = {
    Reason.NOT_A_MATCH: "not a match",
    Reason.POSITION_FILLED: "the position is filled",
    Reason.NO_RESPONSE: "there was no response",
    Reason.MISSED_INTERVIEW: "an interview was missed",
    Reason.DUPLICATE_PERSON: "the same person applied twice",
    Reason.OTHER: "another reason",
    Reason.IMPORT_UNDONE: "added by mistake",
}

ACTOR_WORDS: dict[str, str] = {
    ActorKind.SYSTEM: "by the system",
    ActorKind.APPLICANT: "by the applicant",
    ActorKind.COMPANY: "by the company",
    VIA_KEY: "by the applicant, on the company’s own site",
}

# The first message to an applicant, by the application's initial status.
WELCOMES: dict[Status, str] = {
    Status.ACTIVE: "You have applied, and a seat was free.",
    Status.PENDING_ACKNOWLEDGMENT: "You have applied, and a seat was free.",
    Status.WAITLIST: "You have applied. This page shows where you stand.",
}

# The consequence when a seat opens in a job that fills no seats.
UNFILLED_SEATS: dict[JobStatus, str] = {
    JobStatus.PAUSED: "the seat stays free while the job is paused",
    JobStatus.CLOSED: "the job is closed, so nobody gets the seat",
}


def find_words(event: Loggable) -> EventWords:
    """Return the words of a log event, by its outcome or its wish if these differ."""
    declared = DECLARED[EventType(event.event)]
    what: str | None = event.outcome
    if declared.wish and declared.wish not in event.data:
        what = TAKEN_BACK
    elif event.event == EventType.LAPSED and event.from_status == Status.WAITLIST:
        what = UNVERIFIED
    elif QUESTION_ID in event.data:
        what = QUESTION_ID
    return declared.titles(what)


def reason_word_choices() -> list[tuple[str, str]]:
    """Return the reasons that a decision can have with their labels, as form choices."""
    return [(reason.value, capitalized(REASON_WORDS[reason])) for reason in CHOSEN_REASONS]


def label_status(word: str) -> str:
    """Return the label of a status or an outcome. An unknown word is made readable."""
    found = STATUS_WORDS.get(word)
    return found.label if found else str(word).replace("_", " ").capitalize()


# Wording for emails about applications: kinds, states and problems. Pure.


KIND_WORDS: dict[str, str | Promise] = {
    EventType.APPLIED: "Application received",
    EventType.VERIFIED: "In line",
    EventType.PROMOTED: "Seat offered",
    EventType.ACKNOWLEDGED: "Seat confirmed",
    EventType.DEADLINE_EXTENDED: "More time to confirm",
    EventType.DECAYED: "Deadline missed",
    EventType.PASSED: "Turn passed",
    EventType.REINSTATED: "Place given back",
    EventType.PLACED: "Place drawn",
    EventType.MOVED_AHEAD: gettext_lazy("Moved to the front"),
    OVERTAKEN: gettext_lazy("Someone was moved ahead of you"),
    EventType.CONTESTED: "Look again: received",
    EventType.CONTEST_ANSWERED: "Look again: answer",
    EventType.QUESTION_ASKED: "A further question",
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


def describe_email_problem(code: str) -> str:
    """Return why an email was not delivered; a number is the mail server's own code."""
    if code.isdecimal():
        return f"The recipient’s mail server refused it (code {code}). Check the address."
    return PROBLEM_WORDS.get(code, "")
