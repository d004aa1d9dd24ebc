"""Refusals as RFC 9457 problems, by the table in `pipeline.api.problem_types`, and their pages."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import psycopg
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.module_loading import import_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe
from rest_framework import exceptions as rest
from rest_framework.exceptions import APIException
from rest_framework.response import Response

from pipeline.api.problem_type import ProblemType
from pipeline.api.problem_types import (
    ALL_PROBLEM_TYPES,
    BUSY,
    INTERNAL_ERROR,
    NOT_AUTHENTICATED,
    NOT_FOUND,
    RAISED,
    TOO_SLOW,
    VALIDATION_ERROR,
)
from pipeline.domain import errors as line
from pipeline.domain.errors import WebhookUrlRefused
from pipeline.work.start import TaskRequestRefused, TypeNotAllowed, WorkError
from tasks.errors import (
    ConfirmationNeeded,
    InvalidPayload,
    OutOfRange,
    TaskError,
    UnknownType,
    WrongStatus,
)
from tasks.errors import PayloadTooLarge as TaskPayloadTooLarge

logger = logging.getLogger(__name__)


# Refusals of background work as clients see them: the request's field and the reason.


# The engine may quote the payload.
LONGEST_WHY = 300


def background_reason(exc: BaseException | None) -> BaseException | None:
    """Return the refusal, or in a batch that of the first refused task."""
    return exc.reason if isinstance(exc, TaskRequestRefused) else exc


def background_detail(exc: BaseException | None) -> str | None:
    """Return the text of a refusal of background work, or None for any other error."""
    reason = background_reason(exc)
    if not isinstance(reason, (WorkError, TaskError)):
        return None
    if isinstance(reason, InvalidPayload):
        return _("The payload does not match the type's schema; see `errors`.")
    text = _describe_work(reason)
    return text[:1].upper() + text[1:].rstrip(".")[: LONGEST_WHY - 1] + "."


def _describe_work(reason: BaseException) -> str:
    """Return the text of a refusal. The engine's own is English, for the log."""
    match reason:
        case WorkError():
            return str(reason)
        case UnknownType(key=key, version=version):
            return _("no task type %(type)s") % {"type": f"{key}@{version}" if version else key}
        case TaskPayloadTooLarge(size_bytes=size, limit_bytes=limit):
            words = _("the payload has %(size)s bytes, the limit is %(limit)s")
            return words % {"size": size, "limit": limit}
        case OutOfRange():
            return _("%(name)s is %(value)s; it must be %(lowest)s to %(highest)s") % vars(reason)
        case WrongStatus():
            return _("task %(task_id)s is %(status)s, not %(wanted)s") % vars(reason)
        case ConfirmationNeeded(key=key):
            words = _("replaying %(type)s needs a confirmation: the type is sensitive")
            return words % {"type": key}
    return str(reason)


def background_errors(exc: BaseException | None) -> list[dict[str, str]]:
    """Return the fields that a refusal of background work names, with their JSON pointers."""
    start = f"/tasks/{exc.number}" if isinstance(exc, TaskRequestRefused) else ""
    match background_reason(exc):
        case InvalidPayload(problems=problems):
            escaped = [(path.replace("~", "~0").replace("/", "~1"), why) for path, why in problems]
            return [
                _background_error(
                    "/".join([f"{start}/payload", *(path.split(".") if path else [])]), why
                )
                for path, why in escaped
            ]
        case OutOfRange(name=name) as reason:
            return [_background_error(f"{start}/{name}", _describe_work(reason))]
        case WebhookUrlRefused() as reason:
            return [_background_error("/url", str(reason))]
        case UnknownType() | TypeNotAllowed() as reason:
            return [_background_error(f"{start}/type", _describe_work(reason))]
    return [_background_error(start, str(exc))] if start else []


def _background_error(pointer: str, why: str) -> dict[str, str]:
    return {"pointer": pointer, "code": "INVALID", "detail": why[:LONGEST_WHY]}


# Refused fields of a request, each with a JSON pointer and the reason.


# Every code that a refused field or parameter can have, and its meaning.
FIELD_CODES = {
    "BLANK": gettext_lazy("The text is empty."),
    "EMPTY": gettext_lazy("The list is empty."),
    "INVALID": gettext_lazy("The value has the wrong type or form, or does not fit the others."),
    "INVALID_CHOICE": gettext_lazy("The value is not one of the fixed choices."),
    "MAX_LENGTH": gettext_lazy("The text or list is too long, or the object has too many entries."),
    "MAX_STRING_LENGTH": gettext_lazy("The number has too many digits."),
    "MAX_VALUE": gettext_lazy("The number is too large."),
    "MIN_LENGTH": gettext_lazy("The text or list is too short."),
    "MIN_VALUE": gettext_lazy("The number is too small."),
    "NOT_A_LIST": gettext_lazy("The value is not a list."),
    "NULL": gettext_lazy("The field cannot be null."),
    "REQUIRED": gettext_lazy("The field is missing."),
    "UNKNOWN": gettext_lazy("There is no such field."),
}
# Codes of the framework for which ours is INVALID.
_OF_FRAMEWORK = {
    "DATE",
    "MAKE_AWARE",
    "NULL_CHARACTERS_NOT_ALLOWED",
    "OVERFLOW",
    "PARSE_ERROR",
    "SURROGATE_CHARACTERS_NOT_ALLOWED",
}

MOST_ERRORS = 50
LONGEST_NAME = 100


def field_errors(detail: Any) -> list[dict[str, str]]:
    """Return at most 50 refused fields of a validation error, each with its JSON pointer."""
    return list(islice(_flatten_field_errors("", detail), MOST_ERRORS))


def _flatten_field_errors(pointer: str, detail: Any) -> Iterator[dict[str, str]]:
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            whole = name == "non_field_errors"
            escaped = str(name)[:LONGEST_NAME].replace("~", "~0").replace("/", "~1")  # RFC 6901
            yield from _flatten_field_errors(pointer if whole else f"{pointer}/{escaped}", inner)
    elif isinstance(detail, list):
        for number, inner in enumerate(detail):
            inside = isinstance(inner, Mapping)  # the index of an object in a list
            yield from _flatten_field_errors(f"{pointer}/{number}" if inside else pointer, inner)
    else:
        code = str(getattr(detail, "code", "invalid")).upper()
        code = "INVALID" if code in _OF_FRAMEWORK else code
        yield {"pointer": pointer, "code": code, "detail": str(detail)}


# Errors of the API itself, raised before a request reaches the line.


class PreconditionFailed(APIException):
    """None of the versions that the client named is current."""

    default_detail = gettext_lazy("The job has changed since you read it; read it again.")


class PreconditionRequired(APIException):
    """A change that requires If-Match came without it."""

    default_detail = gettext_lazy("Send If-Match with the ETag of the job as you read it.")


class PayloadTooLarge(APIException):
    """The body is too long."""

    default_detail = gettext_lazy("The body of a request can have at most 1 MB.")


class WrongCode(APIException):
    """A code is wrong, used, expired or guessed at too often. Clients do not learn which."""

    default_detail = gettext_lazy("This code is not valid for this address. Ask for a new one.")


class LengthRequired(APIException):
    """The body comes in chunks, without its length."""

    default_detail = gettext_lazy("Send the length of the body in Content-Length.")


class IdempotencyKeyReused(APIException):
    """The key was used for another request."""

    default_detail = gettext_lazy(
        "This Idempotency-Key was used for another request. Send a new one."
    )


class IdempotencyKeyInUse(APIException):
    """The first request with this key is still running."""

    default_detail = gettext_lazy("The first request with this Idempotency-Key is still running.")


MEDIA_TYPE = "application/problem+json"


# The problem type of each exception, with those that the table can only name.
PROBLEM_TYPES: dict[type[Exception], ProblemType] = {
    import_string(error) if isinstance(error, str) else error: kind
    for error, kind in RAISED.items()
}


def respond(exc: Exception, context: Mapping[str, Any]) -> Response:
    """Return the response to an exception in a view (the framework's EXCEPTION_HANDLER).

    An unexpected exception is logged with its traceback; the response reveals nothing about it.
    """
    kind = classify(exc)
    if kind.status >= 500:
        severity = logging.ERROR if kind is INTERNAL_ERROR else logging.WARNING
        trace = None if kind is BUSY else exc
        logger.log(severity, "%s: %s", kind.code, type(exc).__name__, exc_info=trace)
    headers = build_headers(kind, exc)
    body = build_body(kind, context["request"], exc)
    return Response(body, kind.status, headers=headers, content_type=MEDIA_TYPE)


def classify(exc: BaseException | None) -> ProblemType:
    """Return the problem type of an exception."""
    if isinstance(exc, OperationalError) and isinstance(
        exc.__cause__, psycopg.errors.LockNotAvailable
    ):
        return BUSY
    if is_timeout(exc):
        return TOO_SLOW
    ancestors = type(background_reason(exc)).__mro__
    return next(
        (PROBLEM_TYPES[each] for each in ancestors if each in PROBLEM_TYPES), INTERNAL_ERROR
    )


def is_timeout(exc: BaseException | None) -> bool:
    """Return whether the database cancelled a statement that took too long."""
    return isinstance(exc, OperationalError) and isinstance(
        exc.__cause__, psycopg.errors.QueryCanceled
    )


def build_body(
    kind: ProblemType, request: HttpRequest, exc: BaseException | None = None
) -> dict[str, Any]:
    """Return a problem's body, with the short envelope as the last member."""
    detail = _detail(kind, exc)
    return {
        "type": kind.type,
        "title": str(kind.title),
        "status": kind.status,
        "detail": detail,
        "code": kind.code,
        "request_id": getattr(request, "request_id", None),
        "errors": _errors(exc),
        "existing_id": exc.facts.get("existing_id") if isinstance(exc, line.LineError) else None,
        "error": {"code": kind.code, "message": detail},
    }


def _errors(exc: BaseException | None) -> list[dict[str, str]]:
    if isinstance(exc, rest.ValidationError):
        return field_errors(exc.detail)
    if isinstance(exc, line.RequirementNotMet):
        return field_errors({"answers": {exc.facts["question"]: [str(exc)]}})
    if isinstance(exc, line.ConsentMissing):
        return field_errors({"consents": {str(id): [str(exc)] for id in exc.facts["missing"]}})
    return background_errors(exc)


def build_headers(kind: ProblemType, exc: BaseException | None = None) -> dict[str, str]:
    """Return the headers that belong to a problem."""
    headers = {}
    if kind is NOT_AUTHENTICATED:
        headers["WWW-Authenticate"] = "Bearer"
    wait = getattr(background_reason(exc), "wait", None) or kind.retry_after_seconds
    if wait:
        headers["Retry-After"] = str(round(wait))
    return headers


def _detail(kind: ProblemType, exc: BaseException | None) -> str:
    if kind is not NOT_FOUND and (told := background_detail(exc)):
        return told
    if isinstance(exc, line.LineError):
        return str(exc)
    if isinstance(exc, WrongCode):
        return str(exc.detail)
    if not kind.detail and isinstance(exc, rest.APIException):
        return str(exc.detail)
    # Translators: the title of a problem as a sentence.
    return str(kind.detail) or _("%(title)s.") % {"title": kind.title}


# Pages at the URIs of problems: when each occurs, and how to react.


KINDS = {kind.slug: kind for kind in ALL_PROBLEM_TYPES}


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List every kind of problem, with a link to its page."""
    rows = [(kind, _mark_code(kind.about)) for kind in ALL_PROBLEM_TYPES]
    return render(request, "api/problems.html", {"rows": rows})


@require_safe
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """Explain one kind of problem, with an example. Raises Http404."""
    kind = KINDS.get(slug)
    if kind is None:
        raise Http404
    example = build_body(kind, request)
    context = {
        "kind": kind,
        "about": _mark_code(kind.about),
        "remedy": _mark_code(kind.remedy),
        "example": [
            (name, example[name]) for name in ("type", "title", "status", "code", "detail")
        ],
        "field_codes": FIELD_CODES.items() if kind is VALIDATION_ERROR else (),
    }
    return render(request, "api/problem.html", context)


def _mark_code(text: str | Promise) -> SafeString:
    """Mark up the parts of a text between backticks as code."""
    parts = enumerate(str(text).split("`"))
    return format_html_join(
        "",
        "{}",
        ((format_html("<code>{}</code>", part) if number % 2 else part,) for number, part in parts),
    )
