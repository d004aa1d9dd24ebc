"""Words about events, ends, contests and emails. Pure."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from django.utils.functional import Promise
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

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
from pipeline.domain.verbs import DECLARED
from pipeline.domain.wishes import TAKEN_BACK
from pipeline.models import OVERTAKEN
from pipeline.wording.english import capitalized


class EndingWords(NamedTuple):
    """An outcome as the applicant reads it: a headline, and what they can do now."""

    headline: Promise
    advice: Promise


ENDING_WORDS: dict[Outcome, EndingWords] = {
    Outcome.WITHDRAWN: EndingWords(
        _("You withdrew this application."),
        _(
            "You can apply again while the job is open. You would join at the end of the line, and"
            " earlier misses still count."
        ),
    ),
    Outcome.REMOVED: EndingWords(
        _("The company removed your application from the line."),
        _("Is this a mistake? Contact the company, or apply again while the job is open."),
    ),
    Outcome.REJECTED: EndingWords(
        _("The company has decided not to continue with your application."),
        _(
            "Thank you for applying. For this job, only the company can add you again. You can"
            " apply to any other job."
        ),
    ),
    Outcome.HIRED: EndingWords(
        _("You are hired. Congratulations!"),
        _("The company will contact you about the next steps. There is nothing more to do here."),
    ),
    Outcome.LAPSED: EndingWords(
        _("This application ended: too many deadlines were missed."),
        _(
            "You can apply again while the job is open. Your misses still count, so people who join"
            " after you would pass you."
        ),
    ),
    Outcome.JOB_CLOSED: EndingWords(
        _("The company closed this job, so your application ended."),
        _(
            "You did nothing wrong. The job closed before you had a confirmed seat. Thank you for"
            " waiting."
        ),
    ),
}

# The ending of an application that was never verified: LAPSED, without a miss.
NEVER_VERIFIED = EndingWords(
    _("This application ended: nobody verified the email address in time."),
    _("It does not count as a miss. You can apply while the job is open."),
)


# Words about contests, and about the reasons for giving a place back. Pure.


# They include the reasons for giving a place back.
CONTEST_REASON_WORDS: dict[ContestReason, Promise] = {
    ContestReason.DECISION_STANDS: _("the decision was right"),
    ContestReason.NO_PLACE_LEFT: _("there is no place left to give back"),
    ContestReason.OUR_ERROR: _("an error on the company’s side"),
    ContestReason.NEW_INFORMATION: _("the applicant’s explanation"),
    ContestReason.MAIL_FAILURE: _("an email that did not arrive in time"),
    ContestReason.ACCOMMODATION: _("an accommodation for the applicant"),
    ContestReason.PERSON_ERASED: _("the applicant’s data was erased"),
}

# The answers that a company can give, in the order of the form.
ANSWER_WORDS: dict[ContestAnswer, Promise] = {
    ContestAnswer.UPHELD: _("It stays as it is"),
    ContestAnswer.CHANGED: _("Give their place back"),
}


def contest_reason_choices() -> list[tuple[str, str]]:
    """Return the reasons that a company can choose, as form choices that begin with the answer."""
    # Translators: a choice, like “It stays as it is: the decision was right”.
    choice = gettext("%(answer)s: %(reason)s")
    return [
        (reason.value, choice % {"answer": words, "reason": CONTEST_REASON_WORDS[reason]})
        for answer, words in ANSWER_WORDS.items()
        for reason in REASONS_OF[answer]
    ]


def reinstatement_reason_choices() -> list[tuple[str, str]]:
    """Return every reason for giving a place back with its label, as form choices."""
    return [
        (reason.value, capitalized(str(CONTEST_REASON_WORDS[ContestReason(reason)])))
        for reason in ReinstatementReason
    ]


# Labels and titles of events, outcomes, statuses, reasons and actors, one table each. Pure. Full
# sentences about events are in `sentences`; the words for background tasks in `task_words`.


class StatusWords(NamedTuple):
    """The label of a status or an outcome, and its tone: good, wait, warn, held, bad or plain."""

    label: Promise
    tone: str = "plain"


class Loggable(Protocol):
    """The fields of a log row that decide its words."""

    event: str
    from_status: str | None
    outcome: str | None
    data: Any


STATUS_WORDS: dict[str, StatusWords] = {
    Status.WAITLIST: StatusWords(pgettext_lazy("state", "Waiting")),
    Status.PENDING_ACKNOWLEDGMENT: StatusWords(pgettext_lazy("state", "Must confirm"), "warn"),
    Status.ACTIVE: StatusWords(pgettext_lazy("state", "In review"), "good"),
    Outcome.WITHDRAWN: StatusWords(pgettext_lazy("state", "Withdrawn")),
    Outcome.REMOVED: StatusWords(pgettext_lazy("state", "Removed")),
    Outcome.REJECTED: StatusWords(pgettext_lazy("state", "Not selected"), "bad"),
    Outcome.HIRED: StatusWords(pgettext_lazy("state", "Hired"), "good"),
    Outcome.LAPSED: StatusWords(pgettext_lazy("state", "Lapsed"), "bad"),
    Outcome.JOB_CLOSED: StatusWords(pgettext_lazy("state", "Job closed")),
    JobStatus.DRAFT: StatusWords(pgettext_lazy("state", "Draft")),
    JobStatus.OPEN: StatusWords(pgettext_lazy("state", "Open"), "good"),
    JobStatus.PAUSED: StatusWords(pgettext_lazy("state", "Paused"), "held"),
    JobStatus.CLOSED: StatusWords(pgettext_lazy("state", "Closed")),
}

# The choices of a filter by type of event. JOB_CREATED is missing: it is always the first event.
EVENT_FILTERS: dict[EventType, str | Promise] = {
    event: each.filtered or each.words.company or each.words.log
    for event, each in DECLARED.items()
    if event is not EventType.JOB_CREATED
}

# What the decisions of a company mean, in the order of the buttons.
DECISION_MEANINGS: dict[Outcome, Promise] = {
    Outcome.HIRED: _("The application ends as a success. Only a person in review can be hired."),
    Outcome.REJECTED: _(
        "The company has decided against this person. Only the company can add them to this job"
        " again."
    ),
    Outcome.REMOVED: _(
        "Takes the application out of the line without judging it, for example because it is a"
        " duplicate. The person can apply to this job again."
    ),
}

REASON_WORDS: dict[Reason, Promise] = {
    Reason.NOT_A_MATCH: _("not a match"),
    Reason.POSITION_FILLED: _("the position is filled"),
    Reason.NO_RESPONSE: _("there was no response"),
    Reason.MISSED_INTERVIEW: _("an interview was missed"),
    Reason.DUPLICATE_PERSON: _("the same person applied twice"),
    Reason.OTHER: _("another reason"),
    Reason.IMPORT_UNDONE: _("added by mistake"),
}

ACTOR_WORDS: dict[str, Promise] = {
    ActorKind.SYSTEM: _("by the system"),
    ActorKind.APPLICANT: _("by the applicant"),
    ActorKind.COMPANY: _("by the company"),
    VIA_KEY: _("by the applicant, on the company’s own site"),
}

# The first message to an applicant, by the application's initial status.
WELCOMES: dict[Status, Promise] = {
    Status.ACTIVE: _("You have applied, and a seat was free."),
    Status.PENDING_ACKNOWLEDGMENT: _("You have applied, and a seat was free."),
    Status.WAITLIST: _("You have applied. This page shows where you stand."),
}

# The consequence when a seat opens in a job that fills no seats.
UNFILLED_SEATS: dict[JobStatus, Promise] = {
    JobStatus.PAUSED: _("the seat stays free while the job is paused"),
    JobStatus.CLOSED: _("the job is closed, so nobody gets the seat"),
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
    return [(reason.value, capitalized(str(REASON_WORDS[reason]))) for reason in CHOSEN_REASONS]


def label_status(word: str) -> str:
    """Return the label of a status or an outcome. An unknown word is made readable."""
    found = STATUS_WORDS.get(word)
    return str(found.label) if found else str(word).replace("_", " ").capitalize()


# Wording for emails about applications: kinds, states and problems. Pure.


KIND_WORDS: dict[str, Promise] = {
    EventType.APPLIED: _("Application received"),
    EventType.VERIFIED: _("In line"),
    EventType.PROMOTED: _("Seat offered"),
    EventType.ACKNOWLEDGED: _("Seat confirmed"),
    EventType.DEADLINE_EXTENDED: _("More time to confirm"),
    EventType.DECAYED: _("Deadline missed"),
    EventType.PASSED: _("Turn passed"),
    EventType.REINSTATED: _("Place given back"),
    EventType.PLACED: _("Place drawn"),
    EventType.MOVED_AHEAD: _("Moved to the front"),
    OVERTAKEN: _("Someone was moved ahead of you"),
    EventType.CONTESTED: _("Look again: received"),
    EventType.CONTEST_ANSWERED: _("Look again: answer"),
    EventType.QUESTION_ASKED: _("A further question"),
    Outcome.LAPSED: _("Application ended"),
    Outcome.WITHDRAWN: pgettext_lazy("email", "Withdrawal"),
    Outcome.REMOVED: _("Removed from the line"),
    Outcome.REJECTED: pgettext_lazy("email", "Decision"),
    Outcome.HIRED: pgettext_lazy("email", "Decision"),
    Outcome.JOB_CLOSED: _("Job closed"),
    "REMINDER_HALF": _("Reminder, half the time left"),
    "REMINDER_HOUR": _("Reminder, an hour left"),
    "REMINDER_YES": _("Reminder, yes in advance ends"),
}

# The label of a state, and its tone.
STATE_WORDS: dict[str, tuple[Promise, str]] = {
    "QUEUED": (_("Being sent"), "wait"),
    "SENT": (pgettext_lazy("email", "Sent"), "good"),
    "FAILED": (_("Not sent"), "bad"),
    "BOUNCED": (_("Sent back"), "bad"),
    "COMPLAINED": (_("Marked as unwanted"), "warn"),
}

PROBLEM_WORDS: dict[str, Promise] = {
    "OVER": _("It was no longer needed by the time it could be sent."),
    "UNREACHABLE": _("The mail server could not be reached for half a day."),
    "TOO_MANY": _("Your company has sent this person too many emails within a day."),
    "UNSUPPORTED": _("The mail server does not support the special characters in this address."),
    "BAD_ADDRESS": _("The mail server cannot write to this address."),
    "REFUSED": _("The mail provider refuses to write to this address."),
    "BOUNCED": _("The recipient’s mail server sent it back."),
    "COMPLAINED": _("The recipient marked it as unwanted."),
}


def describe_email_problem(code: str) -> str:
    """Return why an email was not delivered; a number is the mail server's own code."""
    if code.isdecimal():
        refused = gettext(
            "The recipient’s mail server refused it (code %(code)s). Check the address."
        )
        return refused % {"code": code}
    return str(PROBLEM_WORDS.get(code, ""))
