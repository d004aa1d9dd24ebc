"""Errors of the API itself, raised before a request reaches the line."""

from __future__ import annotations

from rest_framework.exceptions import APIException


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
