"""Endpoints for the ledger of idle seats, of a job and of the company."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api import parameters, throttles
from pipeline.api.auth import authorize_company, caller_of, own_job
from pipeline.api.endpoint import Endpoint, answer_read
from pipeline.api.openapi.parameters import OF_WEEKS
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.problem_types import LOG_ARCHIVED
from pipeline.api.rendering import NumberJSONRenderer
from pipeline.api.v1.reports import IdleSeatsOut
from pipeline.audit.verify import heavy_read
from pipeline.domain.permissions import Action
from pipeline.figures import idle_seats
from pipeline.figures.idle_seats import (
    MOST_EVENTS,
    MOST_WEEKS,
    USUAL_WEEKS,
    IdleSeatLedger,
    IdleSeats,
)
from pipeline.selectors.jobs import read_job

_ABOUT = (
    "In seconds times seats, while a job is open or paused. The losses are `missed` (offered to"
    " people who did not answer), `cooldown` (free, everyone verified on the waitlist in a"
    " cool-down),"
    " `nobody` (free, no verified person waiting) and `paused` (free in a paused job). With `used`"
    " they add up to seats times time."
)


class IdleSeatsWeekOut(TypedDict):
    """A week's ledger. The present week counts until now."""

    start: datetime
    seat_seconds: IdleSeatsOut


class IdleSeatsOfJobOut(TypedDict):
    """A ledger of idle seats.

    `is_cut`: old events or jobs were left out because there are too many.
    """

    zone: str
    is_cut: bool
    seat_seconds: IdleSeatsOut
    weeks: list[IdleSeatsWeekOut]


class IdleSeatsOfOneJobOut(TypedDict):
    """A job's part of a company's ledger."""

    job_id: UUID
    seat_seconds: IdleSeatsOut


class IdleSeatsOfCompanyOut(IdleSeatsOfJobOut):
    """Ledger of at most 50 jobs, added up, and each job's part of it."""

    jobs: list[IdleSeatsOfOneJobOut]


class IdleSeatsOfJob(Endpoint):
    """`/jobs/{id}/idle-seats`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "get_idle_seats",
        Tag.LINE,
        Action.READ_COMPANY,
        IdleSeatsOfJobOut,
        tagged=True,
        parameters=OF_WEEKS,
        about=_ABOUT,
        refuses=(LOG_ARCHIVED,),
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return a job's seat time by week: in use, and lost by cause."""
        caller, job = own_job(caller_of(request), job_id, Action.READ_COMPANY)
        weeks, zone = _requested_weeks(request)
        throttles.check(request, "replay", caller.log_name)
        with heavy_read(job.company_id, events=min(job.seq, MOST_EVENTS)):
            found = idle_seats.read_job(read_job(job_id), weeks=weeks, zone=zone)
        return answer_read(request, _job_out(found, zone))


class IdleSeatsOfCompany(Endpoint):
    """`/companies/me/idle-seats`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "get_company_idle_seats",
        Tag.COMPANIES,
        Action.READ_COMPANY,
        IdleSeatsOfCompanyOut,
        tagged=True,
        parameters=OF_WEEKS,
        about=f"{_ABOUT} At most 50 jobs, open and paused ones first.",
    )
    def get(self, request: Request) -> Response:
        """Return the seat time of the company's jobs by week: in use, and lost by cause."""
        caller = authorize_company(caller_of(request), Action.READ_COMPANY)
        weeks, zone = _requested_weeks(request)
        throttles.check(request, "replay", caller.log_name)
        events = idle_seats.count_events(caller.company_id)
        with heavy_read(caller.company_id, events=events):
            found = idle_seats.read_company(caller.company_id, weeks=weeks, zone=zone)
        payload: IdleSeatsOfCompanyOut = {
            **_job_out(found, zone),
            "jobs": [
                {"job_id": job.id, "seat_seconds": _ledger_out(ledger)}
                for job, ledger in found.jobs
            ],
        }
        return answer_read(request, payload)


def _requested_weeks(request: Request) -> tuple[int, str]:
    weeks = parameters.integer(request, "weeks", low=1, high=MOST_WEEKS)
    return weeks or USUAL_WEEKS, parameters.zone(request)


def _job_out(found: IdleSeats, zone: str) -> IdleSeatsOfJobOut:
    return {
        "zone": zone,
        "is_cut": found.is_cut or found.lacks_jobs,
        "seat_seconds": _ledger_out(found.total),
        "weeks": [
            {"start": week.start, "seat_seconds": _ledger_out(ledger)}
            for week, ledger in found.weeks
        ],
    }


def _ledger_out(ledger: IdleSeatLedger) -> IdleSeatsOut:
    seconds = ledger.seconds()
    return {
        "used": seconds["used"],
        "missed": seconds["missed"],
        "cooldown": seconds["cooldown"],
        "nobody": seconds["nobody"],
        "paused": seconds["paused"],
    }
