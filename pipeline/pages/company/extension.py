"""Page on which a company gives a person with an open offer more time to confirm the seat."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import dateformat, timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy
from django.views.decorators.http import require_http_methods

from applicants.models import Applicant
from jobs.models import Job, JobStatus
from jobs.quiet_hours import compute_deadline
from pipeline.domain.errors import LineError, NotExtendable
from pipeline.domain.permissions import Action
from pipeline.domain.states import EXTEND_WITHIN, MOST_EXTENSIONS, ActorKind
from pipeline.pages.access import for_members, received_application
from pipeline.pages.error_messages import explain_refusal
from pipeline.pages.forms import PlainForm, local_moment
from pipeline.selectors.applications import SeenApplication, count_extensions
from pipeline.selectors.board import read_next_names
from pipeline.selectors.jobs import read_job
from pipeline.services.turns import extend_offer
from pipeline.wording.english import isolated
from pipeline.wording.language import number as in_digits

OWN = "own"
PRESETS = {
    "hour": (timedelta(hours=1), gettext_lazy("1 hour more")),
    "day": (timedelta(days=1), gettext_lazy("1 day more")),
}
MOVED = gettext_lazy(
    "The deadline of this offer has changed since you opened this page. Look at the times again."
)


class ExtensionForm(PlainForm):
    """New deadline of an offer: some time later, or a date and time of the member's own."""

    more = forms.ChoiceField(
        widget=forms.RadioSelect, initial="day", label=gettext_lazy("New deadline")
    )
    day = forms.DateField(
        label=pgettext_lazy("label", "Date"),
        required=False,
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        error_messages={"invalid": gettext_lazy("Enter a date, like 2027-01-31.")},
    )
    at = forms.TimeField(
        label=pgettext_lazy("label", "Time"),
        required=False,
        initial=time(17, 0),
        widget=forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
        error_messages={"invalid": gettext_lazy("Enter a time, like 09:00.")},
    )

    def __init__(self, presets: dict[str, datetime], data: Any = None) -> None:
        super().__init__(data)
        self.presets = presets
        choices = [
            (name, _("%(more)s, until %(until)s") % {"more": words, "until": _in_words(until)})
            for name, (more, words) in PRESETS.items()
            if (until := presets.get(name))
        ]
        own = (OWN, _("Until a time that you choose"))
        fields: dict[str, Any] = self.fields
        fields["more"].choices = [*choices, own]
        if "day" not in presets:
            fields["more"].initial = next(iter(presets), OWN)

    def clean(self) -> dict[str, Any]:
        """Add the chosen time to the cleaned data, as `until`."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return given
        if given["more"] != OWN:
            given["until"] = self.presets[given["more"]]
            return given
        for name in ("day", "at"):
            if given.get(name) is None:
                self.add_error(name, _("Fill in this field."))
        if not self.errors:
            zone = timezone.get_current_timezone_name()
            try:
                given["until"] = local_moment(given["day"], given["at"], zone)
            except ValidationError as error:
                self.add_error("day", error)
        return given


def _in_words(moment: datetime) -> str:
    here = timezone.localtime(moment)
    return dateformat.format(here, "H:i, D j M")


@require_http_methods(["GET", "HEAD", "POST"])
@for_members(Action.DECIDE)
def extend(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show what more time means for the person and for those behind; on POST, give it."""
    member, seen = received_application(request, application_id, Action.DECIDE)
    job, deadline = read_job(seen.application.job_id), seen.application.acknowledge_by
    if deadline is None or deadline <= seen.now or job.status == JobStatus.CLOSED:
        messages.info(request, _("This person has no open offer, so no deadline can be extended."))
        return redirect("application", application_id=application_id)
    form = ExtensionForm(_read_presets(seen, job, deadline), request.POST or None)
    promise = deadline.isoformat()
    if form.is_bound and request.POST.get("promised", promise) != promise:
        form.add_error(None, MOVED)
    if form.is_valid():
        until = form.cleaned_data["until"]
        try:
            extend_offer(application_id=application_id, acknowledge_by=until, actor=member.actor)
        except NotExtendable as error:
            form.add_error("day" if form.cleaned_data["more"] == OWN else "more", str(error))
        except LineError as error:
            messages.error(request, explain_refusal(error))
            return redirect("application", application_id=application_id)
        else:
            name = isolated(seen.application.name or seen.address)
            done = _("%(name)s has until %(until)s to confirm. We email them the new deadline.")
            messages.success(request, done % {"name": name, "until": _in_words(until)})
            return redirect("board", job_id=job.id)
    used = count_extensions(seen.application, ActorKind.COMPANY)
    context = {
        "seen": seen,
        "application": seen.application,
        "job": job,
        "tab": "board",
        "form": form,
        "promise": promise,
        "behind": _describe_behind(job),
        "used": used,
        "left": max(0, MOST_EXTENSIONS - used),
        "within_days": EXTEND_WITHIN.days,
        "zone": timezone.get_current_timezone_name(),
    }
    return render(request, "company/extend.html", context, status=422 if form.errors else 200)


def _read_presets(seen: SeenApplication, job: Job, deadline: datetime) -> dict[str, datetime]:
    """Return the new deadlines to choose from. Quiet hours are left out, as in every deadline."""
    zones = Applicant.objects.filter(id=seen.application.applicant_id)
    quiet = job.policy.quiet_hours(zones.values_list("time_zone", flat=True).first() or "")
    found = {name: compute_deadline(deadline, more, quiet) for name, (more, _) in PRESETS.items()}
    return {name: until for name, until in found.items() if until <= seen.now + EXTEND_WITHIN}


def _describe_behind(job: Job) -> str:
    """Say who waits longer for the seat if its deadline is extended."""
    if not job.people_waiting:
        return _("Nobody is waiting behind for this seat.")
    names = read_next_names(job.id, most=1)
    if not names:
        return ngettext(
            "%(count)s person waits behind, and can have this seat only after the new deadline.",
            "%(count)s people wait behind, and can have this seat only after the new deadline.",
            job.people_waiting,
        ) % {"count": in_digits(job.people_waiting)}
    return ngettext(
        "%(name)s is next, the only person who waits, and can have this seat only after the new"
        " deadline.",
        "%(name)s is next, of %(count)s people who wait, and can have this seat only after the new"
        " deadline.",
        job.people_waiting,
    ) % {"name": isolated(names[0]), "count": in_digits(job.people_waiting)}
