"""Endpoints for a job in numbers: its facts for everyone, and its figures for the company."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypedDict
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import MAX_CAPACITY, JobStatus
from pipeline.api import parameters, throttles
from pipeline.api.auth import caller_of, can_see_job, own_job, visible_job
from pipeline.api.endpoint import Endpoint, answer_read, read_body
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.parameters import POSITION
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.problem_types import (
    INVALID_SCHEDULE,
    INVALID_TRANSITION,
    LIMIT_REACHED,
    LOG_ARCHIVED,
)
from pipeline.api.rendering import NumberJSONRenderer
from pipeline.api.v1.fields import Line, Moment, Shape, Whole
from pipeline.api.v1.jobs.shapes import SummaryOut, summary_out
from pipeline.api.v1.outputs import Count, PageOf
from pipeline.audit.verify import heavy_read
from pipeline.domain.errors import JobNotFound
from pipeline.domain.permissions import Action
from pipeline.figures.forecast import read_prospects
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
    contested_count: Count | None
    contests_changed_count: Count | None
    contests_overdue_count: Count | None
    reviews_counted: Count | None
    reviews_within_target: Count | None
    capacity_changes: Count
    policy_changes: Count


class FactsOfJob(Endpoint):
    """`/jobs/{id}/facts`"""

    @describes(
        "get_facts",
        Tag.JOBS,
        Action.SEE_JOBS,
        FactsOut,
        tagged=True,
        about="Without personal data, at most a minute old, from the job's last 50,000 events. A"
        " number from 1 to 4 is null, because it could point at a person. The rules and the"
        " length are in the job, the wait in its forecast.",
        refuses=(LOG_ARCHIVED,),
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return how often offers, misses, decisions and overrides happened in a job's line."""
        caller, job = caller_of(request), read_job(job_id)
        if not can_see_job(caller, job.company_id, job.status, is_test=job.is_test):
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
            "contested_count": counts.contests.asked,
            "contests_changed_count": counts.contests.changed,
            "contests_overdue_count": counts.contests.overdue,
            "reviews_counted": pace.cases if pace else None,
            "reviews_within_target": pace.within if pace else None,
            "capacity_changes": counts.seats_changed,
            "policy_changes": counts.rules_changed,
        }
        return answer_read(request, payload)


class JobSummary(Endpoint):
    """`/jobs/{id}/summary`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "get_summary",
        Tag.LINE,
        Action.READ_COMPANY,
        SummaryOut,
        tagged=True,
        refuses=(LOG_ARCHIVED,),
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return the job in numbers, from its log; null where there is no data."""
        caller, job = own_job(caller_of(request), job_id, Action.READ_COMPANY)
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
        if not can_see_job(caller, job.company_id, job.status, is_test=job.is_test):
            raise JobNotFound
        position = parameters.integer(request, "position", low=1) or job.people_waiting + 1
        is_open = job.status == JobStatus.OPEN and not job.awaits_draw
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
        refuses=(INVALID_SCHEDULE, INVALID_TRANSITION, LIMIT_REACHED),
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
