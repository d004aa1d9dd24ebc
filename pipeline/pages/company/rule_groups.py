"""Groups of a job's form: folded with a summary, or open if a value is unusual or wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.utils import dateformat, timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext

from jobs.policies import Policy
from pipeline.domain.states import POSITIONS
from pipeline.pages import draws
from pipeline.pages.draws import BLANK_TIME, DRAW_FIELDS
from pipeline.wording.english import long_duration
from pipeline.wording.explanations import explained_quiet_hours
from pipeline.wording.language import number as in_digits

QUIET_FIELDS = {"quiet_from", "quiet_to", "quiet_weekends", "quiet_time_zone"}
MISS_FIELDS = {"penalty_places", "max_decays", "cooldown", "cooldown_unit", "max_passes"}
RULE_FIELDS = QUIET_FIELDS | MISS_FIELDS | DRAW_FIELDS | {"acknowledge_first_seat", POSITIONS}
MISS_RULES = ("penalty_places", "max_decays", "cooldown_seconds", "max_passes")
WRONG = gettext_lazy("correct the fields below")
FRIDAY, EVENING_HOUR = 4, 18


@dataclass(frozen=True, slots=True)
class FieldGroup:
    """Fields of a form under one heading, a summary of their values, and whether they show."""

    value: str
    is_open: bool
    example: str = ""


def build_rule_groups(form: forms.Form, policy: Policy | None) -> dict[str, FieldGroup]:
    """Return the groups of a job's form by name: order, quiet, misses, and all of them as rules.

    `policy`: the rules for a form that was not sent yet. A sent form has its own, right or wrong.
    """
    given = dict(form.initial)
    if form.is_bound:
        form.is_valid()
        given = form.cleaned_data
    elif policy is not None:
        given |= policy.values()
    groups = {
        "order": order_fields(form, given),
        "quiet": quiet_hour_fields(form, given),
        "misses": miss_fields(form, given),
    }
    return groups | {"rules": rule_fields(form, given, groups)}


def rule_fields(
    form: forms.Form, given: Mapping[str, Any], groups: Mapping[str, FieldGroup]
) -> FieldGroup:
    """Return all rules but the time to confirm: folded, with their values as sentences."""
    if form.errors.keys() & RULE_FIELDS:
        return FieldGroup(str(WRONG), is_open=True)
    values = {name: group.value for name, group in groups.items()}
    seat = (
        _("A free seat must be confirmed, too.")
        if given.get("acknowledge_first_seat")
        else _("A free seat is given at once.")
    )
    after = _("Quiet hours: %(quiet)s. After a miss: %(misses)s.") % values
    if "opening" not in form.fields:
        return FieldGroup(f"{seat} {after}", is_open=False)
    order = _("Order: %(order)s.") % values
    return FieldGroup(f"{order} {seat} {after}", is_open=False)


def order_fields(form: forms.Form, given: Mapping[str, Any]) -> FieldGroup:
    """Return the group of the line's order: folded, unless it is drawn by lot."""
    if form.errors.keys() & DRAW_FIELDS:
        return FieldGroup(str(WRONG), is_open=True)
    if not (draw := draws.describe_form(given)):
        return FieldGroup(_("first come, first served"), is_open=False)
    if draw == BLANK_TIME:
        return FieldGroup(_("drawn by lot at a time that you enter"), is_open=True)
    return FieldGroup(_("drawn by lot at %(time)s") % {"time": draw}, is_open=True)


def quiet_hour_fields(form: forms.Form, given: Mapping[str, Any]) -> FieldGroup:
    """Return the group of the quiet hours, with an example of what they do to a deadline."""
    if form.errors.keys() & QUIET_FIELDS:
        return FieldGroup(str(WRONG), is_open=True)
    window = given.get("acknowledgment_window_seconds")
    rules = {name: given[name] for name in QUIET_FIELDS if name in given}
    if window and "window" not in form.errors:
        rules["acknowledgment_window_seconds"] = window
    policy = Policy(**rules)
    words = explained_quiet_hours(policy)
    return FieldGroup(
        words or pgettext("quiet hours", "none"),
        bool(words),
        deadline_example(policy, timezone.now()),
    )


def miss_fields(form: forms.Form, given: Mapping[str, Any]) -> FieldGroup:
    """Return the group of the cost of a miss: folded, unless it is unusual."""
    if form.errors.keys() & MISS_FIELDS or not given.keys() >= {*MISS_RULES}:
        return FieldGroup(str(WRONG), is_open=True)
    places, misses, seconds, passes = (given[name] for name in MISS_RULES)
    parts = [
        _describe_lost_places(places),
        _describe_allowed_misses(misses),
        _("cool-down of %(time)s") % {"time": long_duration(seconds)},
        _describe_passes(passes),
    ]
    usual = Policy()
    is_open = any(given[name] != getattr(usual, name) for name in MISS_RULES)
    return FieldGroup(pgettext("between parts", ", ").join(parts), is_open)


def _describe_lost_places(places: int) -> str:
    if not places:
        return _("back of the line")
    words = ngettext("%(count)s place lost", "%(count)s places lost", places)
    return words % {"count": in_digits(places)}


def _describe_allowed_misses(misses: int | None) -> str:
    if misses is None:
        return _("any number of misses allowed")
    words = ngettext("%(count)s miss allowed", "%(count)s misses allowed", misses)
    return words % {"count": in_digits(misses)}


def _describe_passes(passes: int) -> str:
    if not passes:
        return _("nobody passes a turn")
    return ngettext("%(count)s pass", "%(count)s passes", passes) % {"count": in_digits(passes)}


def deadline_example(policy: Policy, now: datetime) -> str:
    """Say when a seat offered next Friday evening must be confirmed, leaving out quiet hours.

    Empty without quiet hours.
    """
    quiet = policy.quiet_hours()
    if quiet is None:
        return ""
    here = now.astimezone(ZoneInfo(quiet.zone))
    friday = here.replace(hour=EVENING_HOUR, minute=0, second=0, microsecond=0)
    friday += timedelta(days=(FRIDAY - here.weekday()) % 7 or 7)
    without = replace(policy, quiet_from=None, quiet_to=None, quiet_weekends=False)
    offered, quietly, plainly = (
        _("%(clock)s on %(day)s")
        % {"clock": dateformat.format(at, "H:i"), "day": dateformat.format(at, "l j F")}
        for at in (
            friday,
            policy.deadline(friday).astimezone(here.tzinfo),
            without.deadline(friday).astimezone(here.tzinfo),
        )
    )
    words = _(
        "For example, a seat that is offered at %(offered)s must be confirmed by %(quietly)s."
        " Without quiet hours, it would be by %(plainly)s."
    )
    return words % {"offered": offered, "quietly": quietly, "plainly": plainly}


# Warning that people have too little time to confirm a seat, on forms of jobs.


FAIR_WINDOW_SECONDS = 20 * 3_600  # WCAG 2.2.1: a shorter time to confirm shuts people out


SHORT_WINDOW = gettext_lazy(
    "People have less than 20 hours to confirm a seat. Anyone who is asleep, at work or needs more"
    " time to read may miss it. Accessibility guidelines (WCAG 2.2.1) ask for at least 20 hours."
)


def warn_of_short_window(request: HttpRequest, policy: Policy) -> None:
    """Warn on the next page if people have too little time to confirm."""
    if policy.acknowledgment_window_seconds < FAIR_WINDOW_SECONDS:
        messages.warning(request, SHORT_WINDOW)


def short_window_context(policy: Policy | None) -> dict[str, Any]:
    """Return the context of the warning about a short time to confirm."""
    short = policy is not None and policy.acknowledgment_window_seconds < FAIR_WINDOW_SECONDS
    return {
        "short_window": SHORT_WINDOW,
        "is_short": short,
        "fair_window_seconds": FAIR_WINDOW_SECONDS,
    }
