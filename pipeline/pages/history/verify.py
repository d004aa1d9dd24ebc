"""Proving a job's log at the press of a button, and comparing it with what was noted earlier."""

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
from pipeline.pages.rate_limits import TooOften, limit

SHOWN = 20
"""How many differences are listed."""


class NotedForm(PlainForm):
    """A seq and a hash that somebody wrote down earlier, or neither."""

    seq = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_SEQ,
        label="Number of the event",
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
    )
    hash = forms.CharField(
        required=False,
        label="Its hash",
        widget=forms.TextInput(
            attrs={"spellcheck": "false", "autocomplete": "off", "class": "mono"}
        ),
        help_text="All 64 characters, as the timeline or this page showed them.",
    )

    def clean_hash(self) -> str:
        """The hash in small letters, without spaces."""
        digest = "".join(self.cleaned_data["hash"].split()).lower()
        if digest and not re.fullmatch("[0-9a-f]{64}", digest):
            raise forms.ValidationError("A hash has 64 characters, each from 0 to 9 or a to f.")
        return digest

    def clean(self) -> dict[str, Any]:
        """Both or neither."""
        noted = self.cleaned_data
        if not self.errors and bool(noted.get("seq")) != bool(noted.get("hash")):
            missing = "hash" if noted.get("seq") else "seq"
            self.add_error(missing, "Needed together with the other: or leave both empty.")
        return noted

    @property
    def noted(self) -> tuple[int, str] | None:
        """What was noted, if anything was."""
        seq, digest = self.cleaned_data["seq"], self.cleaned_data["hash"]
        return (seq, digest) if seq and digest else None


@for_members()
def verify_log(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Check the log (POST); a GET shows what can be checked. Neither changes anything."""
    member, job = own_job(request, job_id)
    if request.method != "POST":
        return _answer(request, job, NotedForm())
    form = NotedForm(request.POST)
    if not form.is_valid():
        return _answer(request, job, form, status=422)
    try:
        limit(request, "verify", f"member {member.user.id}")
        verdict = verify_job(job.id, noted=form.noted, in_turn=True)
    except (TooOften, VerifierBusy) as error:
        status = 429 if isinstance(error, TooOften) else 503
        return _answer(request, job, form, status=status, busy=True)
    return _answer(request, job, form, verdict=verdict)


def _answer(
    request: HttpRequest,
    job: Job,
    form: NotedForm,
    *,
    status: int = 200,
    verdict: Verdict | None = None,
    busy: bool = False,
) -> HttpResponse:
    context = {
        "job": job,
        "tab": "timeline",
        "form": form,
        "verdict": verdict,
        "busy": busy,
        "noted": verdict and form.noted,
        "differences": verdict.differences[:SHOWN] if verdict else [],
    }
    return render(request, "history/verify.html", context, status=status)
