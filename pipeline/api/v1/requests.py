"""Endpoints for the log of a key's requests."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from jobs import keys
from pipeline.api import parameters
from pipeline.api.auth import authorize_company, caller_of
from pipeline.api.endpoint import Endpoint, answer_page
from pipeline.api.openapi.parameters import PAGED, STATUS_CLASS
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.parameters import page_cursor_number, page_limit, paginated
from pipeline.api.v1.outputs import Count, PageOf
from pipeline.domain.permissions import Action
from pipeline.integrations import request_log
from pipeline.integrations.request_log import StatusClass
from pipeline.models import RequestRecord
from pipeline.selectors.pages import encode_cursor

ABOUT = (
    "Kept for seven days. A request appears within about a second; one that is missing was"
    " refused before its key was known, answered with 429, or answered in the last second"
    " before a crash."
)


class RequestRecordOut(TypedDict):
    """One request of a key, or of a portal token that the key made. Without its query and body."""

    at: datetime
    method: str
    path: str
    status: int
    duration_ms: Count
    request_id: str
    is_portal: bool


def record_out(record: RequestRecord) -> RequestRecordOut:
    """Return a request of a key."""
    return {
        "at": record.at,
        "method": record.method,
        "path": record.path,
        "status": record.status,
        "duration_ms": record.duration_ms,
        "request_id": record.request_id,
        "is_portal": record.is_portal,
    }


class OwnRequests(Endpoint):
    """`/companies/me/requests`"""

    @describes(
        "list_own_requests",
        Tag.COMPANIES,
        Action.READ_OWN_REQUESTS,
        PageOf[RequestRecordOut],
        parameters=(STATUS_CLASS, *PAGED),
        about=ABOUT,
    )
    def get(self, request: Request) -> Response:
        """List the requests of the key that is used, newest first."""
        caller = authorize_company(caller_of(request), Action.READ_OWN_REQUESTS)
        return _answer(request, caller.actor_id)


class RequestsOfApiKey(Endpoint):
    """`/api-keys/{id}/requests`"""

    @describes(
        "list_requests_of_api_key",
        Tag.COMPANIES,
        Action.MANAGE_KEYS,
        PageOf[RequestRecordOut],
        parameters=(STATUS_CLASS, *PAGED),
        about=ABOUT,
    )
    def get(self, request: Request, key_id: UUID) -> Response:
        """List the requests of one of the company's keys, newest first."""
        caller = authorize_company(caller_of(request), Action.MANAGE_KEYS)
        return _answer(request, keys.read(caller.company_id, key_id).id)


def _answer(request: Request, key_id: UUID) -> Response:
    page = request_log.read_page(
        key_id,
        status_class=parameters.choice(request, "status_class", StatusClass),
        after=page_cursor_number(request),
        limit=page_limit(request),
    )
    return answer_page(
        request, paginated(page, record_out, lambda record: encode_cursor(record.id))
    )
