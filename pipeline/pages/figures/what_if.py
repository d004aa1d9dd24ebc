"""Page that replays a job's past under other rules, and shows the last such run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext, pgettext_lazy

from jobs.models import Job
from pipeline.domain.permissions import Action
from pipeline.figures.whatif.run import (
    ASSUMPTION,
    MOST_DAYS,
    MOST_EVENTS,
    MOVING,
    read_last_what_if_task,
    start_what_if,
)
from pipeline.pages.access import for_members, own_job
from pipeline.pages.charts import Chart, ChartTick, build_bars, count_ticks, straight_line
from pipeline.pages.forms import PlainForm
from pipeline.pages.live_page import live_page
from pipeline.wording.english import short_duration
from pipeline.wording.language import number as in_digits
from pipeline.work.start import WorkError
from tasks.errors import TaskError
from tasks.models import Status, Task

_HOUR = 3_600
_MOST_HOURS = 720
_WAIT = "median_wait_seconds"
_LOST = ("missed", "cooldown", "nobody", "paused")


def _number_field(label: Any, low: int, high: int, help_text: Any = "") -> forms.IntegerField:
    return forms.IntegerField(
        label=label, min_value=low, max_value=high, required=False, help_text=help_text
    )


class WhatIfForm(PlainForm):
    """Other rules. An empty field leaves a rule as it was."""

    days = _number_field(
        gettext_lazy("Days back"),
        1,
        MOST_DAYS,
        gettext_lazy("Leave empty for the job’s whole past."),
    )
    window_hours = _number_field(gettext_lazy("Hours to confirm a seat"), 1, _MOST_HOURS)
    capacity = _number_field(pgettext_lazy("label", "Seats"), 1, 10_000)
    penalty_places = _number_field(gettext_lazy("Places lost after a miss"), 0, 1_000)
    max_decays = _number_field(gettext_lazy("Misses allowed"), 0, 100)
    cooldown_hours = _number_field(gettext_lazy("Hours of cool-down after a miss"), 1, _MOST_HOURS)

    def show_present_rules(self, job: Job) -> None:
        """Show the job's current rules in the fields."""
        present = {
            "window_hours": short_duration(job.acknowledgment_window_seconds),
            "capacity": in_digits(job.capacity),
            "penalty_places": in_digits(job.penalty_places),
            "max_decays": _("no limit") if job.max_decays is None else in_digits(job.max_decays),
            "cooldown_hours": short_duration(job.cooldown_seconds),
        }
        for name, value in present.items():
            self.fields[name].help_text = _("Now: %(value)s.") % {"value": value}

    def payload(self) -> dict[str, int]:
        """Return the fields that were filled in, as the task takes them."""
        given = {name: value for name, value in self.cleaned_data.items() if value is not None}
        for name, seconds in (
            ("window_hours", "acknowledgment_window_seconds"),
            ("cooldown_hours", "cooldown_seconds"),
        ):
            if name in given:
                given[seconds] = given.pop(name) * _HOUR
        return given


@for_members()
def show(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show the form and the job's last run; on POST, start a run in the background."""
    member, job = own_job(
        request, job_id, Action.MANAGE_TASKS if request.method == "POST" else Action.READ_JOB
    )
    task = read_last_what_if_task(job.company_id, job.id)
    form = WhatIfForm(request.POST or None)
    form.show_present_rules(job)
    if form.is_valid():
        try:
            start_what_if(job=job, rules=form.payload(), producer=f"member:{member.user.id}")
        except (TaskError, WorkError) as error:
            messages.error(request, str(error))
        return redirect("what_if", job_id=job.id)
    context = {
        "job": job,
        "tab": "figures",
        "form": form,
        "may_start": member.may(Action.MANAGE_TASKS),
        "most_events": MOST_EVENTS,
        "assumption": ASSUMPTION,
        **_result_context(task),
    }
    if form.errors:
        return render(request, "figures/what_if.html", context, status=422)
    return live_page(
        request,
        "figures/what_if.html",
        "figures/_what_if.html",
        build=lambda: context,
        tag=f"{task and (task.id, task.status)} {job.posting.version} {job.status}",
    )


def _result_context(task: Task | None) -> dict[str, Any]:
    """Return the context of the last run's part of the page."""
    shown = {"task": task, "is_running": task is not None and task.status in MOVING}
    if task is None or task.status != Status.SUCCEEDED or not task.result:
        return shown | {"has_failed": task is not None and not shown["is_running"]}
    result = task.result
    rows: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        (_("Seat hours lost"), lambda run: f"{_lost_hours(run):,.1f}"),
        (
            _("lost to offers that were not answered"),
            lambda run: f"{_hours(run, 'missed'):,.1f}",
        ),
        (
            _("lost while nobody could take a seat yet"),
            lambda run: f"{_hours(run, 'cooldown'):,.1f}",
        ),
        (_("lost while nobody waited"), lambda run: f"{_hours(run, 'nobody'):,.1f}"),
        (_("lost while paused"), lambda run: f"{_hours(run, 'paused'):,.1f}"),
        (_("Seat hours in use"), lambda run: f"{_hours(run, 'used'):,.1f}"),
        (
            _("Median wait for the first seat"),
            lambda run: (
                pgettext("duration", "unknown")
                if run[_WAIT] is None
                else short_duration(run[_WAIT])
            ),
        ),
        (_("People offered a first seat"), lambda run: in_digits(run["offered"])),
        (pgettext("label", "Misses"), lambda run: in_digits(run["misses"])),
    ]
    both = (result["happened"], result["what_if"])
    return shown | {
        "result": result,
        "changed": _describe_changes(task.payload),
        "rows": [(words, *(of(run) for run in both)) for words, of in rows],
        "pair": _pair_chart(*both),
        "sweep": _sweep_chart(result["windows"]),
        "sweep_rows": [
            (
                short_duration(run["window_seconds"]),
                f"{_lost_hours(run):,.1f}",
                run["misses"],
            )
            for run in result["windows"]
        ],
    }


def _describe_changes(payload: Any) -> list[str]:
    """Return the rules that were changed, in words."""
    words: dict[str, Callable[[Any], str]] = {
        "capacity": lambda value: ngettext("%(count)s seat", "%(count)s seats", value),
        "acknowledgment_window_seconds": lambda _value: _("%(duration)s to confirm"),
        "penalty_places": lambda value: ngettext(
            "%(count)s place lost after a miss", "%(count)s places lost after a miss", value
        ),
        "max_decays": lambda value: (
            _("any number of misses")
            if value is None
            else ngettext("%(count)s miss", "%(count)s misses", value)
        ),
        "cooldown_seconds": lambda _value: _("a cool-down of %(duration)s"),
    }
    return [
        say(payload[name])
        % {"count": f"{payload[name] or 0:,}", "duration": short_duration(payload[name])}
        for name, say in words.items()
        if name in payload
    ]


def _hours(run: dict[str, Any], part: str) -> float:
    return float(run["seat_seconds"][part]) / _HOUR


def _lost_hours(run: dict[str, Any]) -> float:
    return sum(_hours(run, part) for part in _LOST)


def _pair_chart(happened: dict[str, Any], tried: dict[str, Any]) -> Chart:
    """Chart the seat hours that were lost beside those lost under the other rules."""
    hours = [round(_lost_hours(run)) for run in (happened, tried)]
    top, y = count_ticks(max(1, *hours))
    names = (_("As it was"), _("With the other rules"))
    return Chart(
        ident="pair",
        title=_("Seat hours lost"),
        description=_("%(was)s as it was, %(would)s with the other rules.")
        % {"was": in_digits(hours[0]), "would": in_digits(hours[1])},
        x_title=pgettext("axis", "Rules"),
        y_title=_("Seat hours"),
        x=[ChartTick((number + 0.5) / 2, name) for number, name in enumerate(names)],
        y=y,
        bars=build_bars(
            hours,
            [
                _("%(rules)s: %(hours)s h") % {"rules": name, "hours": in_digits(number)}
                for name, number in zip(names, hours, strict=True)
            ],
            top,
        ),
    )


def _sweep_chart(windows: list[dict[str, Any]]) -> Chart:
    """Plot lost seat hours against the time to confirm."""
    hours = [_lost_hours(run) for run in windows]
    top, y = count_ticks(max(1.0, *hours))
    last = len(windows) - 1
    points = [(number / last, lost / top) for number, lost in enumerate(hours)]
    return Chart(
        ident="sweep",
        title=_("Seat hours lost, by the time to confirm"),
        description=_("The other rules with each time to confirm."),
        x_title=_("Time to confirm"),
        y_title=_("Seat hours"),
        x=[
            ChartTick(
                number / last, short_duration(run["window_seconds"]), wide_only=number % 2 == 1
            )
            for number, run in enumerate(windows)
        ],
        y=y,
        curves=[straight_line("waiting", _("Seat hours lost"), points)],
    )
