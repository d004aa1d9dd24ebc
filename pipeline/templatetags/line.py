"""Template tags of every page: times, countdowns, statuses, form fields."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django import template
from django.contrib.humanize.templatetags.humanize import NaturalTimeFormatter, naturaltime
from django.forms import BaseForm, BoundField, RadioSelect
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from jobs.models import Job
from pipeline.domain.amounts import Amount
from pipeline.wording import language
from pipeline.wording.english import (
    format_time,
    isolated,
    long_duration,
    needs_isolation,
    short_duration,
    strip_reordering,
)
from pipeline.wording.events import STATUS_WORDS, label_status
from pipeline.wording.explanations import describe_target
from pipeline.wording.language import largest_unit_duration
from pipeline.wording.reserved import count_free, describe_reserve, describe_vacancy
from pipeline.wording.status import describe_seats

# Times this near show seconds, since a seat may have to be confirmed within a minute.
NEAR = timedelta(minutes=10)
_MINUTE_SECONDS, _DAY_SECONDS = 60, 86_400
_NOW = NaturalTimeFormatter.time_strings["now"]

register = template.Library()
register.filter("duration", short_duration)
register.filter("date_as", language.day, expects_localtime=True)
register.filter("clock", language.clock, expects_localtime=True)
register.filter("listed", language.list_of)
register.filter("long_duration", long_duration)
register.filter("in_words", label_status)
register.filter("seats_in_words", describe_seats)
register.filter("reserve_in_words", describe_reserve)
register.filter("free_reserved_in_words", count_free)


@register.filter(name="number")
@register.filter(name="intcomma")
def tag_number(value: Any) -> Any:
    """Return a number with separators, in the reader's language; anything else as it is."""
    return language.number(value) if isinstance(value, int | float | Decimal) else value


@register.filter(name="vacancy_in_words")
def tag_vacancy(job: Job) -> str:
    """Return what happens to the reserved seats of a job that nobody of the group takes."""
    return describe_vacancy(job, format_time(job.reserved_until, timezone.get_current_timezone()))


@register.filter(name="bdi")
def tag_bdi(name: object) -> SafeString | str:
    """Return a name that a person gave, so that it cannot reorder the words around it.

    Every name in the text of a page gets this. Only those that need the element have it.
    """
    plain = strip_reordering(str(name))
    return format_html("<bdi>{}</bdi>", plain) if needs_isolation(plain) else plain


@register.filter(name="isolated")
def tag_isolated(name: object) -> str:
    """Return a name for plain text: the title of a page, or an attribute. Elsewhere, `bdi`."""
    return isolated(str(name))


@register.filter(name="around_name")
def split_at_name(title: str) -> tuple[str, str]:
    """Return what stands before and after the {name} of the person in the title of an event."""
    before, _place, after = title.partition("{name}")
    return before, after


@register.simple_tag(name="when", takes_context=True)
def tag_when(context: Mapping[str, Any], moment: datetime | None) -> SafeString | str:
    """Return a time relative to now, with the full time and its zone on hover.

    On a page about a sandbox's `job`, "now" is by its clock, which no browser knows.
    """
    if moment is None:
        return _("never")
    ahead = _tag_clock_offset(context)
    return format_html(
        '<time datetime="{}" title="{}"{}>{}</time>',
        moment.isoformat(),
        tag_time_in_full(moment),
        SafeString("" if ahead else " data-relative"),
        _describe_distance(moment - ahead),
    )


def _describe_distance(moment: datetime) -> str:
    """Return how long ago a time was. Django's words for that decline no number in Arabic."""
    now = timezone.now()
    if int((now - moment).total_seconds()) == 0:
        return _("just now")
    if not language.is_english():
        return language.relative(moment, now)
    return naturaltime(moment).replace("\xa0", " ")


@register.simple_tag(name="lasting", takes_context=True)
def tag_lasting(context: Mapping[str, Any], since: datetime) -> SafeString:
    """Return how long something has lasted: "for 2 hours", with its beginning on hover.

    On paper, the time at which it began replaces this.
    """
    ahead = _tag_clock_offset(context)
    span = _describe_span(since - ahead)
    # Translators: how long something has lasted, as "for 2 hours".
    before, _place, after = _("for %(time)s").partition("%(time)s")
    return format_html(
        '<span class="on-screen">{}</span><time datetime="{}" title="{}"{}>{}</time>{}',
        before,
        since.isoformat(),
        _("since %(time)s") % {"time": tag_time_in_full(since)},
        SafeString("" if ahead else " data-relative data-lasting"),
        span,
        after,
    )


def _describe_span(since: datetime) -> str:
    """Return how long ago a time was: 2 hours. Other languages have no such words to take apart."""
    if not language.is_english():
        return largest_unit_duration(timezone.now() - since)
    span = naturaltime(since).replace("\xa0", " ")
    return _("a moment") if span == str(_NOW) else span.removesuffix(" ago")


@register.simple_tag(name="waited")
def tag_waited(since: datetime, now: datetime) -> SafeString:
    """Return how long somebody has waited, in its largest unit: 8 d. Its beginning is on hover."""
    return format_html(
        '<time datetime="{}" title="{}" data-waited>{}</time>',
        since.isoformat(),
        _("since %(time)s") % {"time": tag_time_in_full(since)},
        largest_unit_duration(now - since).replace(" ", "\xa0"),
    )


@register.filter(name="review_time")
def format_review_time(age: Any) -> str:
    """Return how long a review has taken: 6 h 2 min; of working time, in its largest unit: 0, 5 h.

    A review that has just begun has taken no time.
    """
    if age.age_seconds < _MINUTE_SECONDS:
        return "0" if age.works else pgettext("state", "New")
    return (largest_unit_duration if age.works else short_duration)(age.age_seconds)


@register.filter(name="review_day")
def format_review_day(age: Any) -> str:
    """Return which of the company's working days it is: "working day 1 of 3".

    It is empty without a target, if hours or all days count, and for reviews that are late.
    """
    if not age:
        return ""
    days, rest = divmod(age.target_seconds, _DAY_SECONDS)
    if not age.works or rest or age.age_seconds >= age.target_seconds:
        return ""
    names = {"day": Amount(age.age_seconds // _DAY_SECONDS + 1), "days": Amount(days)}
    return _("working day %(day)s of %(days)s") % names


@register.filter(name="review_target")
def format_review_target(age: Any) -> str:
    """Return the target of a review, and that only working time counts: 3 d, 3 working days."""
    if age.works:
        return describe_target(age.target_seconds, works=True)
    return short_duration(age.target_seconds)


@register.simple_tag(name="at")
def tag_at(moment: datetime | None, *, seconds: bool = False) -> SafeString | str:
    """Return a time in the reader's zone, with its zone, as short as is clear."""
    if moment is None:
        return _("never")
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        moment.isoformat(),
        tag_time_in_full(moment),
        tag_time_in_short(moment, seconds=seconds),
    )


@register.simple_tag(name="countdown")
def tag_countdown(deadline: datetime, now: datetime, *, own: bool = False) -> SafeString:
    """Return the time left. With JavaScript, it counts down by the server's clock.

    `at` is this server's time, which answers name (see live_page); `now` may be a sandbox's. The
    reader's own deadline also counts down in the title and the icon of the browser's tab.
    """
    return format_html(
        '<count-down until="{}" now="{}" at="{}"{}><span role="timer">{}</span></count-down>',
        deadline.isoformat(),
        now.isoformat(),
        timezone.now().isoformat(),
        SafeString(" data-own" if own else ""),
        short_duration(deadline - now),
    )


@register.simple_tag(name="chip")
def tag_chip(word: str, label: str = "") -> SafeString:
    """Return a status or an outcome as a small label. `label` replaces its text."""
    tone = STATUS_WORDS[word].tone if word in STATUS_WORDS else "plain"
    return format_html('<span class="chip {}">{}</span>', tone, label or label_status(word))


@register.inclusion_tag("components/field.html", name="field")
def tag_field(bound: BoundField, **extra: Any) -> dict[str, Any]:
    """Return the context of a form field, with its label, help and errors linked to it.

    A placeholder from a library is removed, because it repeats the label.
    """
    bound.field.widget.attrs.pop("placeholder", None)
    described = [f"{bound.auto_id}_help"] if bound.help_text else []
    described += [f"{bound.auto_id}_error"] if bound.errors else []
    if described:
        bound.field.widget.attrs["aria-describedby"] = " ".join(described)
    if bound.errors:
        bound.field.widget.attrs["aria-invalid"] = "true"
    widget = bound.field.widget
    is_group = isinstance(widget, RadioSelect)  # boxes of which any can be ticked, too
    is_box = getattr(widget, "input_type", "text") == "checkbox" and not is_group
    other = getattr(widget, "render_other", None)
    shown = {"other": other(bound.html_name, bound.value())} if other else {}
    kinds = {"is_box": is_box, "is_radio": is_group, "is_short": is_group and _is_short(widget)}
    return {"field": bound, **kinds, **shown} | extra


def _is_short(widget: RadioSelect) -> bool:
    """Tell whether the choices, of which one can be made, fit beside one another."""
    labels = [str(label) for _value, label in widget.choices]
    is_single = widget.input_type == "radio" and not getattr(widget, "has_other", False)
    return is_single and len(labels) <= 4 and all(len(label) <= 12 for label in labels)


@register.filter(name="of")
def tag_of(values: Mapping[Any, Any], key: Any) -> Any:
    """Return the value of a key, or nothing."""
    return values.get(key, "")


@register.filter(name="takes_colon")
def tag_takes_colon(label: object) -> bool:
    """Return whether a colon stands between a label and what follows: not after a question."""
    return not str(label).endswith(("?", "!", ".", ":", "؟", "？", "！", "。", "："))  # noqa: RUF001


@register.filter(name="number_of_errors")
def tag_number_of_errors(form: BaseForm) -> int:
    """Return how many errors the fields of a form have."""
    return sum(len(errors) for errors in form.errors.values())


def _tag_clock_offset(context: Mapping[str, Any]) -> timedelta:
    """Return how far the clock of the page's times is ahead of the database's.

    It is the clock of the company in `clock_of`, or else of `job`; 0 on all other pages.
    """
    whose = context.get("clock_of") or context.get("job")
    return timedelta(seconds=getattr(whose, "clock_offset_seconds", 0))


tag_time_in_full = language.moment_in_full


def tag_time_in_short(moment: datetime, *, seconds: bool = False) -> str:
    """Return a time to the minute, or the second if NEAR, with the year unless it is this year.

    `seconds`: to the second in any case.
    """
    is_near = abs(moment - timezone.now()) < NEAR
    return language.moment_in_short(moment, seconds=seconds or is_near)
