"""Page of one application, and the decision on it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from jobs.models import Job, JobStatus
from pipeline.domain.permissions import Action
from pipeline.domain.states import DECISIONS, MOVES, Outcome, Reason, Status
from pipeline.limits.rate_limit import Rate, count_against_rate
from pipeline.models import DecisionNote
from pipeline.notifications.repeat import NotRepeatable, repeat_email
from pipeline.pages.access import Member, for_members, received_application
from pipeline.pages.company import consequences
from pipeline.pages.company.forms import DecisionForm
from pipeline.pages.error_messages import attempt_or_error_message
from pipeline.pages.event_rows import event_rows_of_person
from pipeline.pages.live_page import live_page
from pipeline.selectors.applications import SeenApplication
from pipeline.selectors.board import read_board_next_in_line, read_board_promoted_since
from pipeline.selectors.emails import (
    SentEmail,
    email_of_application,
    emails_of_application,
    emails_stamp,
)
from pipeline.selectors.jobs import read_job
from pipeline.selectors.page import Page
from pipeline.selectors.timelines import timeline_of
from pipeline.services.remove import remove
from pipeline.wording.english import people, plural
from pipeline.wording.event_words import DECISION_WORDS

EVENTS_SHOWN = 100
REPEATS = Rate(3, 60)  # emails that a company may have sent again to one person


@for_members()
def company_application(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show one application; the page keeps itself up to date."""
    member, seen = received_application(request, application_id)
    job, emails = read_job(seen.application.job_id), emails_of_application(application_id)
    return live_page(
        request,
        "company/application.html",
        "company/_application.html",
        build=lambda: _company_application_context(request, member, seen, job, emails),
        tag=f"{job.seq}-{job.posting.version}-{emails_stamp(emails)}",
        jobs=[job.id],
    )


@require_POST
@for_members(Action.DECIDE)
def send_application_email_again(
    request: HttpRequest, application_id: UUID, email_id: UUID
) -> HttpResponse:
    """Send an email about an application again."""
    member, _ = received_application(request, application_id, Action.DECIDE)
    email = email_of_application(application_id, email_id)
    try:
        if not count_against_rate("email_again", str(application_id), REPEATS).allowed:
            raise NotRepeatable("Emails to this person were just sent again. Wait a minute.")
        repeat_email(email, producer=f"member:{member.user.id}")
        messages.success(request, "The email is on its way again.")
    except NotRepeatable as refused:
        messages.error(request, str(refused))
    return redirect("application", application_id=application_id)


def _company_application_context(
    request: HttpRequest,
    member: Member,
    seen: SeenApplication,
    job: Job,
    emails: list[SentEmail],
) -> dict[str, Any]:
    after = request.GET.get("after", "")
    after_seq = int(after) if after.isdecimal() and len(after) < 19 else 0
    page: Page[Any] = timeline_of(seen.application.id, after_seq=after_seq, limit=EVENTS_SHOWN)
    eligible_at = seen.application.eligible_at
    return {
        "member": member,
        "seen": seen,
        "application": seen.application,
        "job": job,
        "note": DecisionNote.objects.filter(application_id=seen.application.id).first(),
        "is_cooling": bool(eligible_at and eligible_at > seen.now),
        "may_decide": member.may(Action.DECIDE) and bool(_possible_outcomes_of_application(seen)),
        "emails": emails,
        "may_send_again": member.may(Action.DECIDE),
        "events": event_rows_of_person(page.rows),
        "next_url": f"{request.path}?after={page.rows[-1].seq}" if page.more else "",
        "first_url": request.path if after_seq else "",
    }


@for_members(Action.DECIDE)
def decide_on_application(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show the possible decisions with their consequences; on POST, end the application."""
    member, seen = received_application(request, application_id, Action.DECIDE)
    job = read_job(seen.application.job_id)
    possible = _possible_outcomes_of_application(seen)
    if not possible:
        return redirect("application", application_id=application_id)
    form = DecisionForm(request.POST or None)
    consequence = _consequence_for_application(seen, job)
    # When the button is pressed, only the consequence for the seat must still be the same. The
    # number of people waiting behind changes all the time, and no decision depends on it.
    holds_seat = Status(seen.application.status).holds_seat
    promise = consequence if holds_seat else Status.WAITLIST.value
    is_kept = request.POST.get("promised", promise) == promise
    if form.is_valid() and is_kept:
        return _decide_on_application(request, member, seen, job, form.cleaned_data)
    if not is_kept:
        form.add_error(None, consequences.MOVED_ON)
    context = {
        "seen": seen,
        "application": seen.application,
        "job": job,
        "tab": "board",
        "form": form,
        "promise": promise,
        "consequence": consequence,
        "choices": [
            {
                "outcome": outcome.value,
                "button": f"{words.verb} {_name_on_application(seen)}",
                "meaning": words.meaning,
                "tone": "primary" if outcome is Outcome.HIRED else "danger",
            }
            for outcome, words in DECISION_WORDS.items()
            if outcome in possible
        ],
    }
    return render(request, "company/decide.html", context, status=422 if form.errors else 200)


def _possible_outcomes_of_application(seen: SeenApplication) -> list[Outcome]:
    status = Status(seen.application.status)
    return [outcome for outcome, move in DECISIONS.items() if (status, move) in MOVES]


def _consequence_for_application(seen: SeenApplication, job: Job) -> str:
    """Describe what happens to the seat, or to the people behind in line."""
    if Status(seen.application.status).holds_seat:
        return consequences.consequence_when_a_seat_opens(
            job, next(iter(read_board_next_in_line(job.id, most=1)), None)
        )
    if seen.position is None:
        return "nobody moves up, because an unverified application is not counted"
    behind = seen.people_waiting - seen.position
    if not behind:
        return "nobody is waiting behind"
    return f"{people(behind)} behind {plural(behind, 'moves', 'move')} up by one"


def _decide_on_application(
    request: HttpRequest, member: Member, seen: SeenApplication, job: Job, given: dict[str, str]
) -> HttpResponse:
    outcome = Outcome(given["outcome"])
    done = attempt_or_error_message(
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
    promoted = consequences.consequence_were_promoted(*read_board_promoted_since(job.id, job.seq))
    advice = ""
    if outcome == Outcome.HIRED and job.status != JobStatus.CLOSED:
        ways = ["pause the job"] if job.status == JobStatus.OPEN else []
        if member.may(Action.CLOSE_JOB):
            ways.append("close it" if ways else "close the job")
        advice = f" If you are not looking for anyone else, {' or '.join(ways)}." if ways else ""
    messages.success(
        request,
        f"{_name_on_application(seen)} was {DECISION_WORDS[outcome].done}.{promoted}{advice}",
    )
    return redirect("board", job_id=job.id)


def _name_on_application(seen: SeenApplication) -> str:
    return seen.application.name or seen.address or "this person"
