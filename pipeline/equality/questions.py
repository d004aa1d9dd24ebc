"""Equal-opportunity questions that a company can ask. Nobody has to answer one."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from typing import NamedTuple
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from jobs import activity
from jobs.models import Company

CHOSEN = activity.declare(
    "equality.chosen", activity.Group.RULES, _("Changed the equal-opportunity questions")
)
security = logging.getLogger("security")


class EqualityQuestion(NamedTuple):
    """Question with its choices, by their codes."""

    label: Promise
    choices: dict[str, Promise]


QUESTIONS = {
    "gender": EqualityQuestion(
        _("Your gender"),
        {
            "woman": pgettext_lazy("answer", "Woman"),
            "man": pgettext_lazy("answer", "Man"),
            "other": _("Another gender"),
        },
    ),
    "age": EqualityQuestion(
        _("Your age"),
        {
            "under_25": _("Under 25"),
            "25_34": _("25 to 34"),
            "35_44": _("35 to 44"),
            "45_54": _("45 to 54"),
            "55_up": _("55 or older"),
        },
    ),
    "disability": EqualityQuestion(
        _("Do you have a disability or a long-term health condition?"),
        {"yes": pgettext_lazy("answer", "Yes"), "no": pgettext_lazy("answer", "No")},
    ),
    "minority": EqualityQuestion(
        _("Do you belong to an ethnic minority where you live?"),
        {"yes": pgettext_lazy("answer", "Yes"), "no": pgettext_lazy("answer", "No")},
    ),
}


def choose(*, company_id: UUID, codes: Collection[str], by: UUID | None) -> None:
    """Ask people who apply to a company from now on these questions."""
    chosen = list(asked(codes))
    Company.objects.filter(id=company_id).update(equality_questions=chosen or None)
    activity.note(CHOSEN, company_id=company_id, by=by)
    told = {"company": str(company_id), "by": str(by), "questions": chosen}
    security.info("equality.chosen", extra=told)


def asked(codes: Iterable[str] | None) -> dict[str, EqualityQuestion]:
    """Return the questions with these codes, in our order."""
    wanted = set(codes or ())
    return {code: each for code, each in QUESTIONS.items() if code in wanted}
