"""Endpoints for numbers: a job's facts, figures and planned seats, and the ledger of idle seats."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypedDict
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import MAX_CAPACITY, JobStatus
from pipeline.api import parameters, throttles
from pipeline.api.auth import authorize_company, caller_of, can_see_job, own_job, visible_job
from pipeline.api.endpoint import Endpoint, answer_read, read_body
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.parameters import OF_WEEKS, POSITION
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.problem_types import (
    INVALID_SCHEDULE,
    INVALID_TRANSITION,
    LIMIT_REACHED,
    LOG_ARCHIVED,
    RESERVE_REFUSED,
)
from pipeline.api.rendering import NumberJSONRenderer
from pipeline.api.v1.fields import Line, Moment, Shape, Whole
from pipeline.api.v1.jobs.shapes import SummaryOut, summary_out
from pipeline.api.v1.outputs import Count, PageOf
from pipeline.api.v1.reports import IdleSeatsOut
from pipeline.audit.verify import heavy_read
from pipeline.domain.errors import JobNotFound
from pipeline.domain.permissions import Action
from pipeline.figures import idle_seats
from pipeline.figures.forecast import read_prospects
from pipeline.figures.idle_seats import (
    MOST_EVENTS,
    MOST_WEEKS,
    USUAL_WEEKS,
    IdleSeatLedger,
    IdleSeats,
)
from pipeline.figures.job import read_public_facts, read_totals
from pipeline.figures.review_pace import read_review_pace
from pipeline.models import MOST_TIMES, ZONE_LENGTH, PlannedSeats
from pipeline.selectors.jobs import read_job, read_planned_seats, read_seat_plans
from pipeline.services.jobs import MOST_PLANS, SeatPlan, cancel_seats, plan_seats


class FactsOut(TypedDict):
    """Counts of what happened in a line, for everyone. Null is a number from 1 to 4."""

    counted_since: datetime
    counted_events: Count
    offered_count: Count | None
    confirmed_count: Count | None
    missed_count: Count | None
    withdrawn_count: Count | None
    removals_by_reason: dict[str, Count | None]
    reinstatements_by_reason: dict[str, Count | None]
    extensions_count: Count | None
    exceptions_count: Count
    exceptions_by_reason: dict[str, Count | None]
    contested_count: Count | None
    contests_changed_count: Count | None
    contests_overdue_count: Count | None
    reviews_counted: Count | None
    reviews_within_target: Count | None
    capacity_changes: Count
    policy_changes: Count
    reserve_changes: Count


class FactsOfJob(Endpoint):
    """`/jobs/{id}/facts`"""

    @describes(
        "get_facts",
        Tag.JOBS,
        Action.SEE_JOBS,
        FactsOut,
        tagged=True,
        about="Without personal data, at most a minute old, from the job's last 50,000 events. A"
        " number from 1 to 4 is null, because it could point at a person; exceptions are"
        " counted exactly, and from the job's beginning. The rules and the"
        " length are in the job, the wait in its forecast.",
        refuses=(LOG_ARCHIVED,),
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return how often offers, misses, decisions and overrides happened in a job's line."""
        caller, job = caller_of(request), read_job(job_id)
        if not can_see_job(caller, job):
            raise JobNotFound
        counts, pace = read_public_facts(job), read_review_pace(job)
        payload: FactsOut = {
            "counted_since": counts.since,
            "counted_events": counts.events,
            "offered_count": counts.offered,
            "confirmed_count": counts.confirmed,
            "missed_count": counts.missed,
            "withdrawn_count": counts.withdrawn,
            "removals_by_reason": dict(counts.removals),
            "reinstatements_by_reason": dict(counts.given_back),
            "extensions_count": counts.extended,
            "exceptions_count": counts.exceptions,
            "exceptions_by_reason": dict(counts.exceptions_by_reason),
            "contested_count": counts.contests.asked,
            "contests_changed_count": counts.contests.changed,
            "contests_overdue_count": counts.contests.overdue,
            "reviews_counted": pace.cases if pace else None,
            "reviews_within_target": pace.within if pace else None,
            "capacity_changes": counts.seats_changed,
            "policy_changes": counts.rules_changed,
            "reserve_changes": counts.reserve_changed,
        }
        return answer_read(request, payload)


class JobSummary(Endpoint):
    """`/jobs/{id}/summary`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "get_summary",
        Tag.LINE,
        Action.READ_JOB,
        SummaryOut,
        tagged=True,
        refuses=(LOG_ARCHIVED,),
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return the job in numbers, from its log; null where there is no data."""
        caller, job = own_job(caller_of(request), job_id, Action.READ_JOB)
        throttles.check(request, "replay", caller.log_name)
        with heavy_read(job.company_id, events=job.seq):
            payload = summary_out(job_id, read_totals(job_id))
        return answer_read(request, payload)


# Endpoint for the forecast of a job's line.


class ForecastOut(TypedDict):
    """Waits of people at a position of a line until they were offered a seat, from its history."""

    position: Count
    half_wait_seconds: Count | None
    most_wait_seconds: Count | None
    offers_seen: Count
    forecasts_counted: Count
    forecasts_true_percent: Count | None


class ForecastOfJob(Endpoint):
    """`/jobs/{id}/forecast`"""

    @describes(
        "get_forecast",
        Tag.JOBS,
        Action.SEE_JOBS,
        ForecastOut,
        tagged=True,
        parameters=(POSITION,),
        about="Recomputed at most every ten minutes, from the job's own history; people who are"
        " still waiting or have left are taken into account. Null while too few people have"
        " been there, if"
        " it is older than a day, unless the job is open, and before its draw by lot. The order"
        " does not depend on it.",
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return the forecast for a position; by default for a person who applies now."""
        caller, job = caller_of(request), read_job(job_id)
        if not can_see_job(caller, job):
            raise JobNotFound
        position = parameters.integer(request, "position", low=1) or job.people_waiting + 1
        is_open = job.status == JobStatus.OPEN and not (job.awaits_draw or job.is_filled)
        found = read_prospects({job_id: position}).get(job_id) if is_open else None
        payload: ForecastOut = {
            "position": position,
            "half_wait_seconds": found.forecast.half if found else None,
            "most_wait_seconds": found.forecast.most if found else None,
            "offers_seen": found.forecast.offers if found else 0,
            "forecasts_counted": found.counted if found else 0,
            "forecasts_true_percent": found.share if found else None,
        }
        return answer_read(request, payload)


# Endpoints for the seats that a job plans to open or close.


class PlannedSeatsIn(Shape):
    """Seats to open, or to close if negative, once or weekly."""

    seats = Whole(min_value=-MAX_CAPACITY, max_value=MAX_CAPACITY)
    first_at = Moment()
    zone = Line(max_length=ZONE_LENGTH, required=False)
    times = Whole(min_value=1, max_value=MOST_TIMES, required=False)


class PlannedSeatsOut(TypedDict):
    """Seats that open, or close if negative, at `next_at`, and then weekly until `last_at`."""

    id: UUID
    seats: Annotated[int, ("minimum", -MAX_CAPACITY)]
    first_at: datetime
    zone: str
    times: Count
    times_left: Count
    next_at: datetime
    last_at: datetime


class PlannedSeatsOfJob(Endpoint):
    """`/jobs/{id}/planned-seats`"""

    @describes(
        "list_planned_seats",
        Tag.JOBS,
        Action.SEE_JOBS,
        PageOf[PlannedSeatsOut],
        tagged=True,
        about=f"All of them on one page, the next one first: a job has at most {MOST_PLANS}.",
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return the seats that a job plans to open or close, to anyone who can see the job."""
        visible_job(caller_of(request), job_id)
        rows = [planned_seats_out(each) for each in read_seat_plans(job_id)]
        return answer_read(request, {"data": rows, "next_cursor": None})

    @describes(
        "plan_seats",
        Tag.JOBS,
        Action.CHANGE_RULES,
        PlannedSeatsOut,
        status=201,
        takes=(PlannedSeatsIn,),
        refuses=(INVALID_SCHEDULE, INVALID_TRANSITION, LIMIT_REACHED, RESERVE_REFUSED),
        about="They open at `first_at`, and then every week at the same local time in `zone`,"
        " `times` times in all. Everyone who can see the job can see its plans.",
    )
    def post(self, request: Request, job_id: UUID) -> Response:
        """Plan seats to open, or to close if negative: 201."""
        caller, _facts = own_job(caller_of(request), job_id, Action.CHANGE_RULES)
        plan = SeatPlan(**read_body(request, PlannedSeatsIn))
        planned_id = idempotent_row_id(request)
        row = plan_seats(job_id=job_id, plan=plan, actor=caller.actor, planned_id=planned_id)
        where = {"Location": f"{request.path}/{row.id}"}
        return Response(planned_seats_out(row), status=201, headers=where)


class PlannedSeatsDetail(Endpoint):
    """`/jobs/{id}/planned-seats/{id}`"""

    @describes("get_planned_seats", Tag.JOBS, Action.SEE_JOBS, PlannedSeatsOut, tagged=True)
    def get(self, request: Request, job_id: UUID, planned_id: UUID) -> Response:
        """Return one plan, as long as it has changes to come."""
        visible_job(caller_of(request), job_id)
        return answer_read(request, planned_seats_out(read_planned_seats(job_id, planned_id)))

    @describes("cancel_planned_seats", Tag.JOBS, Action.CHANGE_RULES, None, status=204)
    def delete(self, request: Request, job_id: UUID, planned_id: UUID) -> Response:
        """Cancel the remaining changes of a plan: 204. Seats that have opened stay."""
        caller, _facts = own_job(caller_of(request), job_id, Action.CHANGE_RULES)
        cancel_seats(job_id=job_id, planned_id=planned_id, actor=caller.actor)
        return Response(status=204)


def planned_seats_out(row: PlannedSeats) -> PlannedSeatsOut:
    """Return a plan."""
    return {
        "id": row.id,
        "seats": row.seats,
        "first_at": row.first_at,
        "zone": row.zone,
        "times": row.times,
        "times_left": row.times_left,
        "next_at": row.next_at,
        "last_at": row.last_at,
    }


# Endpoints for the ledger of idle seats, of a job and of the company.


_ABOUT_IDLE_SEATS = (
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
        Action.READ_JOB,
        IdleSeatsOfJobOut,
        tagged=True,
        parameters=OF_WEEKS,
        about=_ABOUT_IDLE_SEATS,
        refuses=(LOG_ARCHIVED,),
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return a job's seat time by week: in use, and lost by cause."""
        caller, job = own_job(caller_of(request), job_id, Action.READ_JOB)
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
        about=f"{_ABOUT_IDLE_SEATS} At most 50 jobs, open and paused ones first.",
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
