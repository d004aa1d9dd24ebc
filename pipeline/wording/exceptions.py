"""Words about exceptions to the order of a line. Pure."""

from __future__ import annotations

from datetime import datetime, tzinfo

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, ngettext

from pipeline.domain.amounts import Amount
from pipeline.domain.states import ExceptionReason
from pipeline.wording.english import capitalized, format_time

# The reasons, as everyone passed reads them.
REASON_WORDS: dict[str, str | Promise] = {
    ExceptionReason.LEGAL_DUTY: gettext_lazy("the law requires it"),
    ExceptionReason.OUR_ERROR: gettext_lazy("an error on the company’s side"),
    ExceptionReason.HARDSHIP: gettext_lazy("waiting would be a hardship for this person"),
    ExceptionReason.OTHER: gettext_lazy("another reason, in the company’s own words"),
}


def reason_choices() -> list[tuple[str, str]]:
    """Return every reason with its label, as form choices."""
    return [(code, capitalized(str(words))) for code, words in REASON_WORDS.items()]


def describe_overtaking(
    at: datetime | None, *, company: str, reason: str, people: int, zone: tzinfo
) -> str:
    """Say when and why the company moved a person ahead, to one of the people passed."""
    return ngettext(
        "At %(at)s, %(company)s moved one person to the front of the line. Only you were passed."
        " Its reason: %(reason)s.",
        "At %(at)s, %(company)s moved one person to the front of the line. %(people)s people were"
        " passed, and you are one of them. Its reason: %(reason)s.",
        people,
    ) % {
        "at": format_time(at, zone),
        "company": company,
        "people": Amount(people),
        "reason": str(REASON_WORDS[reason]),
    }
