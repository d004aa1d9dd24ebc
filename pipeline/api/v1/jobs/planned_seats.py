"""Endpoints for the seats that a job plans to open or close."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypedDict
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import MAX_CAPACITY
from pipeline.api.access import own_job, visible_job
from pipeline.api.callers import caller_of
from pipeline.api.endpoint import Endpoint, endpoint_answer, endpoint_body
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.problem_types import INVALID_SCHEDULE, INVALID_TRANSITION, LIMIT_REACHED
from pipeline.api.v1.fields import Line, Moment, Shape, Whole
from pipeline.api.v1.outputs import Count, PageOf
from pipeline.domain.permissions import Action
from pipeline.models import MOST_TIMES, ZONE_LENGTH, PlannedSeats
from pipeline.selectors.planned_seats import planned_seats_of_job, read_planned_seats
from pipeline.services.cancel_seats import cancel_seats
from pipeline.services.plan_seats import MOST_PLANS, SeatPlan, plan_seats


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
        rows = [planned_seats_out(each) for each in planned_seats_of_job(job_id)]
        return endpoint_answer(request, {"data": rows, "next_cursor": None})

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
        plan = SeatPlan(**endpoint_body(request, PlannedSeatsIn))
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
        return endpoint_answer(request, planned_seats_out(read_planned_seats(job_id, planned_id)))

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
