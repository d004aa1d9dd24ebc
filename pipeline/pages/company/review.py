"""Pages for a job's reviews: target, rota, criteria, who is told; working hours; scorecards."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy
from django.views.decorators.http import require_POST

from applicants.forms import NameField
from jobs.models import Job, Telling
from jobs.review_clock import DAY_SECONDS, TARGET_SECONDS, BadWorkingHours, WorkingHours
from pipeline.domain.permissions import Action
from pipeline.models import (
    CRITERION_HELP_LENGTH,
    CRITERION_LENGTH,
    SCORE_TEXT_LENGTH,
    JobFollower,
    RotaMember,
    Score,
)
from pipeline.pages.access import (
    Member,
    for_members,
    form_member,
    own_job,
    received_application,
    require_permission,
)
from pipeline.pages.error_messages import attempt
from pipeline.pages.forms import LinesField, PlainForm, TimeZoneField
from pipeline.review import rota
from pipeline.review.scores import MOST_CRITERIA, CriterionWords, Mark, give, set_criteria
from pipeline.review.settings import follow, set_working_hours
from pipeline.selectors.jobs import read_job
from pipeline.selectors.members import read_choices
from pipeline.selectors.scores import Scorecards, read_criteria
from pipeline.services.jobs import JobChanges, update_job
from pipeline.wording.explanations import describe_target

HOUR_SECONDS = 3_600
EMPTY_ROWS = 3  # for new criteria, each time the page is shown
UNITS = [
    (HOUR_SECONDS, pgettext_lazy("unit", "hours")),
    (DAY_SECONDS, pgettext_lazy("unit", "days")),
]
DAYS = [
    (0, pgettext_lazy("day", "Monday")),
    (1, pgettext_lazy("day", "Tuesday")),
    (2, pgettext_lazy("day", "Wednesday")),
    (3, pgettext_lazy("day", "Thursday")),
    (4, pgettext_lazy("day", "Friday")),
    (5, pgettext_lazy("day", "Saturday")),
    (6, pgettext_lazy("day", "Sunday")),
]
USUAL = "USUAL"
TELLINGS = [
    (USUAL, gettext_lazy("As for your other jobs")),
    (Telling.AT_ONCE, gettext_lazy("At once, by email")),
    (Telling.DIGEST, gettext_lazy("In the email of the next morning")),
    (Telling.NEVER, gettext_lazy("Not at all")),
]


class FollowForm(PlainForm):
    """Choice of the member how to be told about the job."""

    telling = forms.ChoiceField(choices=TELLINGS, label=gettext_lazy("Tell me about reviews"))


class ReviewForm(FollowForm):
    """Settings of a job's reviews: the target, empty for none, and who reviews in turn."""

    number = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=1_440,
        label=gettext_lazy("Decide within"),
        help_text=gettext_lazy("People with a seat see it. It never changes who is next."),
    )
    unit = forms.TypedChoiceField(choices=UNITS, coerce=int, label=pgettext_lazy("label", "Unit"))
    members = forms.TypedMultipleChoiceField(
        required=False,
        coerce=UUID,
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("Members in turn"),
        help_text=gettext_lazy(
            "Everyone who takes a seat goes to the one with the fewest open reviews. Members who"
            " are away are left out."
        ),
    )
    field_order = ("number", "unit", "members", "telling")

    def __init__(self, *given: Any, team: list[tuple[UUID, str]], **named: Any) -> None:
        super().__init__(*given, **named)
        fields: dict[str, Any] = self.fields
        fields["members"].choices = [(str(id_), email) for id_, email in team]

    def clean(self) -> dict[str, Any]:
        """Refuse a target that is too long. Raises ValidationError."""
        given = super().clean() or {}
        number, unit = given.get("number"), given.get("unit")
        if number and unit and number * unit > TARGET_SECONDS[1]:
            self.add_error("number", _("Enter 60 days or less."))
        return given

    @property
    def target_seconds(self) -> int | None:
        """Return the target."""
        number = self.cleaned_data["number"]
        return number * self.cleaned_data["unit"] if number else None


class CriterionForm(PlainForm):
    """One criterion; without a label there is none."""

    id = forms.UUIDField(required=False, widget=forms.HiddenInput)
    label = NameField(
        required=False, max_length=CRITERION_LENGTH, label=pgettext_lazy("label", "Criterion")
    )
    help = NameField(
        required=False, max_length=CRITERION_HELP_LENGTH, label=gettext_lazy("What it means")
    )


class HoursForm(PlainForm):
    """Days and hours in which a company works; no days for all hours."""

    days = forms.TypedMultipleChoiceField(
        required=False,
        coerce=int,
        choices=DAYS,
        widget=forms.CheckboxSelectMultiple,
        label=pgettext_lazy("label", "Days"),
        help_text=gettext_lazy("Choose none, and every hour of every day counts."),
    )
    begins = forms.CharField(
        max_length=5,
        label=pgettext_lazy("time of day", "From"),
        widget=forms.TimeInput(attrs={"type": "time"}),
    )
    ends = forms.CharField(
        max_length=5,
        label=pgettext_lazy("time of day", "Until"),
        widget=forms.TimeInput(attrs={"type": "time"}),
    )
    zone = TimeZoneField(label=gettext_lazy("Time zone"))

    def clean(self) -> dict[str, Any]:
        """Refuse hours that cannot be used. Raises ValidationError."""
        given = super().clean() or {}
        if given.get("days") and not self.errors:
            days = frozenset(given["days"])
            try:
                WorkingHours.checked(days, given["begins"], given["ends"], given["zone"])
            except BadWorkingHours as error:
                self.add_error("ends", str(error))
        return given

    @property
    def hours(self) -> WorkingHours | None:
        """Return the hours; None for all hours."""
        given = self.cleaned_data
        if not given["days"]:
            return None
        days = frozenset(given["days"])
        return WorkingHours.checked(days, given["begins"], given["ends"], given["zone"])


@for_members()
def show(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show and save the settings of a job's reviews.

    Every member chooses how they are told; recruiters and owners change the rest.
    """
    member, job = own_job(request, job_id)
    may_change = member.may(Action.CHANGE_REVIEW)
    if request.method != "POST":
        return _render(request, member, job)
    if not may_change and set(request.POST) & {*ReviewForm.base_fields} - {"telling"}:
        require_permission(member, Action.CHANGE_REVIEW)
    form = _form(member, job, request.POST)
    rows = [CriterionForm(request.POST, prefix=f"c{n}") for n in range(MOST_CRITERIA)]
    are_valid = [form.is_valid(), *(row.is_valid() for row in rows)]  # each shows its errors
    if not all(are_valid):
        return _render(request, member, job, form=form, criteria=rows)
    if attempt(request, partial(_save, member, job, form, rows), done=_("Saved.")):
        return redirect("job_review", job_id=job.id)
    return _render(request, member, job, form=form, criteria=rows)


def _save(member: Member, job: Job, form: FollowForm, rows: list[CriterionForm]) -> bool:
    """Save what the member may change."""
    if isinstance(form, ReviewForm):
        if form.target_seconds != job.posting.review_target_seconds:
            target = JobChanges(posting={"review_target_seconds": form.target_seconds})
            update_job(job_id=job.id, changes=target, actor=member.actor)
        given = [row.cleaned_data for row in rows if row.cleaned_data["label"]]
        wanted = [CriterionWords(each["label"], each["help"], each["id"]) for each in given]
        set_criteria(job_id=job.id, wanted=wanted)
        ids = form.cleaned_data["members"]
        rota.set_members(job_id=job.id, company_id=job.company_id, user_ids=ids)
    chosen = form.cleaned_data["telling"]
    telling = None if chosen == USUAL else Telling(chosen)
    follow(job_id=job.id, user_id=member.user.id, telling=telling)
    return True


def _form(member: Member, job: Job, data: Any = None) -> FollowForm:
    """Return the form with what the member may change, as it is saved or as it was sent."""
    own = JobFollower.objects.filter(job_id=job.id, user_id=member.user.id)
    initial: dict[str, Any] = {"telling": own.values_list("telling", flat=True).first() or USUAL}
    if not member.may(Action.CHANGE_REVIEW):
        return FollowForm(data, initial=initial)
    turns = RotaMember.objects.filter(job_id=job.id).values_list("user_id", flat=True)
    initial |= {"members": [str(each) for each in turns]}
    initial |= _target_values(job.posting.review_target_seconds)
    return ReviewForm(
        data,
        initial=initial,
        team=read_choices(Action.DECIDE, company_id=job.company_id, job_id=job.id),
    )


def _render(
    request: HttpRequest,
    member: Member,
    job: Job,
    *,
    form: FollowForm | None = None,
    criteria: list[CriterionForm] | None = None,
) -> HttpResponse:
    """Show the page, with the form that was refused, if any."""
    clock, known = job.review_clock, read_criteria(job.id)
    empty: list[Any] = [None] * min(EMPTY_ROWS, MOST_CRITERIA - len(known))
    shown = form or _form(member, job)
    context = {
        "job": job,
        "tab": "settings",
        "member": member,
        "may_change": member.may(Action.CHANGE_REVIEW),
        "form": shown,
        "criteria": criteria
        or [
            CriterionForm(prefix=f"c{n}", initial=row and vars(row))
            for n, row in enumerate([*known, *empty])
        ],
        "criteria_are_wrong": any(row.errors for row in criteria or ()),
        "shown_criteria": known,
        "rota_words": _describe_rota(shown),
        "aim": clock and describe_target(clock.target_seconds, works=clock.hours is not None),
        "hours": WorkingHours.read(job.company.working_hours),
    }
    return render(request, "company/review.html", context, status=422 if form else 200)


def _describe_rota(form: FollowForm) -> str:
    if not isinstance(form, ReviewForm):
        return ""
    chosen = {str(each) for each in form["members"].value() or ()}
    fields: dict[str, Any] = form.fields
    names = [str(name) for id_, name in fields["members"].choices if str(id_) in chosen]
    return pgettext("between parts", ", ").join(names) or _("Nobody: you assign people yourselves")


def _target_values(seconds: int | None) -> dict[str, int]:
    if not seconds:
        return {"unit": DAY_SECONDS}
    unit = DAY_SECONDS if seconds % DAY_SECONDS == 0 else HOUR_SECONDS
    return {"number": seconds // unit, "unit": unit}


@for_members()
def working_hours(request: HttpRequest) -> HttpResponse:
    """Show and save the hours in which the company works."""
    member = require_permission(form_member(request), Action.CHANGE_REVIEW)
    if request.method == "POST":
        form = HoursForm(request.POST)
        if form.is_valid():
            set_working_hours(company_id=member.company.id, hours=form.hours, by=member.user.id)
            messages.success(
                request, _("Saved. Ages and targets of reviews count these hours now.")
            )
            return redirect("working_hours")
        return render(request, "company/working_hours.html", {"form": form}, status=422)
    form = HoursForm(initial=_hours_values(WorkingHours.read(member.company.working_hours)))
    return render(request, "company/working_hours.html", {"form": form})


def _hours_values(hours: WorkingHours | None) -> dict[str, Any]:
    if hours is None:
        return {"begins": "09:00", "ends": "17:00"}
    begins, ends = (f"{each // 60:02}:{each % 60:02}" for each in (hours.begins, hours.ends))
    return {"days": sorted(hours.days), "begins": begins, "ends": ends, "zone": hours.zone}


# The scorecard on an application's page.

SAVED = "saved=scores"  # in the URL of the page: the member has just saved their marks


class MarkForm(PlainForm):
    """A reviewer's mark by one criterion."""

    mark = forms.TypedChoiceField(
        label=pgettext_lazy("score", "Mark"),
        coerce=int,
        choices=[(mark, str(mark)) for mark in range(Score.LEAST, Score.MOST + 1)],
        widget=forms.RadioSelect,
    )
    text = LinesField(
        required=False,
        max_length=SCORE_TEXT_LENGTH,
        label=pgettext_lazy("label", "Why"),
        widget=forms.Textarea(attrs={"rows": 1, "maxlength": SCORE_TEXT_LENGTH}),
    )


def score_context(
    request: HttpRequest, member: Member, shown: Scorecards, *, is_open: bool
) -> dict[str, Any]:
    """Return the scorecards of an application as context, and the member's form if they may score.

    `is_open`: whether the person is in review and no decision is made.
    """
    own = {each.criterion.id: each for each in shown.own.scores} if shown.own else {}
    rows = [
        (
            criterion,
            MarkForm(
                prefix=str(criterion.id),
                initial={"mark": given.mark, "text": given.text}
                if (given := own.get(criterion.id))
                else None,
            ),
        )
        for criterion in shown.criteria
    ]
    return {
        "scorecards": shown,
        "score_rows": rows,
        "may_score": is_open and member.may(Action.SCORE),
        "scores_saved": SAVED in request.META["QUERY_STRING"],
    }


@require_POST
@for_members(Action.SCORE)
def give_scores(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Give or change the member's own marks, and return to the application's page."""
    member, seen = received_application(request, application_id, Action.SCORE)
    criteria = read_criteria(seen.application.job_id)
    rows = {row.id: MarkForm(request.POST, prefix=str(row.id)) for row in criteria}
    are_valid = [form.is_valid() for form in rows.values()]  # every row shows its errors
    if not all(are_valid):
        context = {
            "seen": seen,
            "application": seen.application,
            "job": read_job(seen.application.job_id),
            "tab": "board",
            "score_rows": [(row, rows[row.id]) for row in criteria],
            "why": _("Nothing was saved. Give one mark by each criterion."),
        }
        return render(request, "company/scores.html", context, status=422)
    marks = {
        id_: Mark(form.cleaned_data["mark"], form.cleaned_data["text"])
        for id_, form in rows.items()
    }

    def act() -> bool:
        give(application_id=application_id, reviewer_id=member.user.id, marks=marks)
        return True

    here = request.path.removesuffix("scores/")
    # The page opens at the scores, which say it: a message at its top would be out of view.
    return redirect(f"{here}?{SAVED}#scores" if attempt(request, act) else here)
