"""Fields and texts of a form to apply: notice, consents, retention, equal opportunity."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from jobs.models import Job
from jobs.retention import period_of
from pipeline.consents.agreements import Agreed, agree
from pipeline.consents.versions import pool_of, shown_by
from pipeline.domain.errors import ConsentsChanged
from pipeline.equality.answers import EqualityGiven
from pipeline.equality.questions import asked

PREFIX, EQUALITY = "c_", "e_"
SHOWN = "shown_consents"
LONGEST_SHOWN = 1_000
CHANGED = _(
    "The company has changed its privacy notice or what it asks you to agree to since you opened"
    " this page. Read it as it is now, and send your application again. Nothing that you typed is"
    " lost."
)


def add_consents(form: forms.Form, job: Job) -> None:
    """Add a box to a form for everything that the job's company asks people to agree to."""
    for version in shown_by(job.company):
        if not version.is_notice:
            form.fields[f"{PREFIX}{version.id.hex}"] = forms.BooleanField(
                label=version.shown_text,
                required=version.is_required,
                error_messages={"required": _("Tick this box to apply.")},
            )


def add_equality(form: forms.Form, job: Job) -> None:
    """Add the equal-opportunity questions of the job's company to a form."""
    for code, question in asked(job.company.equality_questions).items():
        form.fields[f"{EQUALITY}{code}"] = forms.ChoiceField(
            label=str(question.label),
            required=False,
            choices=[("", _("I prefer not to say")), *question.choices.items()],
        )


def equality_in(form: forms.Form) -> EqualityGiven:
    """Return the choices of a valid form."""
    given = {name: value for name, value in form.cleaned_data.items() if name.startswith(EQUALITY)}
    chosen = {name.removeprefix(EQUALITY): value for name, value in given.items() if value}
    return EqualityGiven(chosen)


def agreed_in(request: HttpRequest, job: Job, form: forms.Form) -> list[Agreed]:
    """Return what a person was shown and agreed to in a valid form.

    Raises ConsentsChanged if the page showed something else than the company shows now.
    """
    if not has_seen_consents(request, job):
        raise ConsentsChanged
    versions = shown_by(job.company)
    ticked = {
        each.id
        for each in versions
        if each.is_notice or form.cleaned_data.get(f"{PREFIX}{each.id.hex}")
    }
    return agree(job.company.shown_consents, ticked)


def has_seen_consents(request: HttpRequest, job: Job) -> bool:
    """Tell whether the page from which a form comes showed what the company shows now."""
    return request.POST.get(SHOWN, "")[:LONGEST_SHOWN] == shown_value(job)


def shown_value(job: Job) -> str:
    """Return the ids of what a page shows, as its form sends them back."""
    return " ".join(each.id.hex for each in shown_by(job.company))


def privacy_context(job: Job) -> dict[str, Any]:
    """Return the context of the part of a page that says who keeps what, and until when."""
    notices = [each for each in shown_by(job.company) if each.is_notice]
    return {
        "shown_consents": shown_value(job),
        "notice": notices[0] if notices else None,
        "has_pool": pool_of(job.company) is not None,
        "period": period_of(job),
        "controller": job.company.controller_name,
        "privacy_contact": job.company.privacy_contact,
    }


def privacy_tag(job: Job) -> str:
    """Return what changes whenever that part of a page does."""
    company = job.company
    parts = (company.controller_name, company.privacy_contact, *period_of(job), shown_value(job))
    return blake2b(repr(parts).encode(), digest_size=8).hexdigest()
