"""Page of one application."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from jobs.models import Job
from pipeline.domain.permissions import Action
from pipeline.line.removed_logs import log_removed_at
from pipeline.models import DecisionNote, PendingDecision
from pipeline.notifications.companies import repeat_email
from pipeline.pages.access import Member, for_members, received_application
from pipeline.pages.company.annotations import NoteForm
from pipeline.pages.company.decisions import decision_notices, possible_decisions_on
from pipeline.pages.company.reinstatement import may_offer_reinstatement
from pipeline.pages.error_messages import attempt_or_error_message
from pipeline.pages.event_rows import event_rows_of_person
from pipeline.pages.live_page import live_page
from pipeline.selectors.applications import SeenApplication
from pipeline.selectors.emails import (
    ShownEmail,
    emails_cache_tag,
    emails_of_application,
)
from pipeline.selectors.jobs import read_job
from pipeline.selectors.pages import Page
from pipeline.selectors.review import (
    Annotations,
    ShownContest,
    annotation_tags_in_job,
    annotations_of,
    pending_decision_on,
    possible_annotation_assignees,
    shown_contests,
)
from pipeline.selectors.timelines import timeline_of_application

EVENTS_SHOWN = 100
# The state that holds an application back or moves it on until a time, and the time's column.
RUNNING = {
    "is_cooling": "eligible_at",
    "is_deferring": "not_before",
    "is_accepting": "accept_until",
}


@for_members()
def company_application(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show one application; the page keeps itself up to date."""
    member, seen = received_application(request, application_id)
    job, emails = read_job(seen.application.job_id), emails_of_application(application_id)
    decision = pending_decision_on(application_id)
    kept = annotations_of([application_id])[application_id]
    contests = shown_contests(application_id, seen.now)
    return live_page(
        request,
        "company/application.html",
        "company/_application.html",
        build=lambda: _company_application_context(
            request, member, seen, job, emails, decision, kept, contests
        ),
        tag=f"{job.seq}-{job.posting.version}-{emails_cache_tag(emails)}-{decision and decision.id}"
        f"-{kept.stamp}-{[each.is_overdue for each in contests]}",
        jobs=[job.id],
    )


@require_POST
@for_members(Action.DECIDE)
def send_application_email_again(
    request: HttpRequest, application_id: UUID, email_id: UUID
) -> HttpResponse:
    """Send an email about an application again."""
    member, _ = received_application(request, application_id, Action.DECIDE)
    producer = f"member:{member.user.id}"
    attempt_or_error_message(
        request,
        lambda: repeat_email(application_id=application_id, email_id=email_id, producer=producer),
        done="The email is on its way again.",
    )
    return redirect("application", application_id=application_id)


def _company_application_context(
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
    if not (removed_at := log_removed_at(job)):
        page = timeline_of_application(seen.application.id, after_seq=after_seq, limit=EVENTS_SHOWN)
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
        "may_decide": member.may(Action.DECIDE)
        and not decision
        and bool(possible_decisions_on(seen)),
        **(decision_notices(job.id, member, only=decision.id) if decision else {}),
        "may_reinstate": member.may(Action.REINSTATE) and may_offer_reinstatement(seen, job),
        "contests": contests,
        "may_answer": member.may(Action.ANSWER_CONTEST),
        "kept": kept,
        "may_annotate": may_annotate,
        "members": possible_annotation_assignees(job.company_id) if may_annotate else [],
        "known_tags": annotation_tags_in_job(job.id) if may_annotate else [],
        "note_form": NoteForm(),
        "emails": emails,
        "may_send_again": member.may(Action.DECIDE),
        "events": event_rows_of_person(page.rows),
        "log_removed_at": removed_at,
        "next_url": f"{request.path}?after={page.rows[-1].seq}" if page.more else "",
        "first_url": request.path if after_seq else "",
    }
