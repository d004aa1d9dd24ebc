"""Emails about requests for a company: to the operator, and the decision to the person."""

from __future__ import annotations

from uuid import UUID, uuid5

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _

from applicants import mail
from jobs.models import CompanyRequest
from jobs.sign_up import REQUEST_EMAIL
from pipeline.notifications.messages import Message, Paragraph
from pipeline.notifications.rendering import render_email
from pipeline.wording.english import isolated
from tasks.context import Context
from tasks.registry import task_type

_NAMES = UUID("6f0f6d3c-51c5-4d0b-8d3b-6c1a0f4f7c11")


@task_type(key=REQUEST_EMAIL, owner="site", queue="email", timeout_seconds=60, max_attempts=10)
def send_request_email(context: Context, request: UUID, to_operator: bool) -> dict[str, str]:
    """Send the email about a request, if it is still true: {"outcome"}."""
    asked = CompanyRequest.objects.filter(id=request).first()
    if settings.EMAIL_BACKEND == mail.NOWHERE:
        return {"outcome": "unwanted"}
    if asked is None or to_operator == (asked.is_approved is not None):
        return {"outcome": "over"}
    to = settings.SIGN_UP_CONTACT if to_operator else asked.email
    if not to:  # the setting was emptied meanwhile
        return {"outcome": "unwanted"}
    email_id = uuid5(_NAMES, str(context.task_id))
    try:
        mail.deliver(render_email(compose_request_email(asked), to=to, email_id=email_id))
    except mail.Refused:
        return {"outcome": "refused"}
    return {"outcome": "sent"}


def compose_request_email(asked: CompanyRequest) -> Message:
    """Compose the email about a request in its present state."""
    names = {"company": isolated(asked.company_name), "email": asked.email}
    if asked.is_approved is None:
        page = settings.SITE_URL + reverse("admin:jobs_companyrequest_changelist")
        asks = _("%(email)s asks for access for %(company)s. The address is proved.") % names
        return Message(
            _("%(company)s asks for access") % names,
            (Paragraph(asks), Paragraph(_("Approve or refuse it:"), page, _("Open requests"))),
        )
    if asked.is_approved:
        page = settings.SITE_URL + reverse("account_request_login_code")
        starts = _("%(company)s can start on Next in Line. You are its owner.") % names
        how = _("Sign in with a code that we send to this address:")
        return Message(
            _("%(company)s can start on Next in Line") % names,
            (Paragraph(starts), Paragraph(how, page, _("Sign in"))),
        )
    refused = _("The people who run this site will not open an account for %(company)s.") % names
    questions = _("Questions? Write to %(contact)s.") % {"contact": settings.SIGN_UP_CONTACT}
    return Message(
        _("Your request for %(company)s") % names,
        (Paragraph(refused), *([Paragraph(questions)] if settings.SIGN_UP_CONTACT else ())),
    )
