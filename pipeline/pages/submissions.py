"""Forms that are sent twice, like by a second press on a slow line: the first one counts.

Every form holds an id (see `pipeline.templatetags.live`). A form with the same id and content, sent
again in the same session, is not carried out again: people see what the first one led to. Only
redirects are kept. A page that shows a secret once (201) is not: the second press is told so.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from hashlib import sha256
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.utils.translation import gettext as _

from pipeline.line.arrivals import reach_of_thread
from pipeline.templatetags.live import SUBMISSION
from pipeline.web.idempotency import (
    IdempotencyClaim,
    InUse,
    Kept,
    claim_key,
    keep_idempotent_answer,
    release_key,
)
from pipeline.web.middleware import is_page_request, pages_only

log = logging.getLogger(__name__)

LONGEST_ID = 64
# Long enough for an ordinary form on a slow line, short for the thread that a second press holds.
WAIT_SECONDS, LOOK_SECONDS = 2.0, 0.2
# The pages of libraries begin and end sessions, and hold secrets.
_ACCOUNT = "/account/"
_OTHERS = (_ACCOUNT, "/admin/")
_TOKEN_FIELDS = ("csrfmiddlewaretoken", SUBMISSION)


@pages_only
def answer_once(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Carry out each submission of a form once. A middleware."""

    def submission_middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        claim: IdempotencyClaim | None = getattr(request, "submission_claim", None)
        if claim is not None:
            try:
                _settle(request, claim, response)
            except DatabaseError as error:
                log.warning("a submission could not be settled: %s", error)
        return response

    submission_middleware.process_view = _claim  # type: ignore[attr-defined]  # Django's way
    return submission_middleware


def _claim(request: HttpRequest, _view: Any, _args: Any, _named: Any) -> HttpResponse | None:
    """Claim a submission, after the CSRF check; or answer one that was sent before."""
    if not _is_identified(request):
        return None
    record = _record_id(request)
    until = time.monotonic() + WAIT_SECONDS
    while isinstance(found := claim_key(record, record), InUse):
        if time.monotonic() > until:
            return render(request, "errors/still_working.html", status=409)
        reach_of_thread()
        time.sleep(LOOK_SECONDS)
    if isinstance(found, IdempotencyClaim):
        request.submission_claim = found  # type: ignore[attr-defined]
        request.submission_session = request.session.session_key  # type: ignore[attr-defined]
        return None
    if not isinstance(found, Kept):  # for another request: cannot be, the record is made of it
        return None
    if found.status == HTTPStatus.CREATED:
        return render(request, "errors/sent_already.html", status=409)
    messages.info(request, _("You sent this form twice. It was carried out once."))
    return HttpResponseRedirect(found.headers["Location"])


def _is_identified(request: HttpRequest) -> bool:
    """Return whether a request is a form with an id, in a session that knows someone."""
    if request.method != "POST" or not is_page_request(request):
        return False
    submission = request.POST.get(SUBMISSION, "")
    if not 0 < len(submission) <= LONGEST_ID or request.path.startswith(_OTHERS):
        return False
    return bool(request.session.keys())


def _record_id(request: HttpRequest) -> bytes:
    """Return the digest of a session, a submission's id, its address and all that is sent."""
    digest = sha256(b"submission")
    sent = [(name, request.POST.getlist(name)) for name in sorted(request.POST)]
    content = [(name, values) for name, values in sent if name not in _TOKEN_FIELDS]
    parts = (
        request.session.session_key,
        request.POST[SUBMISSION],
        request.get_full_path(),
        content,
    )
    digest.update(repr(parts).encode())
    for name in sorted(request.FILES):
        for file in request.FILES.getlist(name):
            digest.update(repr((name, file.name, file.size)).encode())
            for chunk in file.chunks():
                digest.update(chunk)
            file.seek(0)
    return digest.digest()


def _settle(request: HttpRequest, claim: IdempotencyClaim, response: HttpResponse) -> None:
    """Keep what a submission led to; free one that was refused, or that began another session."""
    status, where = response.status_code, response.get("Location", "")
    is_same = request.session.session_key == request.submission_session  # type: ignore[attr-defined]
    signs_in = where.startswith((_ACCOUNT, resolve_url("sign_in")))
    if is_same and status == HTTPStatus.CREATED:
        keep_idempotent_answer(claim, status=status, headers={}, body=b"")
    elif is_same and where and not signs_in:
        keep_idempotent_answer(claim, status=status, headers={"Location": where}, body=b"")
    else:
        release_key(claim)
