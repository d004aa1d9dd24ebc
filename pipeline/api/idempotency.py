"""Idempotency-Key: a request repeated under the same key runs once and gets the same response.

Responses to requests that changed something are kept. So is a 410, because a missed deadline stays
missed. After any other refusal the key is free again: the client can resend the request, or send a
corrected one.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from hashlib import sha256
from http import HTTPStatus
from uuid import UUID

from django.db import DatabaseError
from django.http import HttpResponse, UnreadablePostError
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.auth import CompanyCaller, PersonCaller, PortalCaller, caller_of
from pipeline.api.parameters import refuse_parameter
from pipeline.api.problems import IdempotencyKeyInUse, IdempotencyKeyReused
from pipeline.web import idempotency
from pipeline.web.addresses import client_address
from pipeline.web.idempotency import IdempotencyClaim, InUse, Kept, Reused

logger = logging.getLogger(__name__)

HEADER = "Idempotency-Key"
REPEATED_HEADERS = ("Content-Type", "ETag", "Location", "Link")

_KEY = re.compile(r"[^\x00-\x1f\x7f]{1,255}")


class Answered(Exception):
    """Raised for a request that was answered before; holds the response."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__()
        self.response = response


def begin_idempotent(request: Request, digest: Callable[[Request], str]) -> None:
    """Claim the key of a POST request, if it has one, before anything else happens.

    `digest`: returns a digest of the request's body. Raises Answered with the first response,
    ValidationError for a malformed key, IdempotencyKeyReused or IdempotencyKeyInUse.
    """
    key = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if request.method != "POST" or key is None:
        return
    key = key.strip()
    if not _KEY.fullmatch(key):
        refuse_parameter(HEADER, _("A key must have 1 to 255 characters."))
    try:
        body = digest(request)
    except UnreadablePostError:
        raise ParseError(_("The body could not be read.")) from None
    fingerprint = _digest("POST", request.get_full_path(), body)
    match idempotency.claim_key(_record_id(request, key, fingerprint), fingerprint):
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
    """Return the id for the row that a request creates, or None without a key.

    Each retry gets the same id. A service that finds a row with this id returns it, so a retry
    after a crash returns what the first attempt created.
    """
    claim = _claim(request)
    return claim.row_id if claim else None


def finish_idempotent(request: Request, response: HttpResponseBase, *, secret: bool) -> None:
    """Keep the response to a request that claimed a key, or release the key.

    `secret`: the response must not be stored. The work is done by now, so a lost database does not
    change the response: the claim expires, and a retry finds the row.
    """
    claim = _claim(request)
    if claim is None:
        return
    is_final = response.status_code < 400 or response.status_code == HTTPStatus.GONE
    try:
        if secret or not is_final or not isinstance(response, Response):
            idempotency.release_key(claim)
        else:
            response.render()
            headers = {name: response[name] for name in REPEATED_HEADERS if name in response}
            idempotency.keep_idempotent_answer(
                claim, status=response.status_code, headers=headers, body=response.content
            )
    except DatabaseError:
        logger.warning("the response to a request with a key could not be kept", exc_info=True)


def _record_id(request: Request, key: str, fingerprint: bytes) -> bytes:
    """Return a digest of the caller and the key.

    Anonymous callers are distinguished by address, which they may share. Their digest includes the
    request, so that two of them who choose the same key learn nothing about each other.
    """
    match caller_of(request):
        case CompanyCaller(company_id=company_id, actor_id=actor_id):
            return _digest("company", str(company_id), str(actor_id), key)
        case PersonCaller(applicant_id=applicant_id):
            return _digest("person", str(applicant_id), key)
        case PortalCaller(applicant_id=applicant_id, company_id=company_id):
            return _digest("portal", str(company_id), str(applicant_id), key)
    return _digest("nobody", client_address(request), fingerprint.hex(), key)


def _digest(*parts: str) -> bytes:
    return sha256("\n".join(parts).encode()).digest()


def _claim(request: Request) -> IdempotencyClaim | None:
    return getattr(request, "idempotency_claim", None)
