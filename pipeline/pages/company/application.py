"""Page of one application."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from jobs.models import Job
from pipeline.attachments.reads import attachments_cache_tag, read_attachments
from pipeline.domain.permissions import Action
from pipeline.line.removed_logs import removal_time
from pipeline.models import DecisionNote, PendingDecision
from pipeline.notifications.companies import repeat_email
from pipeline.pages import event_rows
from pipeline.pages.access import Member, for_members, received_application
from pipeline.pages.company import decisions, further_question, reinstatement
from pipeline.pages.company.annotations import NoteForm
from pipeline.pages.company.decisions import possible_outcomes
from pipeline.pages.error_messages import attempt
from pipeline.pages.live_page import live_page
from pipeline.selectors.applications import SeenApplication
from pipeline.selectors.emails import ShownEmail, emails_cache_tag, read_newest_emails
from pipeline.selectors.jobs import read_job
from pipeline.selectors.pages import Page
from pipeline.selectors.review import (
    Annotations,
    ShownContest,
    find_pending_decision,
    possible_annotation_assignees,
    read_annotations,
    read_job_tags,
    shown_contests,
)
from pipeline.selectors.timelines import read_application_events

EVENTS_SHOWN = 100
# The state that holds an application back or moves it on until a time, and the time's column.
RUNNING = {
    "is_cooling": "eligible_at",
    "is_deferring": "not_before",
    "is_accepting": "accept_until",
}


@for_members()
def show(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show one application; the page keeps itself up to date."""
    member, seen = received_application(request, application_id)
    job, emails = read_job(seen.application.job_id), read_newest_emails(application_id)
    decision = find_pending_decision(application_id)
    kept = read_annotations([application_id])[application_id]
    contests, files = shown_contests(application_id, seen.now), read_attachments(application_id)
    return live_page(
        request,
        "company/application.html",
        "company/_application.html",
        build=lambda: (
            _context(request, member, seen, job, emails, decision, kept, contests)
            | {"files": files}
        ),
        tag=f"{job.seq}-{job.posting.version}-{emails_cache_tag(emails)}-{decision and decision.id}"
        f"-{kept.stamp}-{[each.is_overdue for each in contests]}-{attachments_cache_tag(files)}",
        jobs=[job.id],
    )


@require_POST
@for_members(Action.DECIDE)
def resend_email(request: HttpRequest, application_id: UUID, email_id: UUID) -> HttpResponse:
    """Send an email about an application again."""
    member, _ = received_application(request, application_id, Action.DECIDE)
    producer = f"member:{member.user.id}"
    attempt(
        request,
        lambda: repeat_email(application_id=application_id, email_id=email_id, producer=producer),
        done="The email is on its way again.",
    )
    return redirect("application", application_id=application_id)


def _context(
    request: HttpRequest,
    member: Member,
    seen: SeenApplication,
    job: Job,
    emails: list[ShownEmail],
    decision: PendingDecision | None,
    kept: Annotations,
    contests: list[ShownContest],
) -> dict[str, Any]:
    after = request.GET.get("after", "")
    after_seq = int(after) if after.isdecimal() and len(after) < 19 else 0
    page: Page[Any] = Page([], more=False)
    if not (removed_at := removal_time(job)):
        page = read_application_events(seen.application.id, after_seq=after_seq, limit=EVENTS_SHOWN)
    may_annotate = member.may(Action.ANNOTATE)
    return {
        "member": member,
        "seen": seen,
        "application": seen.application,
        "job": job,
        "notes": DecisionNote.objects.filter(application_id=seen.application.id).order_by("seq"),
        **{
            name: bool((end := getattr(seen.application, column)) and end > seen.now)
            for name, column in RUNNING.items()
        },
        "may_decide": member.may(Action.DECIDE) and not decision and bool(possible_outcomes(seen)),
        **(decisions.read_notices(job.id, member, only=decision.id) if decision else {}),
        "may_reinstate": member.may(Action.REINSTATE) and reinstatement.is_offered(seen, job),
        "contests": contests,
        "may_answer": member.may(Action.ANSWER_CONTEST),
        **further_question.read_context(member, seen),
        "kept": kept,
        "may_annotate": may_annotate,
        "members": possible_annotation_assignees(job.company_id) if may_annotate else [],
        "known_tags": read_job_tags(job.id) if may_annotate else [],
        "note_form": NoteForm(),
        "emails": emails,
        "may_send_again": member.may(Action.DECIDE),
        "events": event_rows.describe_person(page.rows),
        "log_removed_at": removed_at,
        "next_url": f"{request.path}?after={page.rows[-1].seq}" if page.more else "",
        "first_url": request.path if after_seq else "",
    }
