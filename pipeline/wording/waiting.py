"""Words about how long a person will probably wait, and why their place in line changed. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from math import ceil, floor
from typing import Protocol

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, ngettext_lazy

from pipeline.domain.amounts import Amount
from pipeline.domain.states import EventType
from pipeline.wording.english import capitalized, format_number

NOT_KNOWN = gettext_lazy("How long you will wait is not known yet.")
_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


class _Forecast(Protocol):
    @property
    def half(self) -> int: ...

    @property
    def most(self) -> int: ...


class DescribedProspect(Protocol):
    """The fields of a prospect that its sentences use."""

    @property
    def forecast(self) -> _Forecast: ...

    @property
    def counted(self) -> int: ...

    @property
    def share(self) -> int | None: ...


def describe_prospect(prospect: DescribedProspect) -> str:
    """Say when people in a place will most likely be offered a seat."""
    # Translators: {wait} is like “in 4 to 9 days” or “in about 3 days”.
    return _("You should get a seat %(wait)s.") % {"wait": describe_wait(prospect)}


def describe_wait(prospect: DescribedProspect) -> str:
    """Return the time in which half, and four fifths, of the people in a place are offered a seat.

    Words to end a sentence with: "in 4 to 9 days", "in about 3 days", "in 20 hours to 3 days".
    """
    half, most = (_count_wait(each) for each in (prospect.forecast.half, prospect.forecast.most))
    number, unit = most
    if half == most:
        about = {
            "day": ngettext("in about %(number)s day", "in about %(number)s days", number),
            "hour": ngettext("in about %(number)s hour", "in about %(number)s hours", number),
            "minute": ngettext("in about %(number)s minute", "in about %(number)s minutes", number),
        }
        return about[unit] % {"number": Amount(number)}
    if half[1] == unit:
        between = {
            "day": ngettext(
                "in %(least)s to %(most)s day", "in %(least)s to %(most)s days", number
            ),
            "hour": ngettext(
                "in %(least)s to %(most)s hour", "in %(least)s to %(most)s hours", number
            ),
            "minute": ngettext(
                "in %(least)s to %(most)s minute", "in %(least)s to %(most)s minutes", number
            ),
        }
        return between[unit] % {"least": Amount(half[0]), "most": Amount(number)}
    # Translators: two durations: “in 20 hours to 3 days”.
    return _("in %(least)s to %(most)s") % {
        "least": _format_wait(*half),
        "most": _format_wait(*most),
    }


def describe_least_wait(seconds: int) -> str:
    """Say how long a person waits at least, because people further ahead wait as long."""
    wait = _format_wait(*_count_wait(seconds, rounded=floor))
    return _("You will probably wait more than %(wait)s for a seat.") % {"wait": wait}


def describe_forecast_accuracy(counted: int, share: int | None) -> str:
    """Say how many of the last forecasts of a job came true; nothing while there are too few."""
    if share is None:
        return ""
    return ngettext(
        "%(share)s%% of the last %(counted)s forecast here was right.",
        "%(share)s%% of the last %(counted)s forecasts here were right.",
        counted,
    ) % {"share": share, "counted": Amount(counted)}


def _count_wait(seconds: float, *, rounded: Callable[[float], int] = ceil) -> tuple[int, str]:
    """Return a duration, rounded, in the largest unit of which it has at least two."""
    for unit, size in _UNITS:
        if seconds >= 2 * size or unit == "minute":
            return max(1, rounded(seconds / size)), unit
    raise AssertionError("a minute is the last unit")


def _format_wait(number: int, unit: str) -> str:
    words = {
        "day": ngettext("%(number)s day", "%(number)s days", number),
        "hour": ngettext("%(number)s hour", "%(number)s hours", number),
        "minute": ngettext("%(number)s minute", "%(number)s minutes", number),
    }
    return words[unit] % {"number": Amount(number)}


# Explanations of why a person's place in line changed. Pure.


@dataclass(frozen=True, slots=True)
class PlaceChange:
    """Last change of a person's place in line.

    `people` is how many people the event affected at that time. `own` means that the person was one
    of them.
    """

    event: EventType
    at: datetime
    people: int = 1
    own: bool = False


def explain_moved_position(change: PlaceChange) -> str:
    """Explain the last change of a person's place in line."""
    known = _OWN_CHANGES if change.own else _CHANGES_BY_ONE
    if change.own or change.event in known:
        return str(known.get(change.event, ""))  # nothing for an offer: they wait no longer
    template = _CHANGES.get(change.event, _LEFT)
    by = format_number(change.people)
    many = capitalized(format_number(change.people))
    return template % {"count": change.people, "many": many, "by": by}


# What changed the place of everyone behind. Translators: %(many)s and %(by)s are the same number:
# in English a word, and the first begins the sentence.
_LEFT = ngettext_lazy(
    "Someone ahead of you left the line, so you moved up by %(by)s.",
    "%(many)s people ahead of you left the line, so you moved up by %(by)s.",
    "count",
)
_JOINED_AHEAD = ngettext_lazy(
    "Someone has joined ahead of you, because your miss cost you places. You moved back by %(by)s.",
    "%(many)s people have joined ahead of you, because your miss cost you places. You moved back"
    " by %(by)s.",
    "count",
)
_CHANGES = {
    EventType.PROMOTED: ngettext_lazy(
        "Someone ahead of you was offered a seat, so you moved up by %(by)s.",
        "%(many)s people ahead of you were offered a seat, so you moved up by %(by)s.",
        "count",
    ),
    EventType.VERIFIED: ngettext_lazy(
        "Someone who joined before you has verified their email address. You moved back by %(by)s.",
        "%(many)s people who joined before you have verified their email address. You moved back by"
        " %(by)s.",
        "count",
    ),
    EventType.REINSTATED: ngettext_lazy(
        "Someone is ahead of you again: the company cancelled a miss or a decision. You moved back"
        " by %(by)s.",
        "%(many)s people are ahead of you again: the company cancelled a miss or a decision. You"
        " moved back by %(by)s.",
        "count",
    ),
    EventType.PASSED: ngettext_lazy(
        "Someone who passed a turn is ahead of you again. You moved back by %(by)s.",
        "%(many)s people who passed a turn are ahead of you again. You moved back by %(by)s.",
        "count",
    ),
    EventType.APPLIED: _JOINED_AHEAD,
    EventType.DECAYED: _JOINED_AHEAD,
}
_CHANGES_BY_ONE: dict[EventType, str | Promise] = {
    EventType.MOVED_AHEAD: gettext_lazy(
        "Someone behind you was moved ahead by an exception. You moved back by one."
    ),
}
_OWN_CHANGES: dict[EventType, str | Promise] = {
    EventType.APPLIED: gettext_lazy("You joined the line."),
    EventType.VERIFIED: gettext_lazy(
        "Your email address was verified, so you have your place in line."
    ),
    EventType.PLACED: gettext_lazy("The order was drawn by lot, and this gave you your place."),
    EventType.DECAYED: gettext_lazy("You missed a deadline, so your place is further back now."),
    EventType.PASSED: gettext_lazy("You passed a turn, and kept your place."),
    EventType.REINSTATED: gettext_lazy("The company gave you back the place you had before."),
    EventType.MOVED_AHEAD: gettext_lazy("The company moved you to the front by an exception."),
}
