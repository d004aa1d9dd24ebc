"""Outbox of a sandbox: the emails that would have been sent. None of them was."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from pipeline.domain.errors import EmailNotFound
from pipeline.domain.permissions import Action
from pipeline.notifications.applicant_emails import recorded_applicant_email
from pipeline.pages.access import Member, current_member, for_members, require_access
from pipeline.pages.page_urls import page_place_in_url, page_url_with
from pipeline.selectors.cursors import encode_cursor
from pipeline.selectors.sandboxes import read_sandbox_email, read_sandbox_emails
from pipeline.wording.email_words import KIND_WORDS

EMAILS_SHOWN = 50


@require_safe
@for_members()
def sandbox_emails(request: HttpRequest) -> HttpResponse:
    """List the emails of the sandbox, latest first."""
    member = _member_reading_sandbox_emails(request)
    place = page_place_in_url(request, "after", datetime, UUID)
    after = (place[0], place[1]) if place else None
    page = read_sandbox_emails(member.company.id, after=after, limit=EMAILS_SHOWN)
    context = {
        "emails": [(each, KIND_WORDS.get(each.kind, each.kind)) for each in page.rows],
        "first_url": page_url_with(request, after=None) if after else None,
    }
    if page.more:
        last = page.rows[-1]
        place_after = encode_cursor(last.state_at, str(last.id))
        context["next_url"] = page_url_with(request, after=place_after)
    return render(request, "sandbox/emails.html", context)


@require_safe
@for_members()
def sandbox_email(request: HttpRequest, email_id: UUID) -> HttpResponse:
    """Show one email as the person would have read it."""
    member = _member_reading_sandbox_emails(request)
    email = read_sandbox_email(member.company.id, email_id)
    message = recorded_applicant_email(email)
    if message is None:  # the person was erased
        raise EmailNotFound
    may_confirm = member.may(Action.ADVANCE_CLOCK)
    context = {"email": email, "message": message, "may_confirm": may_confirm}
    response = render(request, "sandbox/email.html", context)
    response["Cache-Control"] = "private, no-store"  # its link confirms a seat
    return response


def _member_reading_sandbox_emails(request: HttpRequest) -> Member:
    """Return the member, if they act for a sandbox. Raises EmailNotFound (404)."""
    member = require_access(current_member(request), Action.READ_COMPANY)
    if not member.company.is_test:
        raise EmailNotFound
    return member
