"""The signed-in applicant's data: read, download, erase."""

from __future__ import annotations

import logging

from django import forms
from django.contrib import messages
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from applicants.browser import forget_address_in_browser, sign_out_browser
from applicants.models import Applicant
from pipeline.domain.errors import ClockMoving
from pipeline.pages.access import current_applicant, for_applicants
from pipeline.privacy.erase import erase_person
from pipeline.privacy.erase_files import import_file_rows_to_erase
from pipeline.privacy.my_data import my_data_about

security = logging.getLogger("security")

BUSY = (
    "One of your lines was too busy to finish this. Nothing has been erased. Try again in a moment."
)
DONE = "Your name and address have been erased, and you are signed out."


class EraseForm(forms.Form):
    """Form with one checkbox, so that nobody erases their data by accident."""

    sure = forms.BooleanField(
        label="I understand that this cannot be undone",
        error_messages={"required": "Tick this box to confirm. Erasing cannot be undone."},
    )


@require_safe
@for_applicants
def my_data(request: HttpRequest) -> HttpResponse:
    """Describe the stored data."""
    kept = my_data_about(_person_of_my_data(request))
    return render(
        request,
        "applicant/my_data.html",
        {"kept": kept, "live": _live_applications_in_my_data(kept)},
    )


@require_safe
@for_applicants
def download_my_data(request: HttpRequest) -> HttpResponse:
    """Return all stored data as a JSON file."""
    person = _person_of_my_data(request)
    security.info("my_data.downloaded", extra={"applicant": str(person.id)})
    imports, files_not_searched = import_file_rows_to_erase(person.email)
    kept = {
        "taken_at": timezone.now(),
        **my_data_about(person),
        "imports": imports,
        "imported_files_not_searched": files_not_searched,
    }
    response = JsonResponse(kept, json_dumps_params={"indent": 2, "ensure_ascii": False})
    name = f"next-in-line-my-data-{timezone.localtime():%Y-%m-%d}.json"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "private, no-store"
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@for_applicants
def erase_my_data(request: HttpRequest) -> HttpResponse:
    """Explain what is erased and what stays (GET); erase (POST)."""
    person = _person_of_my_data(request)
    form = EraseForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            erase_person(applicant_id=person.id)
        except (OperationalError, ClockMoving):
            messages.error(request, BUSY)
            return redirect("erase_me")
        sign_out_browser(request)
        messages.success(request, DONE)
        response = redirect("openings")
        forget_address_in_browser(response)
        return response
    context = {"form": form, "live": _live_applications_in_my_data(my_data_about(person))}
    return render(request, "applicant/erase.html", context, status=422 if form.is_bound else 200)


def _person_of_my_data(request: HttpRequest) -> Applicant:
    person = current_applicant(request)
    assert person is not None  # noqa: S101  for_applicants
    return person


def _live_applications_in_my_data(
    kept: dict[str, list[dict[str, object]]],
) -> list[dict[str, object]]:
    return [row for row in kept["applications"] if row["status"] != "INACTIVE"]
