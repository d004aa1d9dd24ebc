"""Messages for the signed-in applicant: the thread of one application.

Only for people who have proved their address: they speak to the company in their own name.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from pipeline.correspondence import threads
from pipeline.correspondence.threads import Draft, Side
from pipeline.pages import page_urls
from pipeline.pages.access import for_signed_in_applicants, own_application
from pipeline.pages.attachments import holder_of_browser
from pipeline.pages.correspondence.company import (
    read_until,
    thread_context,
    thread_tag,
    write_message,
)
from pipeline.pages.correspondence.forms import MessageForm
from pipeline.pages.live_page import live_page
from pipeline.selectors.jobs import read_job


@require_http_methods(["GET", "HEAD", "POST"])
@for_signed_in_applicants
def show(request: HttpRequest, application_id: UUID) -> HttpResponseBase:
    """Show one's thread with a company; on POST, write to the company."""
    _person, seen = own_application(request, application_id)
    job, is_sent = read_job(seen.application.job_id), request.method == "POST"
    form = MessageForm(request, job, is_sent=is_sent)
    if is_sent and form.is_valid():
        draft = Draft(
            text=form.cleaned_data["text"],
            upload_ids=form.cleaned_data["files"],
            holder=holder_of_browser(request),
            seen=read_until(request),
        )
        if write_message(form, application_id, Side.APPLICANT, draft):
            messages.success(request, _("Sent. The company sees it on your application."))
            return redirect("my_messages", application_id)
    before = page_urls.read_place(request, "before", datetime, UUID)
    page = threads.read_thread(application_id, before=(before[0], before[1]) if before else None)
    context = {
        "application": seen.application,
        "job": job,
        "form": form,
        **thread_context(request, page, Side.APPLICANT),
    }
    if form.is_bound:
        return render(request, "correspondence/my_thread.html", context, status=422)
    return live_page(
        request,
        "correspondence/my_thread.html",
        "correspondence/_thread.html",
        build=lambda: context,
        tag=thread_tag(context),
        jobs=[job.id],
    )


@require_POST
@for_signed_in_applicants
def mark_read(request: HttpRequest, application_id: UUID) -> HttpResponseBase:
    """Note that the applicant has read what the page shows."""
    own_application(request, application_id)
    until = read_until(request)
    if until:
        threads.mark_read(application_id=application_id, reader=Side.APPLICANT, until=until)
    return redirect("my_messages", application_id)
