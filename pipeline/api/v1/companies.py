"""Endpoints for the company that the caller acts for, and for its test mode."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypedDict
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from jobs.companies import UndoTimes, read_company, set_undo_times
from jobs.errors import CompanyNotFound
from jobs.models import UNDO_SECONDS, Company, Scope
from pipeline.api.auth import CompanyCaller, authorize_company, caller_of
from pipeline.api.endpoint import Endpoint, read_body
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.problem_types import CLOCK_LIMIT, CLOCK_MOVING, NOT_A_SANDBOX, NOT_FOUND
from pipeline.api.v1.fields import Shape, Text, Whole
from pipeline.api.v1.outputs import Count
from pipeline.domain.errors import NotASandbox
from pipeline.domain.permissions import Action
from pipeline.line.clock import read_company_clock
from pipeline.selectors.sandboxes import sandbox_events_since
from pipeline.services.sandboxes import (
    MOST_SECONDS,
    advance_clock,
    jobs_behind_clock,
    reset_sandbox,
)


class CompanyOut(TypedDict):
    """A company, as its own members and keys see it."""

    id: UUID
    name: str
    created_at: datetime
    scopes: list[Annotated[str, Scope]] | None
    key_id: UUID | None
    undo_removal_seconds: Count
    undo_hiring_seconds: Count


class CompanyChangeIn(Shape):
    """Times to undo decisions made on pages. Fields that are left out stay as they are."""

    undo_removal_seconds = Whole(
        min_value=UNDO_SECONDS[0], max_value=UNDO_SECONDS[1], allow_null=True, required=False
    )
    undo_hiring_seconds = Whole(
        min_value=UNDO_SECONDS[0], max_value=UNDO_SECONDS[1], allow_null=True, required=False
    )


def company_out(company: Company, caller: CompanyCaller) -> CompanyOut:
    """Return a company, as its own members and keys see it, with the asking key's id and scopes."""
    undo = UndoTimes.of(company)
    return {
        "id": company.id,
        "name": company.name,
        "created_at": company.created_at,
        "scopes": sorted(caller.scopes) if caller.key_id else None,
        "key_id": caller.key_id,
        "undo_removal_seconds": undo.removal,
        "undo_hiring_seconds": undo.hiring,
    }


class OwnCompany(Endpoint):
    """`/companies/me`"""

    @describes("get_own_company", Tag.COMPANIES, Action.READ_COMPANY, CompanyOut)
    def get(self, request: Request) -> Response:
        """Return the company that the caller acts for."""
        caller = authorize_company(caller_of(request), Action.READ_COMPANY)
        return Response(company_out(read_company(caller.company_id), caller))

    @describes(
        "change_own_company",
        Tag.COMPANIES,
        Action.CHANGE_RULES,
        CompanyOut,
        takes=(CompanyChangeIn,),
        about="Decisions that members make on pages wait this long and can be undone meanwhile;"
        " decisions over the API never wait. Null: as long as the site says. Decisions that"
        " already wait keep their time.",
    )
    def patch(self, request: Request) -> Response:
        """Change how long the company's decisions can be undone."""
        caller = authorize_company(caller_of(request), Action.CHANGE_RULES)
        seconds = read_body(request, CompanyChangeIn)
        if seconds:
            set_undo_times(company_id=caller.company_id, seconds=seconds, by=caller.actor.id)
        return Response(company_out(read_company(caller.company_id), caller))


# Endpoints of test mode: the clock of a sandbox, read and moved.


class ClockAdvanceIn(Shape):
    """Number of seconds by which to move the clock."""

    seconds = Whole(min_value=1, max_value=MOST_SECONDS)


class ResetIn(Shape):
    """The sandbox that is meant, so that a repeated request cannot empty the next one."""

    company_id = Text(max_length=36)


class SandboxOut(TypedDict):
    """The present sandbox."""

    company_id: UUID
    created_at: datetime


class ClockOut(TypedDict):
    """The clock of a sandbox."""

    now: datetime
    clock_offset_seconds: int
    jobs_behind: int


class EventCountOut(TypedDict):
    """Number of events of a kind."""

    event: str
    count: int


class ClockAdvanceOut(ClockOut):
    """An advance of a sandbox's clock, and what has happened since its beginning."""

    id: UUID
    seconds: int
    began_at: datetime
    events: list[EventCountOut]


class SandboxClock(Endpoint):
    """`/test/clock`"""

    @describes(
        "get_clock",
        Tag.SANDBOX,
        Action.READ_COMPANY,
        ClockOut,
        refuses=(NOT_A_SANDBOX,),
    )
    def get(self, request: Request) -> Response:
        """Return the time in the sandbox, and how far it is ahead."""
        return Response(_clock_out(_sandboxed_caller(request, Action.READ_COMPANY)))


class AdvanceSandboxClock(Endpoint):
    """`/test/clock/advance`"""

    @describes(
        "advance_clock",
        Tag.SANDBOX,
        Action.ADVANCE_CLOCK,
        ClockAdvanceOut,
        takes=(ClockAdvanceIn,),
        refuses=(NOT_A_SANDBOX, CLOCK_MOVING, CLOCK_LIMIT),
        about="Deadlines, cool-downs and reminders before the new time happen now, each at its"
        " own time, and webhooks report them at once. If a lot is due, the rest is settled in the "
        "background: `jobs_behind` is then not 0, and changes to those jobs are refused with 409"
        " `CLOCK_MOVING`.",
    )
    def post(self, request: Request) -> Response:
        """Move the sandbox's clock forward; once for each Idempotency-Key."""
        caller = _sandboxed_caller(request, Action.ADVANCE_CLOCK)
        given = read_body(request, ClockAdvanceIn)
        made = advance_clock(
            company_id=caller.company_id,
            seconds=given["seconds"],
            actor=caller.actor,
            advance_id=idempotent_row_id(request),
        )
        counted = sandbox_events_since(caller.company_id, made.began_at)
        answer: ClockAdvanceOut = {
            **_clock_out(caller),
            "id": made.id,
            "seconds": made.seconds,
            "began_at": made.began_at,
            "events": [{"event": event, "count": count} for event, count in counted],
        }
        return Response(answer)


class ResetSandbox(Endpoint):
    """`/test/reset`"""

    @describes(
        "reset_sandbox",
        Tag.SANDBOX,
        Action.RESET_SANDBOX,
        SandboxOut,
        takes=(ResetIn,),
        refuses=(NOT_A_SANDBOX, NOT_FOUND),
        about="`company_id` is the `id` in `/companies/me`. Its keys and webhook endpoints go on in"
        " the empty sandbox; all its jobs, people, files and schedules, and the cursors of its"
        " feeds, are out of reach. If it has just been reset, or is empty, nothing happens.",
    )
    def post(self, request: Request) -> Response:
        """Put an empty sandbox with the live clock in the place of this one."""
        caller = _sandboxed_caller(request, Action.RESET_SANDBOX)
        try:
            meant = UUID(read_body(request, ResetIn)["company_id"])
        except ValueError:
            raise CompanyNotFound from None
        sandbox = reset_sandbox(company_id=caller.company_id, meant=meant, actor=caller.actor)
        answer: SandboxOut = {"company_id": sandbox.id, "created_at": sandbox.created_at}
        return Response(answer)


def _sandboxed_caller(request: Request, action: Action) -> CompanyCaller:
    """Return the caller, if they may take the action in a sandbox. Raises NotASandbox."""
    caller = authorize_company(caller_of(request), action)
    if not caller.is_test:
        raise NotASandbox
    return caller


def _clock_out(caller: CompanyCaller) -> ClockOut:
    clock = read_company_clock(caller.company_id)
    return {
        "now": clock.now,
        "clock_offset_seconds": clock.offset_seconds,
        "jobs_behind": jobs_behind_clock(caller.company_id).count(),
    }
