"""Endpoints for the emails about an application: their states, and sending one again."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, TypedDict
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.access import received_application
from pipeline.api.callers import caller_of
from pipeline.api.endpoint import Endpoint, endpoint_answer, endpoint_body
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.parameters import PAGED
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.pagination import page_cursor_place, page_limit, paginated
from pipeline.api.problem_types import EMAIL_NOT_REPEATABLE
from pipeline.api.v1.fields import Nothing
from pipeline.api.v1.outputs import Count, DetailOut, PageOf
from pipeline.domain.permissions import Action
from pipeline.models import EmailState
from pipeline.notifications.repeat import repeat_email
from pipeline.selectors.cursors import encode_cursor
from pipeline.selectors.emails import ShownEmail, emails_page_of_application

AGAIN = "The email is on its way again."


class EmailOut(TypedDict):
    """An email to the applicant, without its text."""

    id: UUID
    kind: str
    title: str
    seq: Count
    repetition: Count
    state: Annotated[str, EmailState]
    problem: str | None
    problem_detail: str | None
    may_repeat: bool
    created_at: datetime
    state_at: datetime


class ApplicationEmails(Endpoint):
    """`/applications/{id}/emails`"""

    @describes(
        "list_application_emails",
        Tag.APPLICATIONS,
        Action.READ_COMPANY,
        PageOf[EmailOut],
        parameters=PAGED,
        tagged=True,
        about="For the company. `problem` is a code: the mail server's number, or `OVER`,"
        " `UNREACHABLE`, `TOO_MANY`, `UNSUPPORTED`, `BAD_ADDRESS`, `REFUSED`, `BOUNCED` or"
        " `COMPLAINED`.",
    )
    def get(self, request: Request, application_id: UUID) -> Response:
        """List the emails about an application and their states, newest first."""
        received_application(caller_of(request), application_id, Action.READ_COMPANY)
        after: Any = page_cursor_place(request, datetime, UUID)
        page = emails_page_of_application(application_id, after=after, limit=page_limit(request))
        rows = paginated(page, email_out, lambda sent: encode_cursor(sent.row.created_at, sent.id))
        return endpoint_answer(request, rows)


class SendEmailAgain(Endpoint):
    """`/applications/{id}/emails/{id}/send-again`"""

    @describes(
        "send_email_again",
        Tag.APPLICATIONS,
        Action.DECIDE,
        {202: DetailOut},
        takes=(Nothing,),
        refuses=(EMAIL_NOT_REPEATABLE,),
        about="It is composed again and appears in the list as a separate email. Up to five"
        " times for each email, and three in a minute for each application (429).",
    )
    def post(self, request: Request, application_id: UUID, email_id: UUID) -> Response:
        """Send an email about an application again."""
        caller, _ = received_application(caller_of(request), application_id, Action.DECIDE)
        endpoint_body(request, Nothing)
        repeat_email(
            application_id=application_id,
            email_id=email_id,
            producer=caller.producer,
            request_id=idempotent_row_id(request),
        )
        return Response({"detail": AGAIN}, status=202)


def email_out(email: ShownEmail) -> EmailOut:
    """Return an email as the company's programs see it."""
    row = email.row
    return {
        "id": row.id,
        "kind": row.kind,
        "title": email.title,
        "seq": row.seq,
        "repetition": row.number,
        "state": row.state,
        "problem": row.problem or None,
        "problem_detail": email.problem or None,
        "may_repeat": email.may_repeat,
        "created_at": row.created_at,
        "state_at": row.state_at,
    }
