"""Page of a job's positions to fill, and of the dates at which it opens and closes."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core import signing
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.models import Job, JobStatus
from pipeline.domain.errors import LineError, PositionsBelowHired
from pipeline.domain.permissions import Action
from pipeline.domain.states import CLOSES_AT, OPENS_AT, POSITIONS, Actor
from pipeline.line.event_log import logged_time, parse_logged_time
from pipeline.pages.access import for_members, own_job
from pipeline.pages.company.forms import PositionsForm
from pipeline.pages.error_messages import attempt, explain_refusal
from pipeline.pages.forms import TimeZoneField, local_moment
from pipeline.services.jobs import JobChanges, update_job

# The date of the form that each field of a job has.
DATES = {"opens": OPENS_AT, "closes": CLOSES_AT}
# The name of what undoes a change, in the address and in the form, and for how long it can.
UNDO, UNDO_AGE = "undo", timedelta(minutes=30)
_SALT = "pipeline.pages.company.hiring.undo"


def _date_field(label: Any) -> forms.DateField:
    return forms.DateField(
        label=label,
        required=False,
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        error_messages={"invalid": gettext_lazy("Enter a date, like 2027-01-31.")},
        help_text=gettext_lazy("Leave it empty for no date."),
    )


def _time_field(label: Any, initial: time) -> forms.TimeField:
    return forms.TimeField(
        label=label,
        required=False,
        initial=initial,
        widget=forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
        error_messages={"invalid": gettext_lazy("Enter a time, like 09:00.")},
    )


class HiringForm(PositionsForm):
    """Positions and dates of a job. A date that has passed, or cannot be set, is left out."""

    opens_day = _date_field(gettext_lazy("Opens on"))
    opens_time = _time_field(gettext_lazy("Opens at"), time(9, 0))
    closes_day = _date_field(gettext_lazy("Closes on"))
    closes_time = _time_field(gettext_lazy("Closes at"), time(23, 59))
    zone = TimeZoneField(label=gettext_lazy("Time zone"))

    def __init__(self, job: Job, data: Any = None) -> None:
        initial: dict[str, Any] = {
            "positions_to_fill": job.positions_to_fill,
            "zone": timezone.get_current_timezone_name(),
        }
        for name, field in DATES.items():
            if at := getattr(job, field):
                here = timezone.localtime(at)
                initial[f"{name}_day"] = here.date()
                initial[f"{name}_time"] = here.time().replace(second=0, microsecond=0)
        super().__init__(data, initial=initial)
        self.job = job
        is_closed = job.status == JobStatus.CLOSED
        if job.status != JobStatus.DRAFT:
            del self.fields["opens_day"], self.fields["opens_time"]
        if is_closed:
            del self.fields["closes_day"], self.fields["closes_time"], self.fields["zone"]

    def clean(self) -> dict[str, Any]:
        """Add the two times. A time that the clocks skip is refused."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        for name, field in DATES.items():
            if f"{name}_day" not in self.fields or {f"{name}_day", f"{name}_time"} & {*self.errors}:
                continue
            given[field] = self._moment(given, name)
        return given

    def _moment(self, given: dict[str, Any], name: str) -> Any:
        day, at = given.get(f"{name}_day"), given.get(f"{name}_time")
        if day is None or "zone" not in given:
            return None
        if at is None:
            self.add_error(f"{name}_time", _("Enter a time, like 09:00."))
            return None
        try:
            moment = local_moment(day, at, given["zone"])
        except ValidationError as error:
            self.add_error(f"{name}_time", error)
            return None
        kept = getattr(self.job, DATES[name])
        same = kept and moment == kept.replace(second=0, microsecond=0)  # as the form showed it
        return kept if same else moment

    def changes(self) -> dict[str, Any]:
        """Return what was entered, by the names of a job's fields. The form must be valid."""
        given = self.cleaned_data
        return {name: given[name] for name in (POSITIONS, OPENS_AT, CLOSES_AT) if name in given}


@for_members()
def show(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show a job's positions and dates, and for owners a form to change them."""
    changes = request.method == "POST"
    member, job = own_job(request, job_id, Action.CHANGE_RULES if changes else Action.READ_JOB)
    if changes and UNDO in request.POST:
        _undo(request, job, member.actor)
        return redirect("job_hiring", job_id=job.id)
    form = HiringForm(job, request.POST if changes else None)
    if changes and form.is_valid():
        hiring = form.changes()
        if CLOSES_AT in hiring and request.POST.get("seen", job.status) != job.status:
            form.add_error(None, _("The job has been opened or closed meanwhile. Look again."))
        elif _save(job, form, JobChanges(hiring=hiring), member.actor):
            messages.success(request, _("Positions and dates are saved."))
            return _redirect_with_undo(job, hiring)
    context = {
        "job": job,
        "tab": "settings",
        "form": form,
        "seen": job.status,
        "undo": _read_undo(job, request.GET.get(UNDO, "")) and request.GET[UNDO],
        "may_change": member.may(Action.CHANGE_RULES),
    }
    return render(request, "company/hiring.html", context, status=422 if form.errors else 200)


def _save(job: Job, form: HiringForm, changes: JobChanges, actor: Actor) -> bool:
    try:
        update_job(job_id=job.id, changes=changes, actor=actor)
    except PositionsBelowHired as error:
        form.add_error("positions_to_fill", str(error))
    except LineError as error:
        form.add_error(None, explain_refusal(error))
    else:
        return True
    return False


# The change that was just saved can be undone with one button: the address of the next page holds
# what was there before. Dates that have passed meanwhile are refused like any others.


def _redirect_with_undo(job: Job, saved: dict[str, Any]) -> HttpResponse:
    """Lead back to the page, with a button that undoes the change unless nothing changed."""
    before = {name: getattr(job, name) for name in saved}
    url = reverse("job_hiring", args=[job.id])
    if before == saved:
        return redirect(url)
    kept = [str(job.id), _as_text(before), _as_text(saved)]
    return redirect(f"{url}?{urlencode({UNDO: signing.dumps(kept, salt=_SALT)})}")


def _undo(request: HttpRequest, job: Job, actor: Actor) -> None:
    before = _read_undo(job, request.POST[UNDO])
    if before is None:
        messages.error(request, _("Positions and dates have changed since, so nothing is undone."))
        return
    if attempt(request, lambda: _restore(job, before, actor)):
        messages.success(request, _("Positions and dates are as they were before."))


def _restore(job: Job, before: dict[str, Any], actor: Actor) -> bool:
    update_job(job_id=job.id, changes=JobChanges(hiring=before), actor=actor)
    return True


def _read_undo(job: Job, token: str) -> dict[str, Any] | None:
    """Return what the job had before a change that it still has; None if it has another one."""
    try:
        job_id, before, saved = signing.loads(token, salt=_SALT, max_age=UNDO_AGE)
    except signing.BadSignature:
        return None
    now = _as_text({name: getattr(job, name) for name in saved})
    if job_id != str(job.id) or now != saved:
        return None
    return {
        name: parse_logged_time(value) if isinstance(value, str) else value
        for name, value in before.items()
    }


def _as_text(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: logged_time(value) if isinstance(value, datetime) else value
        for name, value in values.items()
    }
