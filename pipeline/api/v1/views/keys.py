"""A company's API keys, for its owners. No key can make, list or end keys."""

from __future__ import annotations

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import ApiKey, Scope
from jobs.selectors import keys_of
from jobs.services import create_api_key, revoke_api_key
from pipeline.api import pagination
from pipeline.api.access import as_company
from pipeline.api.callers import caller_of
from pipeline.api.endpoint import Endpoint, body_of, page_answer
from pipeline.api.openapi.parameters import PAGED
from pipeline.api.schema import Tag, describes
from pipeline.api.v1.serializers.inputs import ApiKeyIn, Nothing
from pipeline.api.v1.serializers.outputs import api_key_out
from pipeline.api.v1.serializers.shapes import ApiKeyOut, NewApiKeyOut, PageOf
from pipeline.domain.permissions import Action
from pipeline.selectors.paging import Page


class ApiKeys(Endpoint):
    """`/api-keys`"""

    answers_hold_secrets = True

    @describes(
        "list_api_keys", Tag.COMPANIES, Action.MANAGE_KEYS, PageOf[ApiKeyOut], parameters=PAGED
    )
    def get(self, request: Request) -> Response:
        """The company's keys, newest first, revoked ones too. The keys themselves are not kept."""
        caller = as_company(caller_of(request), Action.MANAGE_KEYS)
        after, limit = pagination.id_after(request), pagination.limit_of(request)
        page = Page.cut(keys_of(caller.company_id, after=after, most=limit + 1), limit)
        return page_answer(request, pagination.listing(page, api_key_out, _cursor_after))

    @describes(
        "create_api_key",
        Tag.COMPANIES,
        Action.MANAGE_KEYS,
        NewApiKeyOut,
        status=201,
        takes=(ApiKeyIn,),
    )
    def post(self, request: Request) -> Response:
        """Make a key: 201. This answer is the only one that ever shows it."""
        caller = as_company(caller_of(request), Action.MANAGE_KEYS)
        given = body_of(request, ApiKeyIn)
        scopes = [Scope(each) for each in given["scopes"]]
        row, key = create_api_key(company_id=caller.company_id, name=given["name"], scopes=scopes)
        where = {"Location": f"{request.path}/{row.id}"}
        return Response({**api_key_out(row), "key": key}, status=201, headers=where)


class OneApiKey(Endpoint):
    """`/api-keys/{id}`"""

    @describes("delete_api_key", Tag.COMPANIES, Action.MANAGE_KEYS, None, status=204)
    def delete(self, request: Request, key_id: UUID) -> Response:
        """Revoke a key. Once more is harmless."""
        _revoke(request, key_id)
        return Response(status=204)


class RevokeApiKey(Endpoint):
    """`/api-keys/{id}/revoke`"""

    @describes("revoke_api_key", Tag.COMPANIES, Action.MANAGE_KEYS, ApiKeyOut, takes=(Nothing,))
    def post(self, request: Request, key_id: UUID) -> Response:
        """Revoke a key, and show it as it is then. Once more is harmless."""
        body_of(request, Nothing)
        return Response(api_key_out(_revoke(request, key_id)))


def _revoke(request: Request, key_id: UUID) -> ApiKey:
    caller = as_company(caller_of(request), Action.MANAGE_KEYS)
    return revoke_api_key(company_id=caller.company_id, key_id=key_id)


def _cursor_after(key: ApiKey) -> str:
    return pagination.cursor(str(key.id))
