"""Verbs that end an application: by the person, by the company, with the job. Pure.

Declared like the others in `pipeline.domain.verbs`, which has all of them together.
"""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from pipeline.domain import errors
from pipeline.domain.events import EventWords, LoggedEvent, Told, Verb, with_reason
from pipeline.domain.permissions import Action
from pipeline.domain.states import VIA_KEY, EventType, Move, Outcome, Status

_WAIT, _PENDING = Status.WAITLIST, Status.PENDING_ACKNOWLEDGMENT
_ACTIVE, _ENDED = Status.ACTIVE, Status.INACTIVE

OF_ENDINGS: dict[EventType, LoggedEvent] = {
    EventType.WITHDRAWN: LoggedEvent(
        words=EventWords(
            "plain",
            _("{name} withdrew"),
            pgettext_lazy("event", "Withdrew"),
            pgettext_lazy("event", "Withdrawn"),
        ),
        webhook="A person left",
        verbs=(
            Verb(
                Move.WITHDRAW,
                {_WAIT: _ENDED, _PENDING: _ENDED, _ACTIVE: _ENDED},
                Action.WITHDRAW,
                (errors.IllegalMove, errors.ClockMoving),
                outcome=Outcome.WITHDRAWN,
            ),
        ),
        sentences={
            Outcome.WITHDRAWN: Told(
                _("You withdrew the application and left the line."),
                _("The applicant withdrew the application and left the line."),
            ),
            VIA_KEY: Told(
                _("You withdrew the application on the company’s own site and left the line."),
                _(
                    "The applicant withdrew the application on the company’s own site and "
                    "left the line."
                ),
            ),
        },
    ),
    EventType.REMOVED: LoggedEvent(
        words=EventWords(
            "plain",
            _("{name} was removed"),
            pgettext_lazy("event", "Removed"),
            _("Removed by the company"),
        ),
        other_words={
            Outcome.REJECTED: EventWords(
                "bad",
                _("{name} was rejected"),
                pgettext_lazy("event", "Rejected"),
                _("Not selected"),
            ),
            Outcome.HIRED: EventWords(
                "good",
                _("{name} was hired"),
                pgettext_lazy("event", "Hired"),
                pgettext_lazy("event", "Hired"),
            ),
        },
        filtered=_("Removed, rejected or hired"),
        webhook="The company removed, rejected or hired a person",
        verbs=(
            Verb(
                Move.REMOVE,
                {_WAIT: _ENDED, _PENDING: _ENDED, _ACTIVE: _ENDED},
                Action.DECIDE,
                (errors.IllegalMove, errors.ClockMoving),
                outcome=Outcome.REMOVED,
            ),
            Verb(
                Move.REJECT,
                {_WAIT: _ENDED, _PENDING: _ENDED, _ACTIVE: _ENDED},
                Action.DECIDE,
                (errors.IllegalMove, errors.ClockMoving),
                outcome=Outcome.REJECTED,
            ),
            Verb(
                Move.HIRE,
                {_ACTIVE: _ENDED},
                Action.DECIDE,
                (
                    errors.IllegalMove,
                    errors.LastPosition,
                    errors.PositionsFilled,
                    errors.ClockMoving,
                ),
                outcome=Outcome.HIRED,
            ),
        ),
        sentences={
            with_reason(Outcome.REMOVED): Told(
                _(
                    "The company removed your application from the line (reason: {why}). It "
                    "has ended."
                ),
                _(
                    "The company removed the applicant’s application from the line (reason: "
                    "{why}). It has ended."
                ),
            ),
            Outcome.REMOVED: Told(
                _("The company removed your application from the line. It has ended."),
                _("The company removed the applicant’s application from the line. It has ended."),
            ),
            with_reason(Outcome.REJECTED): Told(
                _(
                    "The company decided against your application (reason: {why}). It has "
                    "ended, and only the company can add you to this job again."
                ),
                _(
                    "The company decided against the applicant’s application (reason: "
                    "{why}). It has ended, and only the company can add the applicant to "
                    "this job again."
                ),
            ),
            Outcome.REJECTED: Told(
                _(
                    "The company decided against your application. It has ended, and only "
                    "the company can add you to this job again."
                ),
                _(
                    "The company decided against the applicant’s application. It has ended, "
                    "and only the company can add the applicant to this job again."
                ),
            ),
            with_reason(Outcome.HIRED): Told(
                _("The company hired you (reason: {why}). The application has ended."),
                _("The company hired the applicant (reason: {why}). The application has ended."),
            ),
            Outcome.HIRED: Told(
                _("The company hired you. The application has ended."),
                _("The company hired the applicant. The application has ended."),
            ),
        },
    ),
    EventType.CLOSED_OUT: LoggedEvent(
        words=EventWords(
            "plain",
            _("{name} was released: the job has closed"),
            _("Released: the job was closed"),
            _("Job closed"),
        ),
        filtered=_("Released when the job closed"),
        webhook="A person was released because the job closed",
        verbs=(
            Verb(Move.CLOSE_OUT, {_WAIT: _ENDED, _PENDING: _ENDED}, outcome=Outcome.JOB_CLOSED),
        ),
        sentences={
            Outcome.JOB_CLOSED: Told(
                _(
                    "The company closed the job before you had a confirmed seat, so the "
                    "application ended."
                ),
                _(
                    "The company closed the job before the applicant had a confirmed seat, "
                    "so the application ended."
                ),
            ),
        },
    ),
}
