"""Messages for members of a company: one thread, and the threads of a job."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from jobs.models import Job
from pipeline.correspondence import bulk, templates, threads
from pipeline.correspondence.templates import Values
from pipeline.correspondence.threads import WRITE, Draft, Side
from pipeline.domain.errors import LineError
from pipeline.domain.permissions import Action
from pipeline.models import ApplicationMessage
from pipeline.pages import page_urls
from pipeline.pages.access import Member, for_members, own_job, received_application
from pipeline.pages.attachments import holder_of_browser
from pipeline.pages.correspondence.forms import MessageForm
from pipeline.pages.live_page import live_page
from pipeline.selectors.applications import SeenApplication
from pipeline.selectors.jobs import read_job
from pipeline.selectors.pages import encode_cursor

LISTED = 50


@require_http_methods(["GET", "HEAD", "POST"])
@for_members()
def show(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show a thread; on POST, write to the applicant."""
    is_sent = request.method == "POST"
    action = WRITE if is_sent else Action.READ_JOB
    member, seen = received_application(request, application_id, action)
    job = read_job(seen.application.job_id)
    text = "" if is_sent else _text_of_template(request, member, seen, job)
    form = MessageForm(request, job, is_sent=is_sent, text=text)
    if is_sent and form.is_valid() and _send(request, member, form, application_id):
        messages.success(request, _("Sent."))
        return redirect("application_messages", application_id)
    before = page_urls.read_place(request, "before", datetime, UUID)
    page = threads.read_thread(application_id, before=(before[0], before[1]) if before else None)
    context = {
        "member": member,
        "seen": seen,
        "application": seen.application,
        "job": job,
        "form": form,
        "may_write": member.may(WRITE),
        "can_be_written_to": not seen.application.verify_by and bool(seen.address),
        "templates": templates.read_all(member.company.id) if member.may(WRITE) else [],
        "answers_by_email": bool(settings.REPLY_ADDRESS),
        **thread_context(request, page, Side.COMPANY),
    }
    if form.is_bound:
        return render(request, "correspondence/company_thread.html", context, status=422)
    return live_page(
        request,
        "correspondence/company_thread.html",
        "correspondence/_thread.html",
        build=lambda: context,
        tag=thread_tag(context),
        jobs=[job.id],
    )


def thread_context(request: HttpRequest, page: Any, reader: str) -> dict[str, Any]:
    """Return the messages of a page of a thread as context, oldest first."""
    rows = page.rows
    unread = [each for each in rows if each.row.read_at is None and each.row.side != reader]
    older = rows and page.more and encode_cursor(rows[-1].row.written_at, rows[-1].row.id)
    return {
        "thread": rows[::-1],
        "unread": unread,
        "newest": rows[0].row.id if rows else "",
        "older_url": page_urls.change_query(request, before=older) if older else "",
        "newest_url": request.path if "before" in request.GET else "",
        "reads_as_company": reader == Side.COMPANY,
    }


def thread_tag(context: dict[str, Any]) -> str:
    """Return a cache tag of what pages show of a thread."""
    shown = [
        (each.row.id, each.row.read_at, each.row.email_state, [file.state for file in each.files])
        for each in context["thread"]
    ]
    return f"{shown}{context['older_url']}"


def _text_of_template(request: HttpRequest, member: Member, seen: SeenApplication, job: Job) -> str:
    """Return the text of the template that the URL names, for this person."""
    chosen = page_urls.read_id(request, "template")
    found = [each for each in templates.read_all(member.company.id) if each.id == chosen]
    if chosen is None or not found:
        return ""
    name, title, company = seen.application.name, job.posting.title, member.company.name
    return templates.fill(found[0].text, Values(name, title, company, member.user.name or company))


def _send(request: HttpRequest, member: Member, form: MessageForm, application_id: UUID) -> bool:
    """Send the message of a valid form; a refusal is then in the form."""
    draft = Draft(
        text=form.cleaned_data["text"],
        author_id=member.user.id,
        upload_ids=form.cleaned_data["files"],
        holder=holder_of_browser(request),
        seen=read_until(request),
    )
    return write_message(form, application_id, Side.COMPANY, draft)


def write_message(
    form: MessageForm, application_id: UUID, side: ApplicationMessage.Side, draft: Draft
) -> bool:
    """Write a message; return False and say why in the form if it is refused."""
    try:
        threads.write(application_id=application_id, side=side, draft=draft)
    except LineError as error:
        form.add_error(None, str(error))
        return False
    return True


@require_POST
@for_members(WRITE)
def mark_read(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Note that the company has read what the page shows."""
    received_application(request, application_id, WRITE)
    until = read_until(request)
    if until:
        threads.mark_read(application_id=application_id, reader=Side.COMPANY, until=until)
    return redirect("application_messages", application_id)


def read_until(request: HttpRequest) -> UUID | None:
    """Return the last message that the page of a form has shown."""
    try:
        return UUID(request.POST.get("until", ""))
    except ValueError:
        return None


@require_safe
@for_members()
def list_threads(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """List a job's threads, those with unread messages first."""
    member, job = own_job(request, job_id)
    start = min(page_urls.read_seq(request, "start") or 0, 100_000)
    page = threads.read_threads_of_job(job_id, start=start, limit=LISTED)
    context: dict[str, Any] = {
        "member": member,
        "job": job,
        "tab": "messages",
        "threads": page.rows,
        "may_write": member.may(WRITE),
        "bulks": bulk.read_latest(job_id),
        "next_url": page_urls.change_query(request, start=start + LISTED) if page.more else "",
        "first_url": request.path if start else "",
    }
    tag = [(each.message.id, each.unread) for each in page.rows]
    return live_page(
        request,
        "correspondence/threads.html",
        "correspondence/_threads.html",
        build=lambda: context,
        tag=f"{tag}{[(each.id, each.finished_at) for each in context['bulks']]}",
        jobs=[job_id],
    )
