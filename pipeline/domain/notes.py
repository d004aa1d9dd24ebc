"""Verbs that move nobody in the line: contests, answers, and who belongs to a group. Pure.

Declared like the others in `pipeline.domain.verbs`, which has all of them together.
"""

from __future__ import annotations

from django.utils.translation import gettext_noop as _

from pipeline.domain import errors
from pipeline.domain.contests import ContestAnswer
from pipeline.domain.events import EventWords, LoggedEvent, Verb
from pipeline.domain.permissions import Action
from pipeline.domain.states import QUESTION_ID, EventType, Move, Status

_WAIT, _ACTIVE, _ENDED = Status.WAITLIST, Status.ACTIVE, Status.INACTIVE

# What can refuse any change of a line that may offer seats.
CHANGED = (errors.IllegalMove, errors.ClockMoving, errors.SandboxFull)

OF_NOTES: dict[EventType, LoggedEvent] = {
    EventType.CONTESTED: LoggedEvent(
        words=EventWords(
            "wait", "asked to look again", "Asked you to look again", "You asked to look again"
        ),
        filtered="Asked to look again",
        webhook="A person asked the company to look again at how the application ended",
        verbs=(
            Verb(
                Move.CONTEST,
                {_ENDED: _ENDED},
                Action.CONTEST,
                (
                    errors.LogArchived,
                    errors.NotContestable,
                    errors.AlreadyContested,
                    errors.ContestTooLate,
                    errors.ClockMoving,
                ),
                of_verified=True,
            ),
        ),
        sentences={
            None: (
                "{They} asked the company to look again at how the application ended. The company "
                "must answer by {answer_by}."
            )
        },
    ),
    EventType.CONTEST_ANSWERED: LoggedEvent(
        words=EventWords(
            "plain", "was answered: look again", "Answered: look again", "The company looked again"
        ),
        webhook="The company answered the request, or the person was erased",
        verbs=(
            Verb(
                Move.ANSWER_CONTEST,
                {_ENDED: _ENDED},
                Action.ANSWER_CONTEST,
                (
                    errors.ContestAnswered,
                    errors.NotReinstatable,
                    errors.AlreadyApplied,
                    errors.ClockMoving,
                    errors.SandboxFull,
                ),
                of_verified=True,
            ),
        ),
        sentences={
            ContestAnswer.UPHELD: (
                "The company looked again at {their} application, which stays ended. Its reason: "
                "{why_answered}."
            ),
            ContestAnswer.CHANGED: (
                "The company looked again and gave {they} {their} place back. Its reason: "
                "{why_answered}."
            ),
            ContestAnswer.DROPPED: (
                "The request to look again ended without an answer, because {their} data was "
                "erased."
            ),
        },
    ),
    EventType.ANSWERS_CHANGED: LoggedEvent(
        words=EventWords(
            "plain",
            _("changed the answers"),
            _("Changed the answers"),
            _("Answers changed"),
        ),
        other_words={
            QUESTION_ID: EventWords(
                "plain",
                _("answered a further question"),
                _("Answered your question"),
                _("You answered a question"),
            )
        },
        filtered="Answers changed",
        webhook="A person changed their answers, or answered a further question",
        verbs=(
            Verb(
                Move.CHANGE_ANSWERS,
                {_WAIT: _WAIT, _ACTIVE: _ACTIVE},
                Action.CHANGE_ANSWERS,
                (
                    errors.AnswersNotChangeable,
                    errors.FurtherQuestionNotFound,
                    errors.FormChanged,
                    errors.UploadExpired,
                    errors.FileKindRefused,
                    errors.TooManyAttachments,
                    *CHANGED,
                ),
                of_verified=True,
            ),
        ),
        sentences={
            QUESTION_ID: _("{They} answered the further question of the company."),
            None: _(
                "{They} changed {own} answers to the company’s questions. The place in line stays "
                "the same."
            ),
        },
    ),
    EventType.GROUP_NOTED: LoggedEvent(
        words=EventWords(
            "plain",
            _("had a statement about the reserved seats decided"),
            _("Statement about the reserved seats decided"),
            _("Your statement about the reserved seats was decided"),
        ),
        filtered=_("Reserved seats: statement decided"),
        webhook="It was decided whether a person can take the job’s reserved seats",
        verbs=(
            Verb(Move.NOTE_GROUP, {_WAIT: _WAIT}, Action.DECIDE, (errors.ReserveRefused, *CHANGED)),
        ),
        sentences={
            None: _(
                "It was decided whether {they} can take a reserved seat. The log holds only a "
                "sealed note of the decision."
            )
        },
    ),
    EventType.QUESTION_ASKED: LoggedEvent(
        words=EventWords(
            "wait",
            _("was asked one more question"),
            _("Asked one more question"),
            _("A further question"),
        ),
        webhook="The company asked a person in a seat one more question",
        verbs=(
            Verb(
                Move.ASK_QUESTION,
                {_ACTIVE: _ACTIVE},
                Action.ASK_QUESTION,
                (errors.QuestionNotAskable, *CHANGED),
                of_verified=True,
            ),
        ),
        sentences={
            None: _("The company asked {they} one more question, to be answered by {answer_by}.")
        },
    ),
}
