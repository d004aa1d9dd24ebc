"""Refusals as RFC 9457 problems. One table has the kind of each exception."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import psycopg
from django.core import exceptions as django_errors
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest
from django.http.multipartparser import MultiPartParserError
from rest_framework import exceptions as rest
from rest_framework.exceptions import APIException
from rest_framework.response import Response

from jobs.errors import ApiKeyNotFound, CompanyNotFound
from pipeline.api.problem_types import (
    ACKNOWLEDGMENT_EXPIRED,
    ALREADY_CONTESTED,
    ALREADY_DECIDED,
    BACKPRESSURE,
    BUSY,
    CLOCK_LIMIT,
    CLOCK_MOVING,
    CONFIRMATION_NEEDED,
    CONTEST_ANSWERED,
    CONTEST_TOO_LATE,
    DUPLICATE_SUBMISSION,
    EMAIL_NOT_REPEATABLE,
    EXTERNAL_ID_TAKEN,
    FILES_FULL,
    IDEMPOTENCY_KEY_IN_USE,
    IDEMPOTENCY_KEY_REUSED,
    INTERNAL_ERROR,
    INVALID_FILE,
    INVALID_PAYLOAD,
    INVALID_SCHEDULE,
    INVALID_TRANSITION,
    JOB_NOT_OPEN,
    LIMIT_REACHED,
    LOG_ARCHIVED,
    MALFORMED_REQUEST,
    METHOD_NOT_ALLOWED,
    NOT_A_SANDBOX,
    NOT_ACCEPTABLE,
    NOT_AUTHENTICATED,
    NOT_CONTESTABLE,
    NOT_DEFERRABLE,
    NOT_FOUND,
    NOT_PASSABLE,
    NOT_PREACCEPTABLE,
    NOT_REINSTATABLE,
    PAYLOAD_TOO_LARGE,
    PERMISSION_DENIED,
    PERSON_ERASED,
    PRECONDITION_FAILED,
    PRECONDITION_REQUIRED,
    SANDBOX_FULL,
    THROTTLED,
    TOO_SLOW,
    TYPE_NOT_ALLOWED,
    UNAVAILABLE,
    UNKNOWN_TASK_TYPE,
    UNSUPPORTED_MEDIA_TYPE,
    VALIDATION_ERROR,
    ProblemType,
)
from pipeline.database.errors import ClusterError
from pipeline.domain import errors as line
from pipeline.domain.errors import WebhookUrlRefused
from pipeline.work import start as work
from pipeline.work.start import TaskRequestRefused, TypeNotAllowed, WorkError
from tasks import errors as tasks
from tasks.errors import InvalidPayload, OutOfRange, TaskError, UnknownType

logger = logging.getLogger(__name__)


# Refusals of background work as clients see them: the request's field and the reason.


# The engine may quote the payload.
LONGEST_WHY = 300

_DETAILS_OF_WORK: dict[type[Exception], str] = {
    InvalidPayload: "The payload does not match the type's schema; see `errors`.",
}


def background_problem_reason(exc: BaseException | None) -> BaseException | None:
    """Return the refusal, or in a batch that of the first refused task."""
    return exc.reason if isinstance(exc, TaskRequestRefused) else exc


def background_problem_detail(exc: BaseException | None) -> str | None:
    """Return the text of a refusal of background work, or None for any other error."""
    reason = background_problem_reason(exc)
    if not isinstance(reason, (WorkError, TaskError)):
        return None
    text = _DETAILS_OF_WORK.get(type(reason), str(reason))
    return text[:1].upper() + text[1:].rstrip(".")[: LONGEST_WHY - 1] + "."


def background_problem_errors(exc: BaseException | None) -> list[dict[str, str]]:
    """Return the fields that a refusal of background work names, with their JSON pointers."""
    start = f"/tasks/{exc.number}" if isinstance(exc, TaskRequestRefused) else ""
    match background_problem_reason(exc):
        case InvalidPayload(problems=problems):
            escaped = [(path.replace("~", "~0").replace("/", "~1"), why) for path, why in problems]
            return [
                _background_problem_error(
                    "/".join([f"{start}/payload", *(path.split(".") if path else [])]), why
                )
                for path, why in escaped
            ]
        case OutOfRange(name=name) as reason:
            return [_background_problem_error(f"{start}/{name}", str(reason))]
        case WebhookUrlRefused() as reason:
            return [_background_problem_error("/url", str(reason))]
        case UnknownType() | TypeNotAllowed() as reason:
            return [_background_problem_error(f"{start}/type", str(reason))]
    return [_background_problem_error(start, str(exc))] if start else []


def _background_problem_error(pointer: str, why: str) -> dict[str, str]:
    return {"pointer": pointer, "code": "INVALID", "detail": why[:LONGEST_WHY]}


# Refused fields of a request, each with a JSON pointer and the reason.


# Every code that a refused field or parameter can have, and its meaning.
FIELD_CODES = {
    "BLANK": "The text is empty.",
    "EMPTY": "The list is empty.",
    "INVALID": "The value has the wrong type or form, or does not fit the others.",
    "INVALID_CHOICE": "The value is not one of the fixed choices.",
    "MAX_LENGTH": "The text or list is too long, or the object has too many entries.",
    "MAX_STRING_LENGTH": "The number has too many digits.",
    "MAX_VALUE": "The number is too large.",
    "MIN_LENGTH": "The text or list is too short.",
    "MIN_VALUE": "The number is too small.",
    "NOT_A_LIST": "The value is not a list.",
    "NULL": "The field cannot be null.",
    "REQUIRED": "The field is missing.",
    "UNKNOWN": "There is no such field.",
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

    default_detail = "The job has changed since you read it; read it again."


class PreconditionRequired(APIException):
    """A change that requires If-Match came without it."""

    default_detail = "Send If-Match with the ETag of the job as you read it."


class PayloadTooLarge(APIException):
    """The body is too long."""

    default_detail = "The body of a request can have at most 1 MB."


class WrongCode(APIException):
    """A code is wrong, used, expired or guessed at too often. Clients do not learn which."""

    default_detail = "This code is not valid for this address. Ask for a new one."


class LengthRequired(APIException):
    """The body comes in chunks, without its length."""

    default_detail = "Send the length of the body in Content-Length."


class IdempotencyKeyReused(APIException):
    """The key was used for another request."""

    default_detail = "This Idempotency-Key was used for another request. Send a new one."


class IdempotencyKeyInUse(APIException):
    """The first request with this key is still running."""

    default_detail = "The first request with this Idempotency-Key is still running."


MEDIA_TYPE = "application/problem+json"


# The problem type of each exception. A subclass has that of its nearest listed ancestor.
PROBLEM_TYPES: dict[type[Exception], ProblemType] = {
    line.JobNotFound: NOT_FOUND,
    line.ApplicationNotFound: NOT_FOUND,
    line.ApplicantNotFound: NOT_FOUND,
    line.EmailNotFound: NOT_FOUND,
    line.AlreadyApplied: DUPLICATE_SUBMISSION,
    line.AlreadyDecided: ALREADY_DECIDED,
    line.ExternalIdTaken: EXTERNAL_ID_TAKEN,
    line.JobNotOpen: JOB_NOT_OPEN,
    line.DrawFull: LIMIT_REACHED,
    line.DrawFullOfUnverified: LIMIT_REACHED,
    line.IllegalMove: INVALID_TRANSITION,
    line.IllegalJobMove: INVALID_TRANSITION,
    line.NotReinstatable: NOT_REINSTATABLE,
    line.NotDeferrable: NOT_DEFERRABLE,
    line.NotContestable: NOT_CONTESTABLE,
    line.AlreadyContested: ALREADY_CONTESTED,
    line.ContestTooLate: CONTEST_TOO_LATE,
    line.ContestNotFound: NOT_FOUND,
    line.ContestAnswered: CONTEST_ANSWERED,
    line.NotPreacceptable: NOT_PREACCEPTABLE,
    line.NotPassable: NOT_PASSABLE,
    line.PersonErased: PERSON_ERASED,
    line.DecisionTooLate: INVALID_TRANSITION,
    line.ImportUndoTooLate: INVALID_TRANSITION,
    line.TooManyAnnotations: LIMIT_REACHED,
    line.AssigneeNotFound: VALIDATION_ERROR,
    line.EmailNotRepeatable: EMAIL_NOT_REPEATABLE,
    line.EmailRepeatedTooSoon: THROTTLED,
    line.NotASandbox: NOT_A_SANDBOX,
    line.ClockMoving: CLOCK_MOVING,
    line.ClockAtItsEnd: CLOCK_LIMIT,
    line.TooManyAdvances: CLOCK_LIMIT,
    line.SandboxFull: SANDBOX_FULL,
    line.AcknowledgmentExpired: ACKNOWLEDGMENT_EXPIRED,
    line.StaleVersion: PRECONDITION_FAILED,
    line.NoSuchMoment: NOT_FOUND,
    line.LogArchived: LOG_ARCHIVED,
    line.VerifierBusy: BUSY,
    line.LogReadersBusy: BUSY,
    line.ReceiptNotReady: BUSY,
    line.FutureMoment: VALIDATION_ERROR,
    line.UnknownPlace: VALIDATION_ERROR,
    line.StoredFileNotFound: NOT_FOUND,
    line.ImportFileRefused: INVALID_FILE,
    line.FilesFull: FILES_FULL,
    line.ScheduleNotFound: NOT_FOUND,
    line.TaskTypeNotFound: NOT_FOUND,
    line.PlannedSeatsNotFound: NOT_FOUND,
    line.PlanRefused: INVALID_SCHEDULE,
    line.DrawRefused: INVALID_SCHEDULE,
    line.TooManyPlannedSeats: LIMIT_REACHED,
    line.WebhookNotFound: NOT_FOUND,
    line.WebhookDeliveryNotFound: NOT_FOUND,
    line.WebhookUrlRefused: VALIDATION_ERROR,
    line.WebhookAlreadyMade: DUPLICATE_SUBMISSION,
    line.WebhookAlreadyRotated: DUPLICATE_SUBMISSION,
    line.TooManyWebhooks: LIMIT_REACHED,
    line.WebhookOff: INVALID_TRANSITION,
    tasks.TaskNotFound: NOT_FOUND,
    tasks.UnknownType: UNKNOWN_TASK_TYPE,
    tasks.InvalidPayload: INVALID_PAYLOAD,
    tasks.PayloadTooLarge: PAYLOAD_TOO_LARGE,
    tasks.OutOfRange: VALIDATION_ERROR,
    tasks.WrongStatus: INVALID_TRANSITION,
    tasks.ConfirmationNeeded: CONFIRMATION_NEEDED,
    tasks.BadSchedule: INVALID_SCHEDULE,
    work.TypeNotAllowed: TYPE_NOT_ALLOWED,
    work.TooManySchedules: LIMIT_REACHED,
    work.Backlogged: BACKPRESSURE,
    work.RateExceeded: THROTTLED,
    PreconditionFailed: PRECONDITION_FAILED,
    PreconditionRequired: PRECONDITION_REQUIRED,
    PayloadTooLarge: PAYLOAD_TOO_LARGE,
    LengthRequired: MALFORMED_REQUEST,
    WrongCode: NOT_AUTHENTICATED,
    ApiKeyNotFound: NOT_FOUND,
    CompanyNotFound: NOT_FOUND,
    IdempotencyKeyInUse: IDEMPOTENCY_KEY_IN_USE,
    IdempotencyKeyReused: IDEMPOTENCY_KEY_REUSED,
    rest.ValidationError: VALIDATION_ERROR,
    rest.ParseError: MALFORMED_REQUEST,
    rest.AuthenticationFailed: NOT_AUTHENTICATED,
    rest.NotAuthenticated: NOT_AUTHENTICATED,
    rest.PermissionDenied: PERMISSION_DENIED,
    rest.NotFound: NOT_FOUND,
    rest.MethodNotAllowed: METHOD_NOT_ALLOWED,
    rest.NotAcceptable: NOT_ACCEPTABLE,
    rest.UnsupportedMediaType: UNSUPPORTED_MEDIA_TYPE,
    rest.Throttled: THROTTLED,
    Http404: NOT_FOUND,
    django_errors.PermissionDenied: PERMISSION_DENIED,
    django_errors.BadRequest: MALFORMED_REQUEST,
    django_errors.SuspiciousOperation: MALFORMED_REQUEST,
    MultiPartParserError: MALFORMED_REQUEST,
    OperationalError: UNAVAILABLE,
    InterfaceError: UNAVAILABLE,
    ClusterError: UNAVAILABLE,
}

# Details of problems whose exceptions have no text, or none meant for clients.
_DETAILS = {
    VALIDATION_ERROR: "The request has fields or parameters that are not valid.",
    NOT_FOUND: "There is nothing here.",
    NOT_AUTHENTICATED: "Send a valid credential in the Authorization header.",
    NOT_ACCEPTABLE: "The response is available only as application/json.",
    INTERNAL_ERROR: "Something went wrong on our side. It has been logged under the request's id.",
    BUSY: "Many changes are being made to this job right now. Try again in a moment.",
    UNAVAILABLE: "The service cannot reach its database. Try again in a moment.",
    TOO_SLOW: "The database took too long for this. Request less, or try again later.",
}


def problem_response(exc: Exception, context: Mapping[str, Any]) -> Response:
    """Return the response to an exception in a view (the framework's EXCEPTION_HANDLER).

    An unexpected exception is logged with its traceback; the response reveals nothing about it.
    """
    kind = problem_of_exception(exc)
    if kind.status >= 500:
        severity = logging.ERROR if kind is INTERNAL_ERROR else logging.WARNING
        trace = None if kind is BUSY else exc
        logger.log(severity, "%s: %s", kind.code, type(exc).__name__, exc_info=trace)
    headers = problem_headers(kind, exc)
    body = problem(kind, context["request"], exc)
    return Response(body, kind.status, headers=headers, content_type=MEDIA_TYPE)


def problem_of_exception(exc: BaseException | None) -> ProblemType:
    """Return the problem type of an exception."""
    if isinstance(exc, OperationalError) and isinstance(
        exc.__cause__, psycopg.errors.LockNotAvailable
    ):
        return BUSY
    if is_timeout_problem(exc):
        return TOO_SLOW
    ancestors = type(background_problem_reason(exc)).__mro__
    return next(
        (PROBLEM_TYPES[each] for each in ancestors if each in PROBLEM_TYPES), INTERNAL_ERROR
    )


def is_timeout_problem(exc: BaseException | None) -> bool:
    """Return whether the database cancelled a statement that took too long."""
    return isinstance(exc, OperationalError) and isinstance(
        exc.__cause__, psycopg.errors.QueryCanceled
    )


def problem(
    kind: ProblemType, request: HttpRequest, exc: BaseException | None = None
) -> dict[str, Any]:
    """Return a problem's body, with the short envelope as the last member."""
    detail = _problem_detail(kind, exc)
    return {
        "type": kind.type,
        "title": kind.title,
        "status": kind.status,
        "detail": detail,
        "code": kind.code,
        "request_id": getattr(request, "request_id", None),
        "errors": (
            field_errors(exc.detail)
            if isinstance(exc, rest.ValidationError)
            else background_problem_errors(exc)
        ),
        "existing_id": exc.facts.get("existing_id") if isinstance(exc, line.LineError) else None,
        "error": {"code": kind.code, "message": detail},
    }


def problem_headers(kind: ProblemType, exc: BaseException | None = None) -> dict[str, str]:
    """Return the headers that belong to a problem."""
    headers = {}
    if kind is NOT_AUTHENTICATED:
        headers["WWW-Authenticate"] = "Bearer"
    wait = getattr(background_problem_reason(exc), "wait", None) or kind.retry_after_seconds
    if wait:
        headers["Retry-After"] = str(round(wait))
    return headers


def _problem_detail(kind: ProblemType, exc: BaseException | None) -> str:
    if kind is not NOT_FOUND and (told := background_problem_detail(exc)):
        return told
    if isinstance(exc, line.LineError):
        return str(exc)
    if isinstance(exc, WrongCode):
        return str(exc.detail)
    if kind not in _DETAILS and isinstance(exc, rest.APIException):
        return str(exc.detail)
    return _DETAILS.get(kind, f"{kind.title}.")
