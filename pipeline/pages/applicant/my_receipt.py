"""An applicant's signed receipt, and the log of their line without names, to keep and to verify."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from pipeline.domain.errors import LogReadersBusy, ReceiptNotReady
from pipeline.exports.formats import formatted_pieces
from pipeline.line.removed_logs import refuse_removed_log_of
from pipeline.pages.access import for_applicants, own_application
from pipeline.pages.applicant.application_card import ApplicationCard
from pipeline.pages.rate_limits import TooOften, limit_page_rate
from pipeline.receipts.opaque_log import opaque_rows
from pipeline.receipts.receipt import issue_receipt
from pipeline.selectors.applications import read_application
from pipeline.selectors.jobs import read_job

PIECE = 64 * 1_024  # approximate number of characters sent at a time
# The most rows in one file. A longer log is downloaded in parts.
MOST_ROWS = 50_000


@require_safe
@for_applicants
def show_my_receipt(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show a signed receipt of the application, and offer it as a file, with the log."""
    card, receipt, refusal, status = _my_receipt_to_show(request, application_id)
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
    card, receipt, refusal, status = _my_receipt_to_show(request, application_id)
    if not receipt:
        context = {"card": card, "refusal": refusal}
        return render(request, "applicant/my_receipt.html", context, status=status)
    response = JsonResponse(receipt, json_dumps_params={"indent": 2, "ensure_ascii": False})
    return _my_receipt_as_file(response, f"receipt-{receipt['seq']}.json")


@require_safe
@for_applicants
def download_log_for_my_receipt(request: HttpRequest, application_id: UUID) -> HttpResponseBase:
    """Stream the log of the application's line without names, one JSON object per line.

    Returns at most MOST_ROWS events, after the event `after`.
    """
    person, seen = own_application(request, application_id)
    given = request.GET.get("after", "")
    after = int(given) if given.isascii() and given.isdecimal() and len(given) < 12 else 0
    try:
        limit_page_rate(request, "verify", f"applicant {person.id}")
    except TooOften as error:
        context = {"card": _card_of_my_receipt(application_id), "refusal": str(error)}
        return render(request, "applicant/my_receipt.html", context, status=429)
    job = read_job(seen.application.job_id)
    refuse_removed_log_of(job)
    upto = min(job.seq, after + MOST_ROWS)
    lines = (
        f"{json.dumps(row, sort_keys=True, separators=(',', ':'), ensure_ascii=False)}\n"
        for row in opaque_rows(job.id, after=after, upto=upto)
    )
    pieces = formatted_pieces(lines, characters=PIECE, first_at_once=True)
    response = StreamingHttpResponse(pieces, content_type="application/jsonl")
    return _my_receipt_as_file(response, f"log-{after + 1}-{upto}.jsonl")


def _my_receipt_to_show(
    request: HttpRequest, application_id: UUID
) -> tuple[ApplicationCard, dict[str, Any], str, int]:
    """Return the card, and a new receipt, or else the reason why there is none and its status."""
    person, _ = own_application(request, application_id)
    card = _card_of_my_receipt(application_id)
    try:
        limit_page_rate(request, "verify", f"applicant {person.id}")
        return card, issue_receipt(application_id), "", 200
    except TooOften as error:
        return card, {}, str(error), 429
    except ReceiptNotReady as error:
        return card, {}, str(error), 503
    except LogReadersBusy:
        return card, {}, "Another receipt of this line is being prepared. Try again soon.", 503


def _card_of_my_receipt(application_id: UUID) -> ApplicationCard:
    seen = read_application(application_id)
    return ApplicationCard.of(seen, read_job(seen.application.job_id))


def _my_receipt_as_file(response: HttpResponseBase, name: str) -> Any:
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "private, no-store"
    return response
