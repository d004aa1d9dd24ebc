"""Page that verifies a job's log and compares it with a hash noted earlier."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from jobs.models import Job
from pipeline.audit.verify import Verdict, verify_job
from pipeline.domain.errors import VerifierBusy
from pipeline.pages.access import for_members, own_job
from pipeline.pages.forms import PlainForm
from pipeline.pages.history.timeline import MOST_SEQ
from pipeline.pages.rate_limits import TooOften, limit_page_rate

SHOWN = 20  # differences that are listed


class VerifyForm(PlainForm):
    """Number and hash of an event noted earlier, or neither."""

    seq = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_SEQ,
        label="Event number",
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
    )
    hash = forms.CharField(
        required=False,
        label="Hash",
        widget=forms.TextInput(
            attrs={"spellcheck": "false", "autocomplete": "off", "class": "mono"}
        ),
        help_text="All 64 characters, from the timeline or this page.",
    )

    def clean_hash(self) -> str:
        """Return the hash in lower case, without spaces."""
        digest = "".join(self.cleaned_data["hash"].split()).lower()
        if digest and not re.fullmatch("[0-9a-f]{64}", digest):
            raise forms.ValidationError("Enter all 64 characters, each from 0 to 9 or a to f.")
        return digest

    def clean(self) -> dict[str, Any]:
        """Require both fields or neither."""
        noted = self.cleaned_data
        if not self.errors and bool(noted.get("seq")) != bool(noted.get("hash")):
            missing = "hash" if noted.get("seq") else "seq"
            self.add_error(
                missing, "Enter both the event number and its hash, or leave both empty."
            )
        return noted

    @property
    def noted(self) -> tuple[int, str] | None:
        """Number and hash that were entered, if any."""
        seq, digest = self.cleaned_data["seq"], self.cleaned_data["hash"]
        return (seq, digest) if seq and digest else None


@for_members()
def verify_log(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Verify the log on POST; on GET show the form. Neither changes anything."""
    member, job = own_job(request, job_id)
    if request.method != "POST":
        return _verify_page(request, job, VerifyForm())
    form = VerifyForm(request.POST)
    if not form.is_valid():
        return _verify_page(request, job, form, status=422)
    try:
        limit_page_rate(request, "verify", f"member {member.user.id}")
        verdict = verify_job(job.id, noted=form.noted, in_turn=True)
    except (TooOften, VerifierBusy) as error:
        status = 429 if isinstance(error, TooOften) else 503
        return _verify_page(request, job, form, status=status, busy=True)
    return _verify_page(request, job, form, verdict=verdict)


def _verify_page(
    request: HttpRequest,
    job: Job,
    form: VerifyForm,
    *,
    status: int = 200,
    verdict: Verdict | None = None,
    busy: bool = False,
) -> HttpResponse:
    is_good = verdict is not None and verdict.is_sound and verdict.known is not False
    context = {
        "job": job,
        "tab": "timeline",
        "form": form,
        "verdict": verdict,
        "busy": busy,
        "noted": verdict and form.noted,
        "is_good": is_good,
        "verdict_icon": "shield-check" if is_good else "shield-exclamation",
        "verdict_title": verdict and _title_of_verdict(verdict),
        "differences": verdict.differences[:SHOWN] if verdict else [],
    }
    return render(request, "history/verify.html", context, status=status)


def _title_of_verdict(verdict: Verdict) -> str:
    if verdict.chain != "ok":
        return f"The log is broken at event {verdict.first_bad_seq}"
    if not verdict.is_sound:
        return "The line does not match its log"
    return "The log is sound" if verdict.known is not False else "The log does not match your copy"
