"""Texts that a company can write itself: each with its parts, fields and languages. Pure.

Everything else in an email is fixed: what happened, the deadline, the link, why it comes, and how
to stop it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise, lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from pipeline.domain.states import CHOSEN_REASONS, ActorKind, EventType, Outcome, Reason
from pipeline.models.texts import SENTENCE_LENGTH
from pipeline.models.upkeep import OVERTAKEN
from pipeline.wording.english import capitalized
from pipeline.wording.events import REASON_WORDS

# The language of texts that were written before there were others.
USUAL_LANGUAGE = "en"

# The kind whose words stand in every email.
EVERY = "EVERY"
OFFER, PUT_FORWARD, REMINDER, YES_ENDS = "OFFER", "PUT_FORWARD", "REMINDER", "YES_ENDS"
_WITH_DECISION = "WITH_"

NAME, JOB, COMPANY, DEADLINE = "name", "job", "company", "deadline"
USUAL_FIELDS = (NAME, JOB, COMPANY)


@dataclass(frozen=True, slots=True)
class Part:
    """Part of a text: one line, or several."""

    name: str
    label: str | Promise
    most: int  # characters
    help: str | Promise = ""
    is_line: bool = False


SUBJECT = Part("subject", pgettext_lazy("email", "Subject"), 150, is_line=True)
OPENING = Part("opening", pgettext_lazy("email", "Opening"), 1_500, _("Comes before what we say."))
CLOSING = Part("closing", pgettext_lazy("email", "Closing"), 1_500, _("Comes after what we say."))
GREETING = Part(
    "greeting", pgettext_lazy("email", "Greeting"), 100, _("Usually: Hello {name},"), is_line=True
)
SIGNATURE = Part(
    "signature", pgettext_lazy("email", "Signature"), 500, _("Stands at the end of each email.")
)
SENTENCE = Part(
    "sentence",
    _("What the applicant reads"),
    SENTENCE_LENGTH,
    _("The form of a decision begins with it. Whoever decides can change it each time."),
)
PARTS = {each.name: each for each in (SUBJECT, OPENING, CLOSING, GREETING, SIGNATURE, SENTENCE)}


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of a text. `about` says when people read it."""

    name: str
    label: str | Promise
    about: str | Promise = ""
    parts: tuple[Part, ...] = (SUBJECT, OPENING, CLOSING)
    fields: tuple[str, ...] = USUAL_FIELDS

    @property
    def slug(self) -> str:
        """Return how addresses name it."""
        return self.name.lower().replace("_", "-")

    @property
    def is_email(self) -> bool:
        """Tell whether it is one email, and not a part of many."""
        return SUBJECT in self.parts


_WITH_DEADLINE = (*USUAL_FIELDS, DEADLINE)
_EMAILS = (
    Kind(EventType.APPLIED, _("Application received"), _("A person has applied.")),
    Kind(PUT_FORWARD, _("Put forward"), _("Your company has added a person.")),
    Kind(EventType.VERIFIED, _("In line"), _("A person has proved their address.")),
    Kind(EventType.PLACED, _("Place drawn"), _("The order of the line was drawn by lot.")),
    Kind(OFFER, _("Seat offered"), _("It is a person’s turn."), fields=_WITH_DEADLINE),
    Kind(
        REMINDER,
        pgettext_lazy("email", "Reminder"),
        _("An offer is still open."),
        fields=_WITH_DEADLINE,
    ),
    Kind(
        EventType.DEADLINE_EXTENDED,
        _("More time to confirm"),
        _("The deadline of an offer was extended."),
        fields=_WITH_DEADLINE,
    ),
    Kind(EventType.ACKNOWLEDGED, _("Seat confirmed"), _("A person has a seat.")),
    Kind(EventType.DECAYED, _("Deadline missed"), _("A person is back in line.")),
    Kind(EventType.PASSED, _("Turn passed"), _("A person has passed a turn.")),
    Kind(EventType.REINSTATED, _("Place given back"), _("A person has their place back.")),
    Kind(EventType.MOVED_AHEAD, _("Moved to the front"), _("You move a person to the front.")),
    Kind(OVERTAKEN, _("Someone moved ahead"), _("You move another person to the front.")),
    Kind(YES_ENDS, _("Yes in advance ends"), _("A day before it ends.")),
    Kind(EventType.QUESTION_ASKED, _("A further question"), _("You ask a person in review more.")),
    Kind(Outcome.HIRED, pgettext_lazy("email", "Hired"), _("You hire a person.")),
    Kind(Outcome.REJECTED, pgettext_lazy("email", "Rejected"), _("You decide against a person.")),
    Kind(
        Outcome.REMOVED, pgettext_lazy("email", "Removed"), _("You take a person out of the line.")
    ),
    Kind(Outcome.LAPSED, _("Application ended"), _("Too many deadlines were missed.")),
    Kind(
        Outcome.WITHDRAWN,
        pgettext_lazy("email", "Withdrawal"),
        _("A person with an open offer withdraws."),
    ),
    Kind(Outcome.JOB_CLOSED, _("Job closed"), _("You close a job.")),
    Kind(EventType.CONTESTED, _("Look again: received"), _("A person asks you to look again.")),
    Kind(EventType.CONTEST_ANSWERED, _("Look again: answer"), _("You have looked again.")),
)
_COMMON = Kind(
    EVERY,
    _("Greeting and signature"),
    _("They stand in every email to your applicants."),
    parts=(GREETING, SIGNATURE),
)


def _sentence_kind(reason: Reason) -> Kind:
    label = lazy(lambda: capitalized(str(REASON_WORDS[reason])), str)()
    return Kind(f"{_WITH_DECISION}{reason}", label, parts=(SENTENCE,))


_SENTENCES = tuple(map(_sentence_kind, CHOSEN_REASONS))
KINDS = {each.name: each for each in (_COMMON, *_EMAILS, *_SENTENCES)}
BY_SLUG = {each.slug: each for each in KINDS.values()}


def list_emails() -> Iterator[Kind]:
    """Yield the kinds of emails, in the order in which a person gets them."""
    yield from _EMAILS


def list_sentences() -> Iterator[Kind]:
    """Yield the kinds of sentences with a decision, one for each reason."""
    yield from _SENTENCES


def sentence_kind(reason: str) -> str:
    """Return the kind of the sentence with a reason's code."""
    return f"{_WITH_DECISION}{reason}"


def email_text_kind(event: Any, event_kind: str, *, is_offer: bool, reminder: str) -> str:
    """Return the kind of text that the email about an event has.

    `event_kind` is the kind of the email, `reminder` that of a reminder.
    """
    if reminder:
        return {"REMINDER_YES": YES_ENDS, OVERTAKEN: OVERTAKEN}.get(reminder, REMINDER)
    if is_offer:
        return OFFER
    if event.event == EventType.APPLIED and event.actor_kind == ActorKind.COMPANY:
        return PUT_FORWARD
    return event_kind
