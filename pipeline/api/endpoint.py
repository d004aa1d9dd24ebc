"""Base class of the API's endpoints, and the responses that they share."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from typing import Any, ClassVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.http import http_date
from rest_framework.exceptions import AuthenticationFailed, NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.status import HTTP_429_TOO_MANY_REQUESTS
from rest_framework.views import APIView

from pipeline.api import idempotency, parameters, throttles
from pipeline.api.auth import CompanyCaller, PortalCaller, caller_of
from pipeline.api.conditional import answer_if_changed, weak_etag
from pipeline.api.openapi.schemas import OPERATION, Operation
from pipeline.api.parameters import MOST_BYTES, bind_page, next_page_link, refuse_unparsable_body
from pipeline.integrations.request_log import RequestNote, request_log


class Endpoint(APIView):
    """Base class of endpoints. Responses are private to the caller and say so to caches."""

    http_method_names = ("get", "head", "post", "put", "patch", "delete")

    # Responses are stored nowhere: neither by caches nor under an Idempotency-Key.
    answers_hold_secrets: ClassVar[bool] = False

    most_bytes: ClassVar[int] = MOST_BYTES  # the longest accepted body
    # Methods that read what the URL names themselves, instead of together with the credential.
    without_facts: ClassVar[frozenset[str]] = frozenset()

    # The names in the parameters `expand` and `fields`.
    expanded: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()

    @property
    def operation(self) -> Operation | None:
        """Return the description of the requested method, if it has one."""
        method = "get" if self.request.method == "HEAD" else str(self.request.method).lower()
        operation: Operation | None = getattr(getattr(self, method, None), OPERATION, None)
        return operation

    def get_parsers(self) -> list[Any]:
        """Return the parsers of bodies. They are stateless, so all requests share them."""
        return _parts(tuple(self.parser_classes))

    def get_authenticators(self) -> list[Any]:
        """Return the shared authenticators."""
        return _parts(tuple(self.authentication_classes))

    def get_renderers(self) -> list[Any]:
        """Return the shared renderers."""
        return _parts(tuple(self.renderer_classes))

    def get_content_negotiator(self) -> Any:
        """Return the shared negotiator."""
        return _parts((self.content_negotiation_class,))[0]

    @property
    def default_response_headers(self) -> dict[str, str]:
        """Return the headers of every response. A 405 also lists the allowed methods."""
        caching = "no-store" if self.answers_hold_secrets else "private, no-cache"
        vary = "Authorization, Cookie, Accept-Language"
        headers = {"Vary": vary, "Cache-Control": caching}
        if self.allowed_methods and self.request.method not in self.allowed_methods:
            headers["Allow"] = ", ".join(self.allowed_methods)
        return headers

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer a request, and note it for the log of its key's requests."""
        began = time.perf_counter()
        response = super().dispatch(request, *args, **kwargs)
        if request_log.is_on:
            note_request(request, response, time.perf_counter() - began)
        return response

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse an unreadable body first.

        Then check the caller, the rate limits, and whether this request was answered before.
        """
        refuse_unparsable_body(request, self.most_bytes)
        super().initial(request, *args, **kwargs)
        if request.META.get("QUERY_STRING") and (operation := self.operation):
            self.expanded = parameters.selected_names(request, operation, parameters.EXPAND)
            self.fields = parameters.selected_names(request, operation, parameters.FIELDS)
        if request.method in self.allowed_methods:
            idempotency.begin_idempotent(request, self.digest_body)

    def digest_body(self, request: Request) -> str:
        """Return the digest by which a repeated request is known."""
        return sha256(request._request.body).hexdigest()

    def perform_authentication(self, request: Request) -> None:
        """Authenticate the caller. Wrong credentials count against the client's address."""
        try:
            super().perform_authentication(request)
        except AuthenticationFailed:
            throttles.count_call(request, None)
            raise

    def check_throttles(self, request: Request) -> None:
        """Count the call. Raises Throttled."""
        throttles.count_call(request, caller_of(request))

    def handle_exception(self, exc: Exception) -> HttpResponseBase:  # type: ignore[override]
        """Return the response to an exception, or the kept response to a repeated request."""
        if isinstance(exc, idempotency.Answered):
            return exc.response
        return super().handle_exception(exc)

    def finalize_response(  # type: ignore[override]
        self, request: Request, response: HttpResponseBase, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        """Add headers to a response, leave out unwanted fields, and keep it under its key."""
        if self.fields and isinstance(response, Response) and response.status_code == 200:
            response.data = parameters.selected_payload(response.data, self.fields)
        final = super().finalize_response(request, response, *args, **kwargs)  # type: ignore[arg-type]
        idempotency.finish_idempotent(request, final, secret=self.answers_hold_secrets)
        throttles.add_headers(request, final)
        if operation := self.operation:
            add_deprecation_headers(request, operation, final)
        return final


class NothingHereEndpoint(Endpoint):
    """Answers 404 for every unknown URL under /api/."""

    authentication_classes = ()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Answer 404 to any method. Raises NotFound."""
        raise NotFound


def note_request(request: HttpRequest, response: HttpResponseBase, seconds: float) -> None:
    """Note the request of a key, or of a portal token that a key made; no other.

    Answers with 429 are not noted: rates limit a key's other requests, but not those.
    """
    if response.status_code == HTTP_429_TOO_MANY_REQUESTS:
        return
    caller: Any = request.__dict__.get("user")  # set once the credential has proved valid
    is_portal = type(caller) is PortalCaller
    key_id = caller.key_id if is_portal or type(caller) is CompanyCaller else None
    if key_id is not None:
        request_log.note_request(
            RequestNote(
                key_id,
                is_portal,
                request.method or "",
                request.path,
                response.status_code,
                getattr(request, "request_id", ""),
                seconds,
                time.monotonic(),
            )
        )


@cache
def _parts(classes: tuple[type, ...]) -> list[Any]:
    return [each() for each in classes]


def read_body(request: Request, shape: type[Serializer[Any]], **options: Any) -> dict[str, Any]:
    """Return the request's body in the given shape. Raises ValidationError, ParseError."""
    data = request.data
    if not options:
        # A shared serializer, never bound to a request: making fields costs more than validating.
        # The one below reports errors as the framework does.
        with suppress(ValidationError):
            return dict(_parts((shape,))[0].run_validation(data))
    serializer = shape(data=data, **options)
    serializer.is_valid(raise_exception=True)
    return serializer.validated_data


def answer_page(request: Request, payload: Mapping[str, Any]) -> Response:
    """Return a page of a list, with the link to the next one."""
    page = bind_page(request, payload)
    return Response(page, headers=next_page_link(request, page["next_cursor"]))


def answer_read(request: Request, payload: Mapping[str, Any], version: str = "") -> Response:
    """Answer a read with a weak ETag and, for a list, the link to the next page.

    `version`: the payload's ETag; computed from the payload if there is none.
    """
    if "next_cursor" in payload:
        payload = bind_page(request, payload)
    response = answer_if_changed(request, payload, version or weak_etag(payload))
    for name, value in next_page_link(request, payload.get("next_cursor")).items():
        response[name] = value
    return response


# Deprecated names that are still read, and the headers that say so (RFC 9745, RFC 8594).


# When the old names were deprecated, and the earliest day on which one may no longer be read.
DEPRECATED_ON = datetime(2026, 11, 22, tzinfo=UTC)
SUNSET = datetime(2028, 12, 1, tzinfo=UTC)


def add_deprecation_headers(
    request: Request, operation: Operation, response: HttpResponseBase
) -> None:
    """Tell a client that it sent a deprecated parameter or field, and until when that works."""
    used = any(
        parameter.deprecated and parameter.name in request.query_params
        for parameter in operation.parameters
    )
    if not used and response.status_code < 400 and (old := operation.old_fields):
        used = isinstance(request.data, dict) and not old.isdisjoint(request.data)
    if used:
        response["Deprecation"] = f"@{int(DEPRECATED_ON.timestamp())}"
        response["Sunset"] = http_date(SUNSET.timestamp())
