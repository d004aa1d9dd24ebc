"""Page of one application with its decision, and the page that gives back a lost place."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from jobs.models import Job, JobStatus
from pipeline.attachments.kinds import BY_CONTENT_TYPE, PDF
from pipeline.attachments.reads import attachments_cache_tag, read_attachments
from pipeline.correspondence.threads import Side, count_unread
from pipeline.domain.errors import LastPosition, PositionsFilled
from pipeline.domain.permissions import Action
from pipeline.domain.states import ReinstatementReason
from pipeline.line.misses import has_just_missed, read_last_miss
from pipeline.line.removed_logs import removal_time
from pipeline.models import Attachment, DecisionNote, PendingDecision
from pipeline.notifications.companies import repeat_email
from pipeline.pages import event_rows
from pipeline.pages.access import Member, for_members, received_application
from pipeline.pages.company import (
    consequences,
    decisions,
    exceptions,
    further_question,
    reserved,
)
from pipeline.pages.company.annotations import NoteForm
from pipeline.pages.company.decisions import possible_outcomes
from pipeline.pages.company.forms import DecisionForm, ReinstatementForm
from pipeline.pages.company.review import score_context
from pipeline.pages.error_messages import attempt, explain_refusal
from pipeline.pages.live_page import FRESH_ID, live_page
from pipeline.selectors.applications import SeenApplication, find_position, read_application
from pipeline.selectors.emails import ShownEmail, emails_cache_tag, read_newest_emails
from pipeline.selectors.jobs import read_job
from pipeline.selectors.members import read_choices
from pipeline.selectors.pages import Page
from pipeline.selectors.review import (
    Annotations,
    ShownContest,
    find_neighbours,
    find_pending_decision,
    read_annotations,
    read_job_tags,
    shown_contests,
)
from pipeline.selectors.scores import read_scorecards
from pipeline.selectors.timelines import read_application_events
from pipeline.services.leaving import reinstate
from pipeline.texts.words import read_decision_texts
from pipeline.wording.english import isolated

EVENTS_SHOWN = 100
# The state that holds an application back or moves it on until a time, and the time's column.
RUNNING = {
    "is_cooling": "eligible_at",
    "is_deferring": "not_before",
    "is_accepting": "accept_until",
}
# How files are shown that the viewer on this page opens; others have a page of their own.
VIEWED = {"pages", "picture"}


@for_members()
def show(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show one application; the page keeps itself up to date."""
    member, seen = received_application(request, application_id)
    if not member.may(Action.READ_JOB):
        return _show_to_interviewer(request, member, seen)
    return _show(request, member, seen)


@for_members(Action.DECIDE)
def decide(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show the same page with the focus on the decision; on POST, decide."""
    member, seen = received_application(request, application_id, Action.DECIDE)
    if not possible_outcomes(seen) or find_pending_decision(application_id):
        return redirect("application", application_id=application_id)
    if request.method != "POST":
        return _show(request, member, seen, decisions.take_typed(request, application_id))
    if decisions.FILL in request.POST:
        return _show(request, member, seen, decisions.begin_form(member, request.POST))
    form, job = DecisionForm(request.POST), read_job(seen.application.job_id)
    asked = decisions.read_decision(member, seen, job, form)
    is_kept = request.POST.get("promised", asked["promise"]) == asked["promise"]
    if form.is_valid() and is_kept:
        neighbours = find_neighbours(seen.application)
        try:
            return decisions.decide_one(request, member, seen, job, form.cleaned_data, neighbours)
        except (LastPosition, PositionsFilled) as error:
            form.add_error(None, explain_refusal(error))
    if not is_kept:
        form.add_error(None, consequences.MOVED_ON)
    return _show(request, member, seen, form)


def _show(
    request: HttpRequest, member: Member, seen: SeenApplication, form: DecisionForm | None = None
) -> HttpResponse:
    """Show the page; with a form that was refused, it stays as it is until it is sent again."""
    application_id = seen.application.id
    job, emails = read_job(seen.application.job_id), read_newest_emails(application_id)
    decision = find_pending_decision(application_id)
    notices = decisions.read_notices(job.id, member, first=decision.id if decision else None)
    notices["undo_next"] = application_id
    kept = read_annotations([application_id])[application_id]
    contests, files = shown_contests(application_id, seen.now), read_attachments(application_id)
    group = reserved.read_group_context(member, seen, job)
    scores = read_scorecards(seen.application, member.user.id)
    is_open = seen.review_since is not None and decision is None
    unread = count_unread([application_id], reader=Side.COMPANY)
    age = seen.review_age and (seen.review_age.is_overdue, seen.review_age.age_seconds // 600)

    def build() -> dict[str, Any]:
        answered = further_question.read_context(member, seen, files)
        return (
            _context(request, member, seen, job, emails, kept, contests)
            | notices
            | score_context(request, member, scores, is_open=is_open)
            | answered
            | {"unread_messages": unread}
            | group
            | _read_files(request, files, answered["replaced"])
            | _read_decision(request, member, seen, job, decision, form)
        )

    if form:
        context = build() | {FRESH_ID: decisions.sent_id(request)}
        status = 422 if form.is_bound else 200
        return render(request, "company/application.html", context, status=status)
    told = [
        (each.of.id, each.of.waiting, each.of.is_open, each.is_due) for each in notices["decisions"]
    ]
    return live_page(
        request,
        "company/application.html",
        "company/_application.html",
        build=build,
        # Marks are hidden from some members and shown to others, so the page is each one's own.
        tag=f"{member.user.id}{scores.stamp}{is_open}{age} {job.seq} {unread}"
        f"-{job.posting.version}-{emails_cache_tag(emails)}-{decision and decision.id}-{told}"
        f"-{group.get('claim')}"
        f"-{kept.stamp}-{[each.is_overdue for each in contests]}-{attachments_cache_tag(files)}",
        jobs=[job.id],
    )


def _show_to_interviewer(
    request: HttpRequest, member: Member, seen: SeenApplication
) -> HttpResponse:
    """Show what an interviewer scores: answers, files and their own marks."""
    application_id = seen.application.id
    job, files = read_job(seen.application.job_id), read_attachments(application_id)
    scores = read_scorecards(seen.application, member.user.id)
    answered = further_question.read_context(member, seen, files)
    context = {
        "member": member,
        "seen": seen,
        "application": seen.application,
        "job": job,
        **score_context(
            request, member, scores, is_open=find_pending_decision(application_id) is None
        ),
        **answered,
        **_read_files(request, files, answered["replaced"]),
    }
    return render(request, "company/interview.html", context)


def _read_decision(
    request: HttpRequest,
    member: Member,
    seen: SeenApplication,
    job: Job,
    decision: PendingDecision | None,
    form: DecisionForm | None,
) -> dict[str, Any]:
    if decision or not member.may(Action.DECIDE) or not possible_outcomes(seen):
        return {}
    reason = request.GET.get(decisions.REASON, "")
    asked = form or decisions.begin_form(member, QueryDict(), reason)
    return decisions.read_decision(member, seen, job, asked) | {
        "comes_to_decide": request.path.endswith("/decide/") and decisions.FILL not in request.POST
    }


def _read_files(
    request: HttpRequest, files: list[Attachment], replaced: list[Attachment]
) -> dict[str, Any]:
    """Return the files as context, and the one that the viewer shows: chosen, else the first.

    Files that others have replaced come last.
    """
    files = sorted(files, key=lambda each: each in replaced)
    viewed = [
        each
        for each in files
        if each.is_visible and BY_CONTENT_TYPE[each.content_type].shown_as in VIEWED
    ]
    chosen = [each for each in viewed if str(each.id) == request.GET.get("file")]
    file = next(iter(chosen or viewed), None)
    return {
        "files": files,
        "viewed": viewed,
        "file": file,
        "kind": file and BY_CONTENT_TYPE[file.content_type],
        "has_pages": any(each.content_type == PDF.content_type for each in files),
    }


@require_POST
@for_members(Action.DECIDE)
def resend_email(request: HttpRequest, application_id: UUID, email_id: UUID) -> HttpResponse:
    """Send an email about an application again."""
    member, _seen = received_application(request, application_id, Action.DECIDE)
    producer = f"member:{member.user.id}"
    attempt(
        request,
        lambda: repeat_email(application_id=application_id, email_id=email_id, producer=producer),
        done=_("The email is on its way again."),
    )
    return redirect("application", application_id=application_id)


def _context(
    request: HttpRequest,
    member: Member,
    seen: SeenApplication,
    job: Job,
    emails: list[ShownEmail],
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
        "neighbours": find_neighbours(seen.application),
        "seen": seen,
        "application": seen.application,
        "job": job,
        "notes": DecisionNote.objects.filter(application_id=seen.application.id).order_by("seq"),
        "decision_texts": read_decision_texts(seen.application),
        **{
            name: bool((end := getattr(seen.application, column)) and end > seen.now)
            for name, column in RUNNING.items()
        },
        "may_reinstate": member.may(Action.REINSTATE) and is_reinstatement_offered(seen, job),
        "may_move_ahead": member.may(Action.DECIDE) and exceptions.is_exception_offered(seen, job),
        "may_extend": member.may(Action.DECIDE) and _is_offer_running(seen, job),
        "contests": contests,
        "may_answer": member.may(Action.ANSWER_CONTEST),
        "kept": kept,
        "may_annotate": may_annotate,
        "members": read_choices(Action.READ_JOB, company_id=job.company_id, job_id=job.id)
        if may_annotate
        else [],
        "known_tags": read_job_tags(job.id) if may_annotate else [],
        "note_form": NoteForm(auto_id="new-%s"),  # the decision has a note, too
        "emails": emails,
        "may_send_again": member.may(Action.DECIDE),
        "events": event_rows.describe_person(page.rows),
        "log_removed_at": removed_at,
        "next_url": f"{request.path}?after={page.rows[-1].seq}" if page.more else "",
        "first_url": request.path if after_seq else "",
    }


def _is_offer_running(seen: SeenApplication, job: Job) -> bool:
    deadline = seen.application.acknowledge_by
    return deadline is not None and deadline > seen.now and job.status != JobStatus.CLOSED


# Page that gives a person back a place that was lost through a missed deadline.


def is_reinstatement_offered(seen: SeenApplication, job: Job) -> bool:
    """Tell whether to show the button that gives back the place lost through the last miss."""
    application = seen.application
    can_return = job.status != JobStatus.CLOSED and application.is_verified and bool(seen.address)
    return can_return and has_just_missed(application)


@for_members(Action.REINSTATE)
def reinstate_application(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show what giving the place back changes; on POST, give it back."""
    member, seen = received_application(request, application_id, Action.REINSTATE)
    job, miss = read_job(seen.application.job_id), read_last_miss(seen.application)
    if not is_reinstatement_offered(seen, job) or not attempt(
        request, lambda: (miss.refuse_giving_back(), True)
    ):
        return redirect("application", application_id=application_id)
    form = ReinstatementForm(request.POST or None)
    # A later miss would be given back instead. If only the line has moved on, no decision changes.
    promise = str(miss.seq)
    is_kept = request.POST.get("promised", promise) == promise
    if form.is_valid() and is_kept:
        return _reinstate_application(request, member, seen, form.cleaned_data)
    if not is_kept:
        form.add_error(None, consequences.MOVED_ON)
    context = {
        "seen": seen,
        "application": seen.application,
        "job": job,
        "tab": "board",
        "form": form,
        "miss": miss,
        "promise": promise,
        "consequence": consequences.describe_reinstatement(
            job,
            position=find_position(job.id, miss.ticket or 0, miss.tie or 0),
            stood=seen.position or seen.people_waiting + 1,
        ),
    }
    return render(request, "company/reinstate.html", context, status=422 if form.errors else 200)


def _reinstate_application(
    request: HttpRequest, member: Member, seen: SeenApplication, given: dict[str, str]
) -> HttpResponse:
    application_id = seen.application.id
    done = attempt(
        request,
        lambda: reinstate(
            application_id=application_id,
            reason=ReinstatementReason(given["reason"]),
            actor=member.actor,
            note=given["note"],
        ),
    )
    if done is not None:
        position = read_application(application_id).position
        words = (
            _("%(name)s has their place back and is number %(position)s in line.")
            if position
            else _("%(name)s has their place back and gets the free seat.")
        )
        name = isolated(seen.application.name or seen.address)
        messages.success(request, words % {"name": name, "position": f"{position or 0:,}"})
    return redirect("application", application_id=application_id)
