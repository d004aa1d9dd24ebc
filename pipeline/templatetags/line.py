"""Template tags of every page: times, countdowns, statuses, form fields."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import template
from django.contrib.humanize.templatetags.humanize import naturaltime
from django.forms import BoundField
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from pipeline.wording.english import place_of_zone, short_duration
from pipeline.wording.event_words import STATUS_WORDS, words_of_status

# Times this near show seconds, since a seat may have to be confirmed within a minute.
NEAR = timedelta(minutes=10)

register = template.Library()
register.filter("duration", short_duration)
register.filter("in_words", words_of_status)


@register.simple_tag
def when(moment: datetime | None) -> SafeString | str:
    """Return a time relative to now, with the full time and its zone on hover."""
    if moment is None:
        return "never"
    return format_html(
        '<time datetime="{}" title="{}" data-relative>{}</time>',
        moment.isoformat(),
        tag_time_in_full(moment),
        naturaltime(moment).replace("\xa0", " "),
    )


@register.simple_tag
def at(moment: datetime | None) -> SafeString | str:
    """Return a time in the reader's zone, with its zone, as short as is clear."""
    if moment is None:
        return "never"
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        moment.isoformat(),
        tag_time_in_full(moment),
        tag_time_in_short(moment),
    )


@register.simple_tag
def countdown(deadline: datetime, now: datetime) -> SafeString:
    """Return the time left. With JavaScript, it counts down by the server's clock."""
    return format_html(
        '<count-down until="{}" now="{}"><span role="timer">{}</span></count-down>',
        deadline.isoformat(),
        now.isoformat(),
        short_duration(deadline - now),
    )


@register.simple_tag
def chip(word: str, label: str = "") -> SafeString:
    """Return a status or an outcome as a small label. `label` replaces its text."""
    tone = STATUS_WORDS[word].tone if word in STATUS_WORDS else "plain"
    return format_html('<span class="chip {}">{}</span>', tone, label or words_of_status(word))


@register.inclusion_tag("components/field.html")
def field(bound: BoundField, **extra: Any) -> dict[str, Any]:
    """Return the context of a form field, with its label, help and errors linked to it."""
    described = [f"{bound.auto_id}_help"] if bound.help_text else []
    described += [f"{bound.auto_id}_error"] if bound.errors else []
    if described:
        bound.field.widget.attrs["aria-describedby"] = " ".join(described)
    if bound.errors:
        bound.field.widget.attrs["aria-invalid"] = "true"
    kind = getattr(bound.field.widget, "input_type", "text")
    return {"field": bound, "is_box": kind == "checkbox", "is_radio": kind == "radio"} | extra


def tag_time_in_full(moment: datetime) -> str:
    """Return a time to the second, with day, year and zone."""
    here = timezone.localtime(moment)
    return f"{here:%A} {here.day} {here:%B %Y, %H:%M:%S} ({place_of_zone(here.tzinfo)})"


def tag_time_in_short(moment: datetime) -> str:
    """Return a time to the minute, or the second if NEAR, with the year unless it is this one."""
    here, now = timezone.localtime(moment), timezone.localtime()
    year = "" if here.year == now.year else f" {here.year}"
    clock = f"{here:%H:%M:%S}" if abs(here - now) < NEAR else f"{here:%H:%M}"
    return f"{here:%a} {here.day} {here:%b}{year}, {clock} ({place_of_zone(here.tzinfo)})"
