"""Endpoints for the messages of an application, for its company."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, TypedDict
from uuid import UUID

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.auth import caller_of, received_application
from pipeline.api.endpoint import Endpoint, answer_read, read_body
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.parameters import PAGED
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.parameters import page_cursor_place, page_limit, paginated
from pipeline.api.problem_types import (
    FILE_NOT_ACCEPTED,
    INVALID_TRANSITION,
    LIMIT_REACHED,
    MESSAGES_NOT_POSSIBLE,
    NOT_FOUND,
    UPLOAD_EXPIRED,
)
from pipeline.api.v1.fields import Id, Letter, Shape
from pipeline.api.v1.outputs import PageOf
from pipeline.api.v1.uploads import FileOut, file_out, holder_of_caller
from pipeline.correspondence import threads
from pipeline.correspondence.threads import WRITE, Draft, ShownMessage, Side, Way
from pipeline.domain.permissions import Action
from pipeline.models import MESSAGE_LENGTH, EmailState
from pipeline.selectors.pages import encode_cursor


class MessageIn(Shape):
    """A message to the applicant, with uploads as its files."""

    text = Letter(max_length=MESSAGE_LENGTH)
    upload_ids = serializers.ListField(child=Id(), required=False, default=list, max_length=20)


class MessageOut(TypedDict):
    """A message of an application's thread.

    `author`: the member of the company who wrote it, by the name they gave; `null` for an
    applicant's message or a key's. `unproved`: why an email is not shown as the applicant's own:
    anyone may have written it; `sender` is then the address that it names. `read_at`: when the
    other side read it.
    """

    id: UUID
    application_id: UUID
    side: Annotated[str, Side]
    way: Annotated[str, Way]
    author: str | None
    text: str
    files: list[FileOut]
    unproved: Annotated[str, threads.Unproved] | None
    sender: str | None
    email_state: Annotated[str, EmailState] | None
    email_problem: str | None
    written_at: datetime
    read_at: datetime | None


class Messages(Endpoint):
    """`/applications/{id}/messages`"""

    @describes(
        "list_application_messages",
        Tag.APPLICATIONS,
        Action.READ_JOB,
        PageOf[MessageOut],
        parameters=PAGED,
        tagged=True,
    )
    def get(self, request: Request, application_id: UUID) -> Response:
        """List the messages between the company and the applicant, newest first."""
        received_application(caller_of(request), application_id, Action.READ_JOB)
        before: Any = page_cursor_place(request, datetime, UUID)
        page = threads.read_thread(application_id, before=before, limit=page_limit(request))
        return answer_read(
            request,
            paginated(
                page, message_out, lambda each: encode_cursor(each.row.written_at, each.row.id)
            ),
        )

    @describes(
        "send_message",
        Tag.APPLICATIONS,
        WRITE,
        MessageOut,
        status=201,
        located=False,
        takes=(MessageIn,),
        refuses=(
            MESSAGES_NOT_POSSIBLE,
            FILE_NOT_ACCEPTED,
            LIMIT_REACHED,
            NOT_FOUND,
            INVALID_TRANSITION,
            UPLOAD_EXPIRED,
        ),
        about="The applicant gets it by email, and answers on their page or, where the site takes"
        " answers by email, by answering it. The company has then read what was there before.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Write to the applicant."""
        caller, facts = received_application(caller_of(request), application_id, WRITE)
        given = read_body(request, MessageIn)
        draft = Draft(
            id=idempotent_row_id(request),
            text=given["text"],
            way=Way.API,
            author_id=caller.actor_id if caller.role else None,
            upload_ids=given["upload_ids"],
            holder=holder_of_caller(caller),
        )
        row = threads.write(application_id=facts.id, side=Side.COMPANY, draft=draft)
        [shown] = threads.with_files(facts.id, [row])
        return Response(message_out(shown), status=201)


def message_out(shown: ShownMessage) -> MessageOut:
    """Return a message for clients."""
    row = shown.row
    return {
        "id": row.id,
        "application_id": row.application_id,
        "side": row.side,
        "way": row.way,
        "author": shown.author_name or None,
        "text": row.text,
        "files": [file_out(each) for each in shown.files],
        "unproved": row.unproved or None,
        "sender": row.sender or None,
        "email_state": row.email_state or None,
        "email_problem": row.email_problem or None,
        "written_at": row.written_at,
        "read_at": row.read_at,
    }
