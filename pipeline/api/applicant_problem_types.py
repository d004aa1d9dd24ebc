"""Refusals about one application: its place and seat, answers, consents, wishes and contests.

`pipeline.api.problem_types` has all refusals together.
"""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from pipeline.api.problem_type import ProblemType
from pipeline.domain import errors as line

NOT_DEFERRABLE = ProblemType(
    status=409,
    code="NOT_DEFERRABLE",
    title=_("Not deferrable"),
    about=_(
        "`not_before` has passed, is more than 60 days ahead, or was set 20 times for this "
        "application."
    ),
    remedy=_("`detail` says which. Choose a time within the next 60 days."),
    raised_as=(line.NotDeferrable,),
)
NOT_PASSABLE = ProblemType(
    status=409,
    code="NOT_PASSABLE",
    title=_("No turn left to pass"),
    about=_(
        "The person has passed as many turns as the job's policy allows (`max_passes`), or "
        "asked 20 times for this application."
    ),
    remedy=_("`detail` says which. Confirm the seat, wait, or withdraw."),
    raised_as=(line.NotPassable,),
)
NOT_PREACCEPTABLE = ProblemType(
    status=409,
    code="NOT_PREACCEPTABLE",
    title=_("Cannot accept a seat until then"),
    about=_(
        "`accept_until` has passed, is more than 14 days ahead, or was set 50 times for this "
        "application."
    ),
    remedy=_("`detail` says which. Choose a time within the next 14 days."),
    raised_as=(line.NotPreacceptable,),
)
NOT_CONTESTABLE = ProblemType(
    status=409,
    code="NOT_CONTESTABLE",
    title=_("Not contestable"),
    about=_(
        "The application did not lapse after missed deadlines, and was not removed or rejected."
    ),
    remedy=_("There is nothing to look at again. A person who has not applied yet can apply."),
    raised_as=(line.NotContestable,),
)
ALREADY_CONTESTED = ProblemType(
    status=409,
    code="ALREADY_CONTESTED",
    title=_("Already contested"),
    about=_("The company has already been asked to look at this again."),
    remedy=_("Read the request and its answer. A later decision can be contested again."),
    raised_as=(line.AlreadyContested,),
)
CONTEST_TOO_LATE = ProblemType(
    status=409,
    code="CONTEST_TOO_LATE",
    title=_("Too late to contest"),
    about=_("The application ended more than 30 days ago."),
    remedy=_("Write to the company, or apply again if the job is open."),
    raised_as=(line.ContestTooLate,),
)
CONTEST_ANSWERED = ProblemType(
    status=409,
    code="CONTEST_ANSWERED",
    title=_("Contest already answered"),
    about=_("This request to look again has already been answered."),
    remedy=_("Read the answer. It cannot be changed."),
    raised_as=(line.ContestAnswered,),
)
CONSENTS_CHANGED = ProblemType(
    status=409,
    code="CONSENTS_CHANGED",
    title=_("The notice or consents have changed"),
    about=_("`consents` names a version that the company does not show now."),
    remedy=_(
        "`GET /jobs/{id}/privacy` has the current ones. Show them to the person and ask again."
    ),
    raised_as=(line.ConsentsChanged,),
)
REQUIREMENT_NOT_MET = ProblemType(
    status=409,
    code="REQUIREMENT_NOT_MET",
    title=_("An answer rules the application out"),
    about=_(
        "The answer to a question with a `must` is another one than the job needs; `detail` "
        "is the company's own sentence, and `errors` names the question."
    ),
    remedy=_(
        "The person cannot apply with this answer. Nothing was stored but the number of such "
        "refusals."
    ),
    raised_as=(line.RequirementNotMet,),
)
ALREADY_DECIDED = ProblemType(
    status=409,
    code="ALREADY_DECIDED",
    title=_("Already decided"),
    about=_("A person applies again by themselves after the company has rejected or hired them."),
    remedy=_("Submit the person with a company's key, if the company wants that."),
    raised_as=(line.AlreadyDecided,),
)
NOT_EXTENDABLE = ProblemType(
    status=409,
    code="NOT_EXTENDABLE",
    title=_("Cannot extend the deadline to then"),
    about=_(
        "`acknowledge_by` is before the deadline of the offer, more than 30 days ahead, or "
        "the company has extended this offer five times."
    ),
    remedy=_("`detail` says which. Choose a later time within the next 30 days."),
    raised_as=(line.NotExtendable,),
)
NOT_MOVABLE = ProblemType(
    status=409,
    code="NOT_MOVABLE",
    title=_("Cannot move this person ahead"),
    about=_(
        "The person is first already, the order has not been drawn yet, or the job has had "
        "100 exceptions."
    ),
    remedy=_("`detail` says which."),
    raised_as=(line.NotMovable,),
)
FORM_CHANGED = ProblemType(
    status=409,
    code="FORM_CHANGED",
    title=_("The questions have changed"),
    about=_(
        "`form_version` is not the job's current version, or the company has published "
        "another one meanwhile, which asks something else."
    ),
    remedy=_("Read the job: it has the current `questions` and `form_version`. Answer those."),
    raised_as=(line.FormChanged,),
)
ANSWERS_NOT_CHANGEABLE = ProblemType(
    status=409,
    code="ANSWERS_NOT_CHANGEABLE",
    title=_("Answers not changeable"),
    about=_(
        "The job asks no questions, or the answers were changed 20 times; `detail` says which."
    ),
    remedy=_("The last answers stand."),
    raised_as=(line.AnswersNotChangeable,),
)
QUESTION_NOT_ASKABLE = ProblemType(
    status=409,
    code="QUESTION_NOT_ASKABLE",
    title=_("Question not askable"),
    about=_(
        "A further question to the person is still open, 20 were asked, or `answer_by` is not "
        "in the next 60 days; `detail` says which."
    ),
    remedy=_("Wait for the answer, or withdraw the open question."),
    raised_as=(line.QuestionNotAskable,),
)
ACKNOWLEDGMENT_EXPIRED = ProblemType(
    status=410,
    code="ACKNOWLEDGMENT_EXPIRED",
    title=_("Acknowledgment expired"),
    about=_(
        "The deadline has passed, and the seat went to the next person; also long after, "
        "until the person gets another offer or the place back."
    ),
    remedy=_("Read the application: it is back on the waitlist, or has ended."),
    raised_as=(line.AcknowledgmentExpired,),
)
