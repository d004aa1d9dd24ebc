"""Refusals to applicants: of answers and consents, wishes and contests.

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
    about="`not_before` has passed, is more than 60 days ahead, or was set 20 times for this "
    "application",
    remedy="`detail` says which. Choose a time within the next 60 days.",
    raised_as=(line.NotDeferrable,),
)
NOT_PASSABLE = ProblemType(
    status=409,
    code="NOT_PASSABLE",
    title=_("No turn left to pass"),
    about="the person has passed as many turns as the job's policy allows (`max_passes`), or "
    "asked 20 times for this application",
    remedy="`detail` says which. Confirm the seat, wait, or withdraw.",
    raised_as=(line.NotPassable,),
)
NOT_PREACCEPTABLE = ProblemType(
    status=409,
    code="NOT_PREACCEPTABLE",
    title=_("Cannot accept a seat until then"),
    about="`accept_until` has passed, is more than 14 days ahead, or was set 50 times for this "
    "application",
    remedy="`detail` says which. Choose a time within the next 14 days.",
    raised_as=(line.NotPreacceptable,),
)
NOT_CONTESTABLE = ProblemType(
    status=409,
    code="NOT_CONTESTABLE",
    title=_("Not contestable"),
    about="the application did not lapse after missed deadlines, and was not removed or rejected",
    remedy="There is nothing to look at again. A person who has not applied yet can apply.",
    raised_as=(line.NotContestable,),
)
ALREADY_CONTESTED = ProblemType(
    status=409,
    code="ALREADY_CONTESTED",
    title=_("Already contested"),
    about="the company has already been asked to look at this again",
    remedy="Read the request and its answer. A later decision can be contested again.",
    raised_as=(line.AlreadyContested,),
)
CONTEST_TOO_LATE = ProblemType(
    status=409,
    code="CONTEST_TOO_LATE",
    title=_("Too late to contest"),
    about="the application ended more than 30 days ago",
    remedy="Write to the company, or apply again if the job is open.",
    raised_as=(line.ContestTooLate,),
)
CONTEST_ANSWERED = ProblemType(
    status=409,
    code="CONTEST_ANSWERED",
    title=_("Contest already answered"),
    about="this request to look again has already been answered",
    remedy="Read the answer. It cannot be changed.",
    raised_as=(line.ContestAnswered,),
)
CONSENTS_CHANGED = ProblemType(
    status=409,
    code="CONSENTS_CHANGED",
    title=_("The notice or consents have changed"),
    about="`consents` names a version that the company does not show now",
    remedy="`GET /jobs/{id}/privacy` has the current ones. Show them to the person and ask again.",
    raised_as=(line.ConsentsChanged,),
)
REQUIREMENT_NOT_MET = ProblemType(
    status=409,
    code="REQUIREMENT_NOT_MET",
    title=_("An answer rules the application out"),
    about="the answer to a question with a `must` is another one than the job needs; `detail` is "
    "the company's own sentence, and `errors` names the question",
    remedy="The person cannot apply with this answer. Nothing was stored but the number of such "
    "refusals.",
    raised_as=(line.RequirementNotMet,),
)
