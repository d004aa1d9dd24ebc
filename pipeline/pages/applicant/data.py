"""The signed-in applicant's data: read, download, erase."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from datetime import datetime
from itertools import chain
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext
from django.views.decorators.http import require_http_methods, require_safe

from applicants import browser
from applicants.browser import forget_address
from applicants.models import Applicant
from jobs.models import Job
from pipeline.attachments.reads import read_all_files_of_person
from pipeline.audit.receipts import issue_receipt, opaque_rows
from pipeline.audit.verify import Verdict, verify_job
from pipeline.domain.errors import ClockMoving, LogReadersBusy, ReceiptNotReady, VerifierBusy
from pipeline.domain.states import EventType
from pipeline.domain.verbs import DECLARED
from pipeline.domain.wishes import TAKEN_BACK
from pipeline.figures.series import (
    MOST_EVENTS,
    PositionStep,
    position_changes,
    read_position_history,
)
from pipeline.files.exports import formatted_pieces
from pipeline.line import removed_logs
from pipeline.pages import limits
from pipeline.pages.access import current_applicant, for_applicants, own_application
from pipeline.pages.applicant.application_card import ApplicationCard
from pipeline.pages.charts import Chart, ChartTick, count_ticks, stepped_line, time_ticks
from pipeline.pages.forms import NotedEventForm
from pipeline.pages.limits import TooOften, time_limited
from pipeline.privacy import archive, my_data
from pipeline.privacy.erase import erase_person, find_import_rows
from pipeline.selectors.applications import read_application
from pipeline.selectors.jobs import read_job
from pipeline.wording.english import isolated
from pipeline.wording.language import number as in_digits

security = logging.getLogger("security")


BUSY = gettext_lazy(
    "One of your lines was too busy to finish this. Nothing has been erased. Try again in a moment."
)
DONE = gettext_lazy("Your name and address have been erased, and you are signed out.")


class EraseForm(forms.Form):
    """Form with one checkbox, so that nobody erases their data by accident."""

    sure = forms.BooleanField(
        label=gettext_lazy("I understand that this cannot be undone"),
        error_messages={
            "required": gettext_lazy("Tick this box to confirm. Erasing cannot be undone.")
        },
    )


@require_safe
@for_applicants
def show(request: HttpRequest) -> HttpResponse:
    """Describe the stored data."""
    kept = my_data.collect(_person(request))
    return render(
        request,
        "applicant/my_data.html",
        {"kept": kept, "live": _live_applications(kept), "has_files": _has_files(kept)},
    )


@require_safe
@for_applicants
def download(request: HttpRequest) -> HttpResponse:
    """Return all stored data as a JSON file."""
    person = _person(request)
    security.info("my_data.downloaded", extra={"applicant": str(person.id)})
    kept = _collect_for_download(person)
    response = JsonResponse(kept, json_dumps_params={"indent": 2, "ensure_ascii": False})
    return _mark_attachment(response, f"{_download_name()}.json")


@require_safe
@for_applicants
def download_with_files(request: HttpRequest) -> HttpResponseBase:
    """Stream all stored data as a ZIP: the JSON file, and the files of the applications."""
    person = _person(request)
    files = read_all_files_of_person(person.id)
    ids = {"applicant": str(person.id), "files": str(len(files))}
    security.info("my_data.downloaded", extra=ids)
    pieces = archive.stream(_collect_for_download(person), files)
    first = next(pieces)  # raises before the response begins, if the storage is away
    response = StreamingHttpResponse(chain([first], pieces), content_type="application/zip")
    return _mark_attachment(response, f"{_download_name()}.zip")


def _collect_for_download(person: Applicant) -> dict[str, Any]:
    imports, files_not_searched = find_import_rows(person.email)
    return {
        "taken_at": timezone.now(),
        **my_data.collect(person),
        "imports": imports,
        "imported_files_not_searched": files_not_searched,
    }


def _download_name() -> str:
    return f"next-in-line-my-data-{timezone.localtime():%Y-%m-%d}"


@require_http_methods(["GET", "HEAD", "POST"])
@for_applicants
def erase(request: HttpRequest) -> HttpResponse:
    """Explain what is erased and what stays (GET); erase (POST)."""
    person = _person(request)
    form = EraseForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            erase_person(applicant_id=person.id)
        except (OperationalError, ClockMoving):
            messages.error(request, BUSY)
            return redirect("erase_me")
        browser.sign_out(request)
        messages.success(request, DONE)
        response = redirect("openings")
        forget_address(response)
        return response
    context = {"form": form, "live": _live_applications(my_data.collect(person))}
    return render(request, "applicant/erase.html", context, status=422 if form.is_bound else 200)


def _person(request: HttpRequest) -> Applicant:
    person = current_applicant(request)
    assert person is not None  # noqa: S101  for_applicants
    return person


def _live_applications(
    kept: dict[str, list[dict[str, object]]],
) -> list[dict[str, object]]:
    return [row for row in kept["applications"] if row["status"] != "INACTIVE"]


def _has_files(kept: dict[str, Any]) -> bool:
    return bool(kept["uploads"]) or any(row["files"] for row in kept["applications"])


# Page of an applicant's place in line over time: a picture, and its table.


# The most points of the picture, and the most rows of the table, newest first.
POINTS, ROWS = 400, 200
# The most of one's own events that the picture names.
MARKS = 6


@require_safe
@for_applicants
@time_limited
def my_places(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show where the application stood in line, from applying until now."""
    _person, seen = own_application(request, application_id)
    card = ApplicationCard.of(seen, read_job(seen.application.job_id))
    steps = [] if card.job.awaits_draw else read_position_history(seen.application)
    changes = position_changes(steps or [])
    context = {
        "card": card,
        "is_too_long": steps is None,
        "most_events": MOST_EVENTS,
        "chart": my_places_chart(steps or [], seen.now),
        "rows": [
            (step.at, step.position, _describe_step(step) if step.event else _("Others moved"))
            for step in reversed(changes[-ROWS:])
        ],
        "more_rows": len(changes) > ROWS,
    }
    return render(request, "applicant/my_places.html", context)


def my_places_chart(steps: Sequence[PositionStep], now: datetime) -> Chart | None:
    """Draw the position over time, with first place at the top; None if there never was one."""
    placed = [step for step in steps if step.position]
    if not placed:
        return None
    start, end = steps[0].at, max(now, steps[-1].at)
    whole = max((end - start).total_seconds(), 1)
    worst = max(step.position or 0 for step in placed)
    top, ticks = count_ticks(worst)
    every = max(1, len(steps) // POINTS)
    shown = [step for number, step in enumerate(steps) if step.event or number % every == 0]
    points = [
        ((step.at - start).total_seconds() / whole, 1 - (step.position or 0) / top)
        for step in shown
    ]
    own = [step for step in steps if step.event][-MARKS:]
    last = placed[-1].position or 0
    best = min(step.position or 0 for step in placed)
    return Chart(
        ident="places",
        title=_("Your place in line over time"),
        description=(
            _("Best place %(best)s, worst %(worst)s, latest %(last)s.")
            % {"best": in_digits(best), "worst": in_digits(worst), "last": in_digits(last)}
            + " "
            + _("The line is at the top when you had no place.")
        ),
        x_title=pgettext("label", "Time"),
        y_title=pgettext("place in line", "Place"),
        x=time_ticks(start, end, timezone.get_current_timezone()),
        y=[ChartTick(1 - tick.at, tick.label) for tick in ticks],
        curves=[
            stepped_line(
                "waiting",
                pgettext("place in line", "Place"),
                [*points, (1.0, points[-1][1])],
                area=False,
            )
        ],
        marks=[
            ChartTick(
                (step.at - start).total_seconds() / whole,
                _describe_step(step) if step is own[-1] else "",
            )
            for step in own
        ],
    )


def _describe_step(step: PositionStep) -> str:
    what = TAKEN_BACK if step.took_back else None
    return str(DECLARED[EventType(step.event)].titles(what).applicant)


# An applicant's signed receipt, and the log of their line without names, to keep and to verify.


PIECE = 64 * 1_024  # approximate number of characters sent at a time
# The most rows in one file. A longer log is downloaded in parts.
MOST_ROWS = 50_000


@require_safe
@for_applicants
def show_my_receipt(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show a signed receipt of the application, and offer it as a file, with the log."""
    card, receipt, refusal, status = _issue_receipt(request, application_id)
    parts = range(0, receipt["seq"], MOST_ROWS) if receipt else ()
    context = {
        "card": card,
        "receipt": receipt,
        "refusal": refusal,
        "parts": [(after, min(after + MOST_ROWS, receipt["seq"])) for after in parts],
    }
    return render(request, "applicant/my_receipt.html", context, status=status)


@require_safe
@for_applicants
def download_my_receipt(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Return a signed receipt of the application as a JSON file."""
    card, receipt, refusal, status = _issue_receipt(request, application_id)
    if not receipt:
        context = {"card": card, "refusal": refusal}
        return render(request, "applicant/my_receipt.html", context, status=status)
    response = JsonResponse(receipt, json_dumps_params={"indent": 2, "ensure_ascii": False})
    return _mark_attachment(response, f"receipt-{receipt['seq']}.json")


@require_safe
@for_applicants
def download_receipt_log(request: HttpRequest, application_id: UUID) -> HttpResponseBase:
    """Stream the log of the application's line without names, one JSON object per line.

    Returns at most MOST_ROWS events, after the event `after`.
    """
    person, seen = own_application(request, application_id)
    given = request.GET.get("after", "")
    after = int(given) if given.isascii() and given.isdecimal() and len(given) < 12 else 0
    try:
        limits.count_request(request, "verify", f"applicant {person.id}")
    except TooOften as error:
        context = {"card": _receipt_card(application_id), "refusal": str(error)}
        return render(request, "applicant/my_receipt.html", context, status=429)
    job = read_job(seen.application.job_id)
    removed_logs.refuse_known(job)
    upto = min(job.seq, after + MOST_ROWS)
    lines = (
        f"{json.dumps(row, sort_keys=True, separators=(',', ':'), ensure_ascii=False)}\n"
        for row in opaque_rows(job.id, after=after, upto=upto)
    )
    pieces = formatted_pieces(lines, characters=PIECE, first_at_once=True)
    response = StreamingHttpResponse(pieces, content_type="application/jsonl")
    return _mark_attachment(response, f"log-{after + 1}-{upto}.jsonl")


def _issue_receipt(
    request: HttpRequest, application_id: UUID
) -> tuple[ApplicationCard, dict[str, Any], str, int]:
    """Return the card, and a new receipt, or else the reason why there is none and its status."""
    person, _seen = own_application(request, application_id)
    card = _receipt_card(application_id)
    try:
        limits.count_request(request, "verify", f"applicant {person.id}")
        return card, issue_receipt(application_id), "", 200
    except TooOften as error:
        return card, {}, str(error), 429
    except ReceiptNotReady as error:
        return card, {}, str(error), 503
    except LogReadersBusy:
        busy = _("Another receipt of this line is being prepared. Try again soon.")
        return card, {}, busy, 503


def _receipt_card(application_id: UUID) -> ApplicationCard:
    seen = read_application(application_id)
    return ApplicationCard.of(seen, read_job(seen.application.job_id))


def _mark_attachment(response: HttpResponseBase, name: str) -> Any:
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "private, no-store"
    return response


# Page on which an applicant checks a receipt: has the line's history been altered since?


@require_http_methods(["GET", "HEAD", "POST"])
@for_applicants
def check_receipt(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Ask for a receipt; on POST, verify the log against it. Neither changes anything."""
    person, seen = own_application(request, application_id)
    card = ApplicationCard.of(seen, read_job(seen.application.job_id))
    form = NotedEventForm(request.POST if request.method == "POST" else None)
    verdict, status, busy = None, 422 if form.is_bound else 200, ""
    if form.is_valid():
        try:
            limits.count_request(request, "verify", f"applicant {person.id}")
            verdict, status = verify_job(card.job.id, noted=form.noted, in_turn=True), 200
        except TooOften as error:
            busy, status = str(error), 429
        except (VerifierBusy, LogReadersBusy):
            busy, status = (
                _("Other histories are being checked right now. Try again soon."),
                503,
            )
    context = {
        "card": card,
        "form": form,
        "busy": busy,
        "verdict": verdict,
        "result": describe_verdict(verdict, card.job) if verdict else "",
        "is_good": verdict is not None and verdict.is_sound and verdict.known is not False,
        "noted": form.noted if verdict else None,
    }
    return render(request, "applicant/receipt.html", context, status=status)


def describe_verdict(verdict: Verdict, job: Job) -> str:
    """Describe the result without naming anyone: the differences are for the company."""
    if verdict.chain != "ok" or not verdict.is_sound:
        return _(
            "This line’s history is damaged: someone has edited the database, or it was restored"
            " incorrectly. Ask %(company)s about it."
        ) % {"company": isolated(job.company.name)}
    if verdict.known is False:
        return _(
            "The history does not match your receipt. Check what you entered. If it is correct, the"
            " history was rewritten."
        )
    if verdict.known:
        return _("Nothing up to your receipt has been altered.")
    return _("The history is complete and correctly chained.")
