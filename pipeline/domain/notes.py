"""Verbs that move nobody in the line: contests, answers, and who belongs to a group. Pure.

Declared like the others in `pipeline.domain.verbs`, which has all of them together.
"""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from pipeline.domain import errors
from pipeline.domain.contests import ContestAnswer
from pipeline.domain.events import EventWords, LoggedEvent, Told, Verb
from pipeline.domain.permissions import Action
from pipeline.domain.states import QUESTION_ID, EventType, Move, Status

_WAIT, _ACTIVE, _ENDED = Status.WAITLIST, Status.ACTIVE, Status.INACTIVE

# What can refuse any change of a line that may offer seats.
CHANGED = (errors.IllegalMove, errors.ClockMoving, errors.SandboxFull)

OF_NOTES: dict[EventType, LoggedEvent] = {
    EventType.CONTESTED: LoggedEvent(
        words=EventWords(
            "wait",
            _("{name} asked to look again"),
            _("Asked you to look again"),
            _("You asked to look again"),
        ),
        filtered=_("Asked to look again"),
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
            None: Told(
                _(
                    "You asked the company to look again at how the application ended. The "
                    "company must answer by {answer_by}."
                ),
                _(
                    "The applicant asked the company to look again at how the application "
                    "ended. The company must answer by {answer_by}."
                ),
            ),
        },
    ),
    EventType.CONTEST_ANSWERED: LoggedEvent(
        words=EventWords(
            "plain",
            _("{name} was answered: look again"),
            _("Answered: look again"),
            _("The company looked again"),
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
            ContestAnswer.UPHELD: Told(
                _(
                    "The company looked again at your application, which stays ended. Its "
                    "reason: {why_answered}."
                ),
                _(
                    "The company looked again at the applicant’s application, which stays "
                    "ended. Its reason: {why_answered}."
                ),
            ),
            ContestAnswer.CHANGED: Told(
                _(
                    "The company looked again and gave you your place back. Its reason: "
                    "{why_answered}."
                ),
                _(
                    "The company looked again and gave the applicant the applicant’s place "
                    "back. Its reason: {why_answered}."
                ),
            ),
            ContestAnswer.DROPPED: Told(
                _(
                    "The request to look again ended without an answer, because your data "
                    "was erased."
                ),
                _(
                    "The request to look again ended without an answer, because the "
                    "applicant’s data was erased."
                ),
            ),
        },
    ),
    EventType.ANSWERS_CHANGED: LoggedEvent(
        words=EventWords(
            "plain",
            _("{name} changed the answers"),
            _("Changed the answers"),
            _("Answers changed"),
        ),
        other_words={
            QUESTION_ID: EventWords(
                "plain",
                _("{name} answered a further question"),
                _("Answered your question"),
                _("You answered a question"),
            )
        },
        filtered=_("Answers changed"),
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
            QUESTION_ID: Told(
                _("You answered the further question of the company."),
                _("The applicant answered the further question of the company."),
            ),
            None: Told(
                _(
                    "You changed your answers to the company’s questions. The place in line "
                    "stays the same."
                ),
                _(
                    "The applicant changed their answers to the company’s questions. The "
                    "place in line stays the same."
                ),
            ),
        },
    ),
    EventType.GROUP_NOTED: LoggedEvent(
        words=EventWords(
            "plain",
            _("{name} had a statement about the reserved seats decided"),
            _("Statement about the reserved seats decided"),
            _("Your statement about the reserved seats was decided"),
        ),
        filtered=_("Reserved seats: statement decided"),
        webhook="It was decided whether a person can take the job’s reserved seats",
        verbs=(
            Verb(Move.NOTE_GROUP, {_WAIT: _WAIT}, Action.DECIDE, (errors.ReserveRefused, *CHANGED)),
        ),
        sentences={
            None: Told(
                _(
                    "It was decided whether you can take a reserved seat. The log holds only "
                    "a sealed note of the decision."
                ),
                _(
                    "It was decided whether the applicant can take a reserved seat. The log "
                    "holds only a sealed note of the decision."
                ),
            ),
        },
    ),
    EventType.QUESTION_ASKED: LoggedEvent(
        words=EventWords(
            "wait",
            _("{name} was asked one more question"),
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
            None: Told(
                _("The company asked you one more question, to be answered by {answer_by}."),
                _(
                    "The company asked the applicant one more question, to be answered by "
                    "{answer_by}."
                ),
            ),
        },
    ),
}
