"""What is kept about the person who is signed in: to read, to take away, to erase."""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.contrib import messages
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from applicants.http import forget_address, sign_out
from applicants.models import Applicant
from pipeline.pages.access import current_applicant, for_applicants
from pipeline.privacy.erase import erase
from pipeline.privacy.my_data import everything_about

BUSY = (
    "One of your lines was so busy that this could not be finished. Nothing is half done: press the"
    " button again in a moment."
)
DONE = "Your name and your address are erased, and you are signed out."


class EraseForm(forms.Form):
    """One box, so that nobody is erased by a slip."""

    sure = forms.BooleanField(
        label="I understand that nobody can undo this",
        error_messages={"required": "Tick this box first: erasing cannot be undone."},
    )


@require_safe
@for_applicants
def my_data(request: HttpRequest) -> HttpResponse:
    """What is kept, in words."""
    kept = everything_about(_person(request))
    return render(request, "applicant/my_data.html", {"kept": kept, "live": _live(kept)})


@require_safe
@for_applicants
def download(request: HttpRequest) -> HttpResponse:
    """All of it as a file of JSON."""
    person = _person(request)
    kept = {"taken_at": timezone.now(), **everything_about(person)}
    response = JsonResponse(kept, json_dumps_params={"indent": 2, "ensure_ascii": False})
    name = f"next-in-line-my-data-{timezone.localtime():%Y-%m-%d}.json"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "private, no-store"
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@for_applicants
def erase_me(request: HttpRequest) -> HttpResponse:
    """What goes and what stays (GET); erase (POST)."""
    person = _person(request)
    form = EraseForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        return _erase(request, person.id)
    context = {"form": form, "live": _live(everything_about(person))}
    return render(request, "applicant/erase.html", context, status=422 if form.is_bound else 200)


def _erase(request: HttpRequest, applicant_id: UUID) -> HttpResponse:
    try:
        erase(applicant_id=applicant_id)
    except OperationalError:
        messages.error(request, BUSY)
        return redirect("erase_me")
    sign_out(request)
    messages.success(request, DONE)
    response = redirect("openings")
    forget_address(response)
    return response


def _person(request: HttpRequest) -> Applicant:
    person = current_applicant(request)
    assert person is not None  # noqa: S101  for_applicants sees to it
    return person


def _live(kept: dict[str, list[dict[str, object]]]) -> list[dict[str, object]]:
    return [row for row in kept["applications"] if row["status"] != "INACTIVE"]
