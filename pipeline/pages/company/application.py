"""An application as its company sees it, and deciding on it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from jobs.models import Job, JobStatus
from pipeline.domain.permissions import Action
from pipeline.domain.states import DECISIONS, MOVES, Outcome, Reason, Status
from pipeline.models import DecisionNote
from pipeline.pages.access import Member, for_members, received_application
from pipeline.pages.company import consequences
from pipeline.pages.company.event_rows import told
from pipeline.pages.company.forms import DecisionForm
from pipeline.pages.error_messages import attempt
from pipeline.pages.live_page import live_page
from pipeline.selectors.applications import Seen
from pipeline.selectors.board import next_in_line, promoted_since
from pipeline.selectors.jobs import read_job
from pipeline.selectors.paging import Page
from pipeline.selectors.timelines import timeline_of
from pipeline.services.remove import remove
from pipeline.wording.english import people, plural
from pipeline.wording.event_words import DECISION_WORDS

EVENTS_SHOWN = 100


@for_members()
def application(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Everything about one application, which keeps itself up to date."""
    member, seen = received_application(request, application_id)
    job = read_job(seen.application.job_id)
    return live_page(
        request,
        "company/application.html",
        "company/_application.html",
        build=lambda: _application(request, member, seen, job),
        tag=f"{job.seq}-{job.posting.version}",
        jobs=[job.id],
    )


def _application(request: HttpRequest, member: Member, seen: Seen, job: Job) -> dict[str, Any]:
    after = request.GET.get("after", "")
    after_seq = int(after) if after.isdecimal() and len(after) < 19 else 0
    page: Page[Any] = timeline_of(seen.application.id, after_seq=after_seq, limit=EVENTS_SHOWN)
    note = DecisionNote.objects.filter(application_id=seen.application.id).first()
    return {
        "member": member,
        "seen": seen,
        "application": seen.application,
        "job": job,
        "note": note,
        "is_cooling": bool(
            seen.application.eligible_at and seen.application.eligible_at > seen.now
        ),
        "may_decide": member.may(Action.DECIDE) and bool(_possible(seen)),
        "events": told(page.rows, timezone.get_current_timezone()),
        "next_url": f"{request.path}?after={page.rows[-1].seq}" if page.more else "",
        "first_url": request.path if after_seq else "",
    }


@for_members(Action.DECIDE)
def decide(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Ask once, naming what follows; then end the application and say what followed."""
    member, seen = received_application(request, application_id, Action.DECIDE)
    job = read_job(seen.application.job_id)
    if not _possible(seen):
        return redirect("application", application_id=application_id)
    form = DecisionForm(request.POST or None)
    follows = _what_follows(seen, job)
    promise = _promise(seen, follows)
    is_kept = request.POST.get("promised", promise) == promise
    if form.is_valid() and is_kept:
        return _decide(request, member, seen, job, form.cleaned_data)
    if not is_kept:
        form.add_error(None, consequences.MOVED_ON)
    context = {
        "seen": seen,
        "application": seen.application,
        "job": job,
        "tab": "board",
        "form": form,
        "promise": promise,
        "choices": _choices(seen, follows),
    }
    return render(request, "company/decide.html", context, status=422 if form.errors else 200)


def _possible(seen: Seen) -> list[Outcome]:
    """What can be decided in the application's present status."""
    status = Status(seen.application.status)
    return [outcome for outcome, move in DECISIONS.items() if (status, move) in MOVES]


def _promise(seen: Seen, follows: str) -> str:
    """What of the consequences has to be so still when the button is pressed: what becomes of the
    seat. How many wait behind somebody changes all the time, and decides nothing."""
    return follows if Status(seen.application.status).holds_seat else Status.WAITLIST.value


def _choices(seen: Seen, follows: str) -> list[dict[str, str]]:
    """The decisions that are possible, each with what follows."""
    possible = [outcome for outcome in DECISION_WORDS if outcome in _possible(seen)]
    return [
        {
            "outcome": outcome.value,
            "button": f"{DECISION_WORDS[outcome].verb} {_who(seen)}",
            "follows": follows,
            "meaning": DECISION_WORDS[outcome].meaning,
            "tone": "primary" if outcome is Outcome.HIRED else "danger",
        }
        for outcome in possible
    ]


def _what_follows(seen: Seen, job: Job) -> str:
    if Status(seen.application.status).holds_seat:
        return consequences.when_a_seat_opens(job, next(iter(next_in_line(job.id, most=1)), None))
    behind = seen.people_waiting - (seen.position or 0)
    if not behind:
        return "nobody waits behind"
    return f"{people(behind)} behind {plural(behind, 'moves', 'move')} up by one"


def _decide(
    request: HttpRequest, member: Member, seen: Seen, job: Job, given: dict[str, str]
) -> HttpResponse:
    outcome = Outcome(given["outcome"])
    done = attempt(
        request,
        lambda: remove(
            application_id=seen.application.id,
            outcome=outcome,
            actor=member.actor,
            reason=Reason(given["reason"]) if given["reason"] else None,
            note=given["note"],
        ),
    )
    if done is None:
        return redirect("application", application_id=seen.application.id)
    follows = consequences.were_promoted(*promoted_since(job.id, job.seq))
    then = _if_filled(member, JobStatus(job.status)) if outcome is Outcome.HIRED else ""
    messages.success(request, f"{_who(seen)} was {DECISION_WORDS[outcome].done}.{follows}{then}")
    return redirect("board", job_id=job.id)


def _who(seen: Seen) -> str:
    return seen.application.name or seen.address or "this person"


def _if_filled(member: Member, status: JobStatus) -> str:
    """What the member can do when nobody else is looked for."""
    ways = ["pause the job"] if status is JobStatus.OPEN else []
    if member.may(Action.CLOSE_JOB) and status is not JobStatus.CLOSED:
        ways.append("close it for good" if ways else "close the job for good")
    return f" If nobody else is looked for, {' or '.join(ways)}." if ways else ""
