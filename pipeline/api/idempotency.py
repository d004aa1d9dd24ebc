"""Idempotency-Key: the same request under the same key is done once, and answered alike.

An answer is kept, whatever it says, unless it says that the request can be sent again: 401, 409,
415, 429 and 5xx. A refusal like 400 is kept too: under one key stands one request, so a corrected
body wants a key of its own (and gets 422 until it has one).
"""

from __future__ import annotations

import logging
import re
from hashlib import sha256
from uuid import UUID

from django.db import DatabaseError
from django.http import HttpResponse, UnreadablePostError
from django.http.response import HttpResponseBase
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.callers import CompanyCaller, PersonCaller, caller_of
from pipeline.api.errors import IdempotencyKeyInUse, IdempotencyKeyReused
from pipeline.api.parameters import refuse_parameter
from pipeline.limits import idempotency
from pipeline.limits.idempotency import IdempotencyClaim, InUse, Kept, Reused
from pipeline.web.client_address import client_address

logger = logging.getLogger(__name__)

HEADER = "Idempotency-Key"
REPEATED_HEADERS = ("Content-Type", "ETag", "Location", "Link")

_KEY = re.compile(r"[^\x00-\x1f\x7f]{1,255}")


class Answered(Exception):
    """The request was answered before."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__()
        self.response = response


def begin_idempotent(request: Request) -> None:
    """Take the request's key, if it is a POST with one, before anything is done.

    Raises Answered with the first answer, ValidationError when the key is none, and
    IdempotencyKeyReused or IdempotencyKeyInUse.
    """
    key = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if request.method != "POST" or key is None:
        return
    key = key.strip()
    if not _KEY.fullmatch(key):
        refuse_parameter(HEADER, "A key has 1 to 255 characters.")
    try:
        body = sha256(request._request.body).hexdigest()
    except UnreadablePostError:
        raise ParseError("The body could not be read.") from None
    fingerprint = _idempotency_digest("POST", request.get_full_path(), body)
    match idempotency.claim_key(_idempotency_record_id(request, key, fingerprint), fingerprint):
        case IdempotencyClaim() as claim:
            request.idempotency_claim = claim  # type: ignore[attr-defined]
        case Kept() as kept:
            headers = kept.headers | {"Idempotent-Replayed": "true"}
            raise Answered(HttpResponse(kept.body, status=kept.status, headers=headers))
        case Reused():
            raise IdempotencyKeyReused
        case InUse():
            raise IdempotencyKeyInUse


def idempotent_row_id(request: Request) -> UUID | None:
    """Return the id of the row that a request makes: the same at each try. None without a key.

    A service that gets it and finds the row gives that row, and so a try after a crash is answered
    with what the first one made.
    """
    claim = _idempotency_claim(request)
    return claim.row_id if claim else None


def finish_idempotent(request: Request, response: HttpResponseBase, *, secret: bool) -> None:
    """Keep the answer to a request that took a key, or let the key be used again.

    `secret`: the answer must not be stored. The work is done by now, so that a database that is
    lost here changes no answer: the claim then runs out, and a retry finds the row.
    """
    claim = _idempotency_claim(request)
    if claim is None:
        return
    status = response.status_code
    can_be_sent_again = status in (401, 409, 415, 429) or status >= 500
    try:
        if secret or can_be_sent_again or not isinstance(response, Response):
            idempotency.release_key(claim)
        else:
            response.render()
            headers = {name: response[name] for name in REPEATED_HEADERS if name in response}
            idempotency.keep_answer(claim, status=status, headers=headers, body=response.content)
    except DatabaseError:
        logger.warning("the answer to a request with a key could not be kept", exc_info=True)


def _idempotency_record_id(request: Request, key: str, fingerprint: bytes) -> bytes:
    """Return a digest of the caller and the key.

    Anonymous callers are told apart by address, which they may share. Their digest includes the
    request itself, so that a key that two of them choose reveals neither to the other.
    """
    match caller_of(request):
        case CompanyCaller(company_id=company_id, actor_id=actor_id):
            return _idempotency_digest("company", str(company_id), str(actor_id), key)
        case PersonCaller(applicant_id=applicant_id):
            return _idempotency_digest("person", str(applicant_id), key)
    return _idempotency_digest("nobody", client_address(request), fingerprint.hex(), key)


def _idempotency_digest(*parts: str) -> bytes:
    return sha256("\n".join(parts).encode()).digest()


def _idempotency_claim(request: Request) -> IdempotencyClaim | None:
    return getattr(request, "idempotency_claim", None)
