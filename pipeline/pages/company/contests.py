"""Pages on which a company reads requests to look again, and answers them."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from jobs.models import JobStatus
from pipeline.domain.contests import (
    REASONS_OF,
    TEXT_LENGTH,
    ContestAnswer,
    ContestReason,
)
from pipeline.domain.permissions import Action
from pipeline.line.clock import read_company_clock
from pipeline.pages import page_urls
from pipeline.pages.access import (
    current_member,
    for_members,
    received_application,
    require_permission,
)
from pipeline.pages.error_messages import attempt
from pipeline.pages.forms import LinesField, PlainForm
from pipeline.selectors.jobs import read_job
from pipeline.selectors.pages import encode_cursor
from pipeline.selectors.review import (
    ContestState,
    ShownContest,
    contest_decider,
    open_company_contests,
    read_application_contests,
    read_company_contests,
)
from pipeline.services.contests import answer_contest
from pipeline.wording.events import contest_reason_choices

SHOWN = 50
ANSWERED = gettext_lazy("Answered. We will email the applicant.")
STATE_WORDS = {
    ContestState.OPEN: gettext_lazy("Waiting for an answer"),
    ContestState.OVERDUE: pgettext_lazy("state", "Overdue"),
    ContestState.ANSWERED: pgettext_lazy("state", "Answered"),
}


class ContestAnswerForm(PlainForm):
    """Form for the reason of the answer, which decides it, and a text for the applicant."""

    reason = forms.ChoiceField(
        label=pgettext_lazy("label", "Answer"),
        widget=forms.RadioSelect,
        choices=contest_reason_choices,
        help_text=gettext_lazy("The applicant reads it. It stays in the job’s log permanently."),
    )
    text = LinesField(
        label=gettext_lazy("Your answer to the applicant"),
        required=False,
        max_length=TEXT_LENGTH,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text=gettext_lazy("We email it. It is erased with the person’s data."),
    )

    @property
    def answer(self) -> ContestAnswer:
        """Return the answer that the chosen reason belongs to."""
        reason = ContestReason(self.cleaned_data["reason"])
        return next(each for each, reasons in REASONS_OF.items() if reason in reasons)


@for_members(Action.READ_JOBS)
def index(request: HttpRequest) -> HttpResponse:
    """List the requests to look again, newest first; with a filter, only some of them."""
    member = require_permission(current_member(request), Action.READ_JOBS)
    asked = request.GET.get("state", "")
    state = ContestState(asked) if asked in list(ContestState) else None
    after: Any = page_urls.read_place(request, "after", datetime, UUID)
    page = read_company_contests(
        member.company.id,
        state=state,
        among=member.jobs_allowing(Action.READ_JOB),
        after=after,
        limit=SHOWN,
    )
    now, last = read_company_clock(member.company.id).now, page.rows[-1] if page.rows else None
    context = {
        "member": member,
        "may_answer": member.may_somewhere(Action.ANSWER_CONTEST),
        "contests": [ShownContest.of_contest(row, now) for row in page.rows],
        "state": asked if state else "",
        "states": STATE_WORDS.items(),
        "next_url": page_urls.change_query(request, after=encode_cursor(last.asked_at, last.id))
        if last and page.more
        else "",
        "first_url": page_urls.change_query(request, after=None) if after else "",
    }
    return render(request, "company/contests.html", context)


@for_members(Action.ANSWER_CONTEST)
def answer(request: HttpRequest, application_id: UUID, contest_id: UUID) -> HttpResponse:
    """Show the applicant's text and the form for the answer; answer on POST."""
    member, seen = received_application(request, application_id, Action.ANSWER_CONTEST)
    found = [each for each in read_application_contests(application_id) if each.id == contest_id]
    if not found or not found[0].is_open:
        messages.info(
            request, _("This has already been answered, or the person’s data was erased.")
        )
        return redirect("application", application_id=application_id)
    form = ContestAnswerForm(request.POST or None)
    if form.is_valid():
        done = attempt(
            request,
            lambda: answer_contest(
                contest_id=contest_id,
                application_id=application_id,
                answer=form.answer,
                reason=ContestReason(form.cleaned_data["reason"]),
                text=form.cleaned_data["text"],
                actor=member.actor,
            ),
            done=str(ANSWERED),
        )
        if done is not None:
            return redirect("application", application_id=application_id)
    job, decider = read_job(seen.application.job_id), contest_decider(found[0])
    context = {
        "seen": seen,
        "application": seen.application,
        "job": job,
        "tab": "board",
        "shown": ShownContest.of_contest(found[0], seen.now),
        "is_closed": job.status == JobStatus.CLOSED,
        "decided_yourself": decider is not None and decider == member.user.id,
        "form": form,
    }
    status = 422 if form.errors else 200
    return render(request, "company/answer_contest.html", context, status=status)


def read_unanswered(company_id: UUID) -> dict[str, Any]:
    """Return the number of open requests and the first of them, for the company's first page."""
    rows = list(open_company_contests(company_id)[: SHOWN + 1])
    return {"open_contests": len(rows), "first_contest": rows[0] if rows else None}
