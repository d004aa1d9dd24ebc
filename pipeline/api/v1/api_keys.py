"""Endpoints for a company's API keys, and the log of a key's requests.

Only the owners of a company manage keys; no key can.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypedDict
from uuid import UUID

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import keys
from jobs.errors import JobsNotOfCompany
from jobs.keys import MOST_KEY_DAYS
from jobs.models import MOST_JOBS_OF_KEY, USUAL_SCOPES, ApiKey, Scope
from jobs.models import NAME_LENGTH as KEY_NAME_LENGTH
from pipeline.api import parameters
from pipeline.api.auth import authorize_company, caller_of, require_recent_authentication
from pipeline.api.endpoint import Endpoint, answer_page, read_body
from pipeline.api.openapi.parameters import PAGED, STATUS_CLASS
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.parameters import page_cursor_id, page_cursor_number, page_limit, paginated
from pipeline.api.v1.fields import Choice, Choices, Id, Name, Nothing, Shape, Whole
from pipeline.api.v1.outputs import Count, PageOf
from pipeline.domain.permissions import Action
from pipeline.integrations import request_log
from pipeline.integrations.request_log import StatusClass
from pipeline.models import RequestRecord
from pipeline.selectors.pages import Page, encode_cursor


class ApiKeyIn(Shape):
    """A new key: a name that people recognise it by, and its permissions."""

    name = Name(max_length=KEY_NAME_LENGTH)
    scopes = Choices(
        child=Choice(choices=Scope.values),
        allow_empty=False,
        default=[scope.value for scope in USUAL_SCOPES],
    )
    expires_in_days = Whole(min_value=1, max_value=MOST_KEY_DAYS, allow_null=True, default=None)
    job_ids = serializers.ListField(
        child=Id(),
        allow_empty=False,
        max_length=MOST_JOBS_OF_KEY,
        allow_null=True,
        default=None,
    )


class ApiKeyOut(TypedDict):
    """An API key, as its company's owners see it, without its secret."""

    id: UUID
    hint: str
    name: str
    scopes: list[Annotated[str, Scope]]
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None
    expires_at: datetime | None
    job_ids: list[UUID] | None


class NewApiKeyOut(ApiKeyOut):
    """A new key with its secret, which can be read only now."""

    key: str


def api_key_out(key: ApiKey) -> ApiKeyOut:
    """Return a key as its company's owners see it: its first characters, never its secret."""
    return {
        "id": key.id,
        "hint": key.hint,
        "name": key.name,
        "scopes": list(key.scopes),
        "created_at": key.created_at,
        "last_used_at": key.last_used_at,
        "revoked_at": key.revoked_at,
        "expires_at": key.expires_at,
        "job_ids": key.job_ids,
    }


class ApiKeys(Endpoint):
    """`/api-keys`"""

    answers_hold_secrets = True

    @describes(
        "list_api_keys", Tag.COMPANIES, Action.MANAGE_KEYS, PageOf[ApiKeyOut], parameters=PAGED
    )
    def get(self, request: Request) -> Response:
        """List the company's keys, newest first, including revoked ones. Secrets are not kept."""
        caller = authorize_company(caller_of(request), Action.MANAGE_KEYS)
        after, limit = page_cursor_id(request), page_limit(request)
        page = Page.cut(keys.read_page(caller.company_id, after=after, most=limit + 1), limit)
        return answer_page(
            request,
            paginated(page, api_key_out, lambda key: encode_cursor(str(key.id))),
        )

    @describes(
        "create_api_key",
        Tag.COMPANIES,
        Action.MANAGE_KEYS,
        NewApiKeyOut,
        status=201,
        takes=(ApiKeyIn,),
        about="Only the jobs in `job_ids` exist for a key that names some: everything else of the"
        " company is missing from its lists and feeds, and 404 or, where it would change something,"
        " 403. Without `job_ids`, the key is for the whole company. The member must have"
        " confirmed their identity within the last ten minutes,"
        " with their password or, if the account has one, the second step; otherwise 403.",
    )
    def post(self, request: Request) -> Response:
        """Create a key: 201. Only this response shows it."""
        caller = authorize_company(caller_of(request), Action.MANAGE_KEYS)
        given = read_body(request, ApiKeyIn)
        scopes = [Scope(each) for each in given["scopes"]]
        require_recent_authentication(request)
        try:
            row, key = keys.create(
                company_id=caller.company_id,
                name=given["name"],
                scopes=scopes,
                expires_in_days=given["expires_in_days"],
                job_ids=given["job_ids"] or (),
                by=caller.actor_id,
            )
        except JobsNotOfCompany as error:
            raise ValidationError({"job_ids": [ErrorDetail(str(error), "invalid")]}) from None
        where = {"Location": f"{request.path}/{row.id}"}
        return Response({**api_key_out(row), "key": key}, status=201, headers=where)


class OneApiKey(Endpoint):
    """`/api-keys/{id}`"""

    @describes("delete_api_key", Tag.COMPANIES, Action.MANAGE_KEYS, None, status=204)
    def delete(self, request: Request, key_id: UUID) -> Response:
        """Revoke a key. Repeating it is harmless."""
        _revoke(request, key_id)
        return Response(status=204)


class RevokeApiKey(Endpoint):
    """`/api-keys/{id}/revoke`"""

    @describes("revoke_api_key", Tag.COMPANIES, Action.MANAGE_KEYS, ApiKeyOut, takes=(Nothing,))
    def post(self, request: Request, key_id: UUID) -> Response:
        """Revoke a key, and return it. Repeating it is harmless."""
        read_body(request, Nothing)
        return Response(api_key_out(_revoke(request, key_id)))


def _revoke(request: Request, key_id: UUID) -> ApiKey:
    caller = authorize_company(caller_of(request), Action.MANAGE_KEYS)
    return keys.revoke(company_id=caller.company_id, key_id=key_id, by=caller.actor_id)


# Endpoints for the log of a key's requests.


ABOUT_REQUESTS = (
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
        about=ABOUT_REQUESTS,
    )
    def get(self, request: Request) -> Response:
        """List the requests of the key that is used, newest first."""
        caller = authorize_company(caller_of(request), Action.READ_OWN_REQUESTS)
        return _answer_requests(request, caller.actor_id)


class RequestsOfApiKey(Endpoint):
    """`/api-keys/{id}/requests`"""

    @describes(
        "list_requests_of_api_key",
        Tag.COMPANIES,
        Action.MANAGE_KEYS,
        PageOf[RequestRecordOut],
        parameters=(STATUS_CLASS, *PAGED),
        about=ABOUT_REQUESTS,
    )
    def get(self, request: Request, key_id: UUID) -> Response:
        """List the requests of one of the company's keys, newest first."""
        caller = authorize_company(caller_of(request), Action.MANAGE_KEYS)
        return _answer_requests(request, keys.read(caller.company_id, key_id).id)


def _answer_requests(request: Request, key_id: UUID) -> Response:
    page = request_log.read_page(
        key_id,
        status_class=parameters.choice(request, "status_class", StatusClass),
        after=page_cursor_number(request),
        limit=page_limit(request),
    )
    return answer_page(
        request, paginated(page, record_out, lambda record: encode_cursor(record.id))
    )
