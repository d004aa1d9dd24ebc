"""Emails about events of the log: one table from event to message. Pure functions.

The deadline comes first, in the applicant's time zone and in UTC. About their own actions,
applicants get only emails that they may want to keep: a receipt, and the end of a deadline.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, Protocol
from uuid import UUID

from django.conf import settings
from django.template.defaultfilters import linebreaksbr
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, override

from pipeline.domain.amounts import Amount
from pipeline.domain.contests import ANSWER, ANSWER_SEQ, OF_CONTESTS, ContestAnswer
from pipeline.domain.states import (
    ACCEPTED_UNTIL,
    EXCEPTION,
    MOST_EXTENSIONS,
    PEOPLE_PASSED,
    ActorKind,
    EventType,
    Outcome,
    Status,
)
from pipeline.texts.words import OwnWords
from pipeline.wording import language, sentences
from pipeline.wording.english import (
    format_time,
    format_zone,
    subject_line,
    time_here_and_utc,
)
from pipeline.wording.exceptions import describe_overtaking
from pipeline.wording.links import linked_text
from pipeline.wording.sentences import Reader

# Parts of emails: the facts they are made from, and the pieces they consist of. Pure.


class EventForMail(Protocol):
    """The fields of a log row that an email is made from."""

    application_id: UUID | None
    seq: int
    event: str
    from_status: str | None
    to_status: str | None
    outcome: str | None
    actor_kind: str
    effective_at: datetime
    data: Any
    hash: Any


@dataclass(frozen=True, slots=True)
class Facts:
    """Names, links and times for an email.

    `name` is the person's own, by which the email greets them, or empty: see
    `pipeline.texts.fields.greeted_name`. `zone` is the person's time zone, or the job's while
    `is_zone_known` is not true, `place` is the
    place in line now, `prospect` says how long they will probably wait, `draw_at` is
    the time of a draw by lot that is still to come, `deadline` is the one that an email about a
    current offer names, `extensions` is how often it was extended, `answer` is what the company
    wrote about a request to look again or with a decision, `passes_left` is how many turns the
    person can still pass, and `if_missed` says what happens if an offer is not confirmed.
    """

    job_title: str
    company: str
    confirm_link: str
    application_link: str
    openings_link: str
    data_link: str
    name: str = ""
    zone: tzinfo = UTC
    is_zone_known: bool = True
    place: int | None = None
    prospect: str = ""
    deadline: datetime | None = None
    extensions: int = 0
    draw_at: datetime | None = None
    answer: str = ""
    passes_left: int = 0
    if_missed: str = ""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Paragraph of an email. A link is on a separate line; in HTML, one can be a button.

    A company's own opening or closing takes the place of one that `is_courtesy`.
    `is_written`: someone wrote it, and may have put web addresses in it, which become links.
    """

    text: str
    link: str = ""
    label: str = ""
    is_courtesy: bool = False
    is_written: bool = False

    def __str__(self) -> str:
        return f"{self.text}\n{self.link}" if self.link else self.text

    @property
    def html(self) -> SafeString:
        """Return the text as HTML."""
        return linked_text(self.text) if self.is_written else linebreaksbr(self.text)


@dataclass(frozen=True, slots=True)
class CalendarNote:
    """Part of an email for calendars: the deadline or its cancellation."""

    sequence: int
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """An email without its address.

    `about` names the job and its company, `proof` is the number and the hash of the event. `own`
    are the company's words around ours. `language` is the one in which it was composed, and in
    which the rest is, whoever looks at it.
    """

    subject: str
    paragraphs: tuple[Paragraph, ...]
    calendar: CalendarNote | None = None
    name: str = ""
    about: str = ""
    proof: str = ""
    own: OwnWords = OwnWords()  # noqa: RUF009  frozen
    language: str = field(default_factory=language.code)

    @property
    def main_step(self) -> Paragraph | None:
        """Return the paragraph whose link is a button: the first, if it is about one application.

        Other emails may list things, each with its link.
        """
        linked = [each for each in self.paragraphs if each.link]
        return linked[0] if linked and (self.about or self.paragraphs[0].link) else None

    @property
    def greeting(self) -> str:
        """Return the first line."""
        if self.own.greeting:
            return self.own.greeting
        with override(self.language):
            return _("Hello %(name)s,") % {"name": self.name} if self.name else _("Hello,")

    @property
    def controller_line(self) -> str:
        """Say who is responsible for the data; empty while the company has not said so."""
        name = self.own.controller
        with override(self.language):
            return _("Responsible for your data: %(name)s") % {"name": name} if name else ""

    @property
    def proof_line(self) -> str:
        """Return the last line; empty in an email about no event."""
        with override(self.language):
            return _("Proof %(proof)s") % {"proof": self.proof} if self.proof else ""

    @property
    def text(self) -> str:
        """Return the plain text."""
        end = "\n".join(filter(None, [self.about, self.controller_line, self.proof_line]))
        ours, own = map(str, self.paragraphs), self.own
        parts = [self.greeting, own.opening, *ours, own.closing, own.signature, end]
        return "\n\n".join(filter(None, parts)) + "\n"


def compose_event_email(event: EventForMail, facts: Facts) -> Message | None:
    """Compose the email about an event for the applicant; None when there is none.

    Its last line is the whole head of the job's log, so that every mailbox keeps a copy that the
    owner of the database cannot change.
    """
    if not is_emailed(event):
        return None
    message = MAILS[event_email_kind(event)](event, facts)
    was_offered = event.from_status == Status.PENDING_ACKNOWLEDGMENT
    ended = event.to_status != Status.PENDING_ACKNOWLEDGMENT and ACCEPTED_UNTIL not in event.data
    over = CalendarNote(MOST_EXTENSIONS + 2, is_over=True)  # the system can extend it once as well
    calendar = over if was_offered and ended else message.calendar
    return replace(message, proof=f"{event.seq}:{bytes(event.hash).hex()}", calendar=calendar)


def is_emailed(event: EventForMail) -> bool:
    """Tell whether an applicant gets an email about an event.

    An unverified application has none: its address may be a stranger's.
    """
    if event.application_id is None or event.data.get("verify_by"):
        return False
    if event.data.get(ANSWER) == ContestAnswer.DROPPED:
        return False
    if event.event == EventType.REINSTATED and ANSWER_SEQ in event.data:  # the answer says so
        return False
    if event.event == EventType.PROMOTED and not offers_seat(event):
        return False  # the confirmation follows at once
    if event.outcome == Outcome.WITHDRAWN:  # their own act, but the deadline is in their calendar
        return event.from_status == Status.PENDING_ACKNOWLEDGMENT
    return event_email_kind(event) in MAILS


def event_email_kind(event: EventForMail) -> str:
    """Return the kind of the email about an event: its outcome, if it ends an application."""
    return event.event if event.event in OF_CONTESTS else event.outcome or event.event


def offers_seat(event: EventForMail) -> bool:
    """Tell whether an event offers a seat that must be confirmed, not accepted in advance."""
    offers = (EventType.PROMOTED, EventType.APPLIED)
    is_open = event.to_status == Status.PENDING_ACKNOWLEDGMENT and ACCEPTED_UNTIL not in event.data
    return event.event in offers and is_open


def compose_reminder(facts: Facts, deadline: datetime) -> Message:
    """Compose the reminder of an offer that is still open."""
    until = time_here_and_utc(deadline, facts.zone)
    subject = _("Reminder: confirm your seat for “%(job)s” by %(until)s") % {
        "job": facts.job_title,
        "until": format_time(deadline, facts.zone),
    }
    first = Paragraph(
        _confirm_by(_("Your seat is not confirmed yet. Confirm by %(until)s."), until, facts),
        facts.confirm_link,
        _("Confirm my seat"),
    )
    return _build(facts, subject, first, _choices_paragraph(facts))


def compose_yes_end(event: EventForMail, facts: Facts) -> Message:
    """Compose the reminder that a yes in advance ends soon."""
    until = event.data["accept_until"]
    ends = time_here_and_utc(until, facts.zone)
    subject = _("Your advance acceptance for “%(job)s” ends at %(until)s") % {
        "job": facts.job_title,
        "until": format_time(until, facts.zone),
    }
    what = _(
        "You said yes in advance. This ends at %(until)s. If your turn comes after that, you"
        " confirm the seat by a deadline. You keep your place in line."
    ) % {"until": ends}
    again = _("You can say yes for longer:")
    follow = Paragraph(again, facts.application_link, _("My application"))
    return _build(facts, subject, Paragraph(what), *_place_paragraphs(facts), follow)


def compose_overtaken(event: EventForMail, facts: Facts) -> Message:
    """Compose the email about an exception to a person whom it passed."""
    told = describe_overtaking(
        event.effective_at,
        company=facts.company,
        reason=event.data[EXCEPTION],
        people=event.data[PEOPLE_PASSED],
        zone=facts.zone,
    )
    wrote = [_quote(_QUOTED, facts)] if facts.answer else []
    follow = Paragraph(_("See your place:"), facts.application_link, _("My application"))
    subject = _("Someone was moved ahead of you in the line for “%(job)s”")
    named = subject % {"job": facts.job_title}
    message = _build(facts, named, Paragraph(told), *wrote, *_place_paragraphs(facts), follow)
    return replace(message, proof=f"{event.seq}:{bytes(event.hash).hex()}")


def _compose_applied(event: EventForMail, facts: Facts) -> Message:
    by_company = event.actor_kind == ActorKind.COMPANY
    if event.to_status == Status.PENDING_ACKNOWLEDGMENT:
        why = [_put_forward_paragraph(facts, is_offer=True)] if by_company else []
        return _compose_offer(event, facts, *why)
    follow = Paragraph(str(_TRACK), facts.application_link, _("My application"))
    names = {"job": facts.job_title, "company": facts.company}
    if by_company:
        subject = _("You were put forward for “%(job)s” at %(company)s") % names
        return _compose_sentence(event, facts, subject, follow, _put_forward_paragraph(facts))
    subject = _("You have applied for “%(job)s” at %(company)s") % names
    thanks = Paragraph(_("Thank you for applying."), is_courtesy=True)
    return _compose_sentence(event, facts, subject, *_place_paragraphs(facts), thanks, follow)


def _place_composer(subject: Promise) -> Callable[[EventForMail, Facts], Message]:
    """Compose an email about a person's place in line from a subject."""

    def compose_place_message(event: EventForMail, facts: Facts) -> Message:
        named = str(subject) % {"job": facts.job_title, "company": facts.company}
        follow = Paragraph(str(_TRACK), facts.application_link, _("My application"))
        return _compose_sentence(event, facts, named, *_place_paragraphs(facts), follow)

    return compose_place_message


def _place_paragraphs(facts: Facts) -> list[Paragraph]:
    if facts.draw_at:
        when = time_here_and_utc(facts.draw_at, facts.zone)
        drawn = _(
            "The order of the line is drawn by lot at %(when)s. Until then nobody has a place, and"
            " it does not matter who applied first."
        )
        return [Paragraph(drawn % {"when": when})]
    if not facts.place:
        return []
    place = _("Your place in line now: %(place)s.") % {"place": Amount(facts.place)}
    return [Paragraph(language.in_a_row(place, facts.prospect))]


def _put_forward_paragraph(facts: Facts, *, is_offer: bool = False) -> Paragraph:
    """Explain the email to a person who never applied, and how to opt out."""
    told = [
        _("%(company)s put you forward for this job with this address."),
        _("Next in Line manages the waitlist and emails you when it is your turn."),
        _(
            "If you do not want this, sign in with this address and withdraw. You need no password."
            " You can erase everything we store about you under “My data”:"
        ),
    ]
    if is_offer:
        del told[1]
    text = language.in_a_row(*told) % {"company": facts.company}
    return Paragraph(text, facts.data_link, _("My data"))


def _compose_offer(event: EventForMail, facts: Facts, *more: Paragraph) -> Message:
    deadline = facts.deadline or datetime.fromisoformat(event.data["deadline"])
    until = time_here_and_utc(deadline, facts.zone)
    first = Paragraph(
        _confirm_by(_("It is your turn. Confirm by %(until)s."), until, facts),
        facts.confirm_link,
        _("Confirm my seat"),
    )
    subject = _("Your turn: confirm your seat for “%(job)s” by %(until)s") % {
        "job": facts.job_title,
        "until": format_time(deadline, facts.zone),
    }
    seat = Paragraph(_("A seat means a person reads your application. It is not the job."))
    choices = _choices_paragraph(facts)
    message = _build(facts, subject, first, seat, *_zone_paragraphs(facts), choices, *more)
    return replace(message, calendar=CalendarNote(sequence=facts.extensions))


def _confirm_by(sentence: str, until: str, facts: Facts) -> str:
    """Say until when to confirm, and what a miss costs."""
    return language.in_a_row(sentence % {"until": until}, facts.if_missed)


def _zone_paragraphs(facts: Facts) -> list[Paragraph]:
    """Say in which zone the times are if we do not know the person's own."""
    if facts.is_zone_known:
        return []
    said = _("Times are in the zone %(zone)s. The attached file shows the deadline in yours.")
    return [Paragraph(said % {"zone": format_zone(facts.zone)})]


def _choices_paragraph(facts: Facts) -> Paragraph:
    """Say what else the page behind the link offers: passing this turn, withdrawing."""
    if not facts.passes_left:
        return Paragraph(_("No longer interested? You can withdraw on the same page."))
    return Paragraph(
        _(
            "Not now? You can pass this turn on the same page. It does not count as a miss, and"
            " you keep your place. You can also withdraw there."
        )
    )


def _compose_extension(event: EventForMail, facts: Facts) -> Message:
    deadline = event.data["deadline"]
    subject = _("More time: confirm your seat for “%(job)s” by %(until)s") % {
        "job": facts.job_title,
        "until": format_time(deadline, facts.zone),
    }
    told = sentences.compose(event, Reader.APPLICANT, facts.zone)
    first = Paragraph(told, facts.confirm_link, _("Confirm my seat"))
    message = _build(facts, subject, first, *_zone_paragraphs(facts))
    return replace(message, calendar=CalendarNote(facts.extensions))


def _notice_composer(
    subject: Promise, *after: tuple[Promise, str, Promise | str]
) -> Callable[[EventForMail, Facts], Message]:
    """Compose an email from a subject and closing paragraphs: a text, and a link of `Facts`."""

    def compose_notice_message(event: EventForMail, facts: Facts) -> Message:
        names = {"job": facts.job_title, "company": facts.company}
        closing = [
            Paragraph(
                str(text),
                getattr(facts, link) if link else "",
                str(label),
                is_courtesy=text in COURTESIES,
            )
            for text, link, label in after
        ]
        return _compose_sentence(event, facts, str(subject) % names, *closing)

    return compose_notice_message


_CONFIRMED = (
    gettext_lazy("Your seat for “%(job)s” is confirmed"),
    gettext_lazy("You have a seat for “%(job)s”"),
)
_TRACK = gettext_lazy("See your place, or withdraw:")
_APPLICATION = ("application_link", gettext_lazy("My application"))
# Translators: what the company wrote follows in a paragraph of its own.
_QUOTED, _WROTE = gettext_lazy("%(company)s:"), gettext_lazy("%(company)s wrote:")


def _compose_answer(event: EventForMail, facts: Facts) -> Message:
    subject = _("%(company)s has looked again at your application for “%(job)s”") % {
        "company": facts.company,
        "job": facts.job_title,
    }
    follow = Paragraph(_("See your application:"), facts.application_link, _("My application"))
    changed = event.data.get(ANSWER) == ContestAnswer.CHANGED
    place = _place_paragraphs(facts) if changed else []
    return _compose_sentence(event, facts, subject, *_answer_paragraphs(facts), *place, follow)


def _answer_paragraphs(facts: Facts) -> list[Paragraph]:
    """Quote what the company wrote to this person, if anything."""
    return [_quote(_WROTE, facts)] if facts.answer else []


def _quote(introduction: Promise, facts: Facts) -> Paragraph:
    said = str(introduction) % {"company": facts.company}
    return Paragraph(f"{said}\n\n{facts.answer}")


def _compose_question(event: EventForMail, facts: Facts) -> Message:
    """Compose an email about a further question, which is read with its text when it is sent."""
    subject = _("%(company)s asks you one more question about “%(job)s”")
    asked = [_quote(_QUOTED, facts)] if facts.answer else []
    follow = Paragraph(_("Answer it here:"), facts.application_link, _("Answer the question"))
    named = subject % {"company": facts.company, "job": facts.job_title}
    return _compose_sentence(event, facts, named, *asked, follow)


def _compose_hire(_event: EventForMail, facts: Facts) -> Message:
    """Congratulate, without the reason: it explains why the line ended, not why they were hired."""
    names = {"job": facts.job_title, "company": facts.company}
    good = (
        _("Congratulations! %(company)s hired you and will contact you about the next steps.")
        % names
    )
    ended = _("Your application has ended, and there is nothing more for you to do here.")
    subject = _("You are hired: “%(job)s” at %(company)s") % names
    return _build(facts, subject, Paragraph(good), Paragraph(ended))


def _compose_ending(
    subject: Promise, thanks: str | Promise = ""
) -> Callable[[EventForMail, Facts], Message]:
    """Compose the email about an ending that the person can ask to look at again."""

    def compose_ending_message(event: EventForMail, facts: Facts) -> Message:
        named = str(subject) % {"job": facts.job_title, "company": facts.company}
        days = settings.CONTEST_DAYS
        again = ngettext(
            "If you think this is wrong, you have %(days)d day to ask the company to look again:",
            "If you think this is wrong, you have %(days)d days to ask the company to look again:",
            days,
        )
        follow = Paragraph(again % {"days": days}, facts.application_link, _("My application"))
        kind = [Paragraph(str(thanks), is_courtesy=True)] if thanks else []
        told = Paragraph(sentences.compose(event, Reader.APPLICANT, facts.zone))
        return _build(facts, named, *kind, told, *_answer_paragraphs(facts), follow)

    return compose_ending_message


OTHER_JOBS = (gettext_lazy("Other open jobs:"), "openings_link", gettext_lazy("Open jobs"))
THANKS_FOR_APPLYING = gettext_lazy("Thank you for applying, and for your time.")
THANKS_FOR_WAITING = gettext_lazy("Thank you for applying, and for waiting.")
THANKS_FOR_ROOM = gettext_lazy("Thank you for making room for the next person.")
COURTESIES = (THANKS_FOR_WAITING, THANKS_FOR_ROOM)
WHAT_IS_NEXT = gettext_lazy("A person now reads your application. We email you the decision.")

# The events and outcomes with an email, and the function that composes it.
MAILS: dict[str, Callable[[EventForMail, Facts], Message]] = {
    EventType.APPLIED: _compose_applied,
    EventType.VERIFIED: _place_composer(
        gettext_lazy("You are in line for “%(job)s” at %(company)s")
    ),
    EventType.PROMOTED: _compose_offer,
    EventType.DEADLINE_EXTENDED: _compose_extension,
    EventType.ACKNOWLEDGED: lambda event, facts: _notice_composer(
        _CONFIRMED[ACCEPTED_UNTIL in event.data],
        (WHAT_IS_NEXT, "", ""),
        (gettext_lazy("See your application, or withdraw:"), *_APPLICATION),
    )(event, facts),
    EventType.DECAYED: _notice_composer(
        gettext_lazy("You missed the deadline for “%(job)s” and are back in line"),
        (gettext_lazy("See your new place, or withdraw:"), *_APPLICATION),
    ),
    EventType.PASSED: _notice_composer(
        gettext_lazy("You passed your turn for “%(job)s” and keep your place"),
        (_TRACK, *_APPLICATION),
    ),
    EventType.REINSTATED: _place_composer(
        gettext_lazy("You have your place back in the line for “%(job)s”")
    ),
    EventType.CONTESTED: _notice_composer(
        gettext_lazy("You asked %(company)s to look again at “%(job)s”"),
        (gettext_lazy("See what you wrote, and the answer when it comes:"), *_APPLICATION),
    ),
    EventType.CONTEST_ANSWERED: _compose_answer,
    EventType.QUESTION_ASKED: _compose_question,
    EventType.MOVED_AHEAD: _place_composer(
        gettext_lazy("You were moved to the front of the line for “%(job)s”")
    ),
    EventType.PLACED: _place_composer(
        gettext_lazy("Your place in line for “%(job)s” has been drawn")
    ),
    Outcome.WITHDRAWN: _notice_composer(
        gettext_lazy("You have withdrawn from “%(job)s” at %(company)s"),
        (THANKS_FOR_ROOM, "", ""),
        OTHER_JOBS,
    ),
    Outcome.LAPSED: _compose_ending(
        gettext_lazy("Your application for “%(job)s” has ended: too many missed deadlines")
    ),
    Outcome.REMOVED: _compose_ending(
        gettext_lazy("%(company)s removed you from the line for “%(job)s”")
    ),
    Outcome.REJECTED: _compose_ending(
        gettext_lazy("%(company)s has decided on your application for “%(job)s”"),
        THANKS_FOR_APPLYING,
    ),
    Outcome.HIRED: _compose_hire,
    Outcome.JOB_CLOSED: _notice_composer(
        gettext_lazy("%(company)s has closed the job “%(job)s”"),
        (THANKS_FOR_WAITING, "", ""),
        OTHER_JOBS,
    ),
}


def _compose_sentence(
    event: EventForMail, facts: Facts, subject: str, *after: Paragraph
) -> Message:
    """Compose an email from the timeline's sentence and the next steps."""
    told = Paragraph(sentences.compose(event, Reader.APPLICANT, facts.zone))
    return _build(facts, subject, told, *after)


def _build(facts: Facts, subject: str, *paragraphs: Paragraph) -> Message:
    about = _("“%(job)s” at %(company)s") % {"job": facts.job_title, "company": facts.company}
    return Message(subject_line(subject), paragraphs, name=facts.name, about=about)
