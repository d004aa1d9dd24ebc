"""Endpoints for receipts of an application, and the log of its line without names."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api import throttles
from pipeline.api.auth import caller_of, visible_application
from pipeline.api.endpoint import Endpoint, answer_read
from pipeline.api.openapi.parameters import AFTER_SEQ, PAGED
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.parameters import page_cursor_seq, page_limit, paginated
from pipeline.api.problem_types import LOG_ARCHIVED
from pipeline.api.v1.outputs import Count, Hash, PageOf
from pipeline.audit.receipts import issue_receipt, opaque_rows
from pipeline.domain.permissions import Action
from pipeline.domain.states import Outcome, Status
from pipeline.selectors.jobs import read_job_facts
from pipeline.selectors.pages import Page, encode_cursor

# A time as it is signed: UTC, with six digits of microseconds.
SignedTime = Annotated[str, ("format", "date-time")]


class OrderKeyOut(TypedDict):
    """A place in the order of a line; the smaller one is sooner, by ticket and then by tie."""

    ticket: int  # below 1 after enough exceptions
    tie: Count


class ReceiptOut(TypedDict):
    """A signed receipt. `docs/fairness.md`, *The exact form*, says what is signed and how."""

    kind: str
    version: Count
    issuer: str
    job: UUID
    application: UUID
    status: Annotated[str, Status]
    outcome: Annotated[str, Outcome] | None
    order_key: OrderKeyOut | None
    position: int | None
    people_waiting: Count
    misses: Count
    deadline: SignedTime | None
    seq: Count
    chain_head: Hash
    log_digest: Hash
    policy_version: Count
    issued_at: SignedTime
    test: bool
    key: str
    signature: str


class OpaqueEventOut(TypedDict):
    """An event of a log that names nobody. `application` is an opaque id."""

    seq: Count
    event: str
    application: str | None
    from_status: str | None
    to_status: str | None
    cause_seq: Count | None
    policy_version: Count
    at: SignedTime
    data: dict[str, Any]
    hash: Hash
    leaf: Hash


class ApplicationReceipt(Endpoint):
    """`/applications/{id}/receipt`"""

    @describes(
        "get_receipt",
        Tag.APPLICATIONS,
        Action.READ_HISTORY,
        ReceiptOut,
        about="`verify_receipt.py` verifies it without the site, with the public keys at"
        " `/.well-known/next-in-line-keys.json`. For a very long log, the first receipt takes more"
        " than one request: 503 `BUSY` until it is ready.",
        refuses=(LOG_ARCHIVED,),
    )
    def get(self, request: Request, application_id: UUID) -> Response:
        """Return a receipt of the application's place, signed and bound to the log so far."""
        caller = caller_of(request)
        visible_application(caller, application_id, Action.READ_HISTORY)
        throttles.check(request, "verify", caller.log_name)
        return Response(issue_receipt(application_id))


class ApplicationReceiptLog(Endpoint):
    """`/applications/{id}/log`"""

    @describes(
        "list_log_of_application",
        Tag.APPLICATIONS,
        Action.READ_HISTORY,
        PageOf[OpaqueEventOut],
        parameters=(AFTER_SEQ, *PAGED),
        about="`event` is `LEFT` for everyone who withdrew, was decided on or closed out."
        " `docs/fairness.md`, *The exact form*, says how to compute `leaf`, and from it the"
        " `log_digest` of a receipt.",
        refuses=(LOG_ARCHIVED,),
    )
    def get(self, request: Request, application_id: UUID) -> Response:
        """Return a page of the log of the application's line, oldest first, naming nobody."""
        facts = visible_application(caller_of(request), application_id, Action.READ_HISTORY)
        after, limit = page_cursor_seq(request), page_limit(request)
        upto = read_job_facts(facts.job_id).seq
        rows = list(opaque_rows(facts.job_id, after=after, upto=min(upto, after + limit)))
        page = Page(rows, more=after + limit < upto)
        payload = paginated(page, dict, lambda row: encode_cursor(row["seq"]))
        return answer_read(request, payload)
