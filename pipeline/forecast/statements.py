"""Forecasts of the jobs' lines as stored by the scheduler, and how often they came true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection
from django.db.models import Count, Q
from django.db.models.functions import Now

from jobs.models import Job, JobStatus
from pipeline.database.instants import database_now
from pipeline.domain.states import EventType, Status
from pipeline.forecast.waits import (
    Forecast,
    Turn,
    forecast_wait_at_position,
    forecast_waits_of_line,
)
from pipeline.models import Application, Event, ForecastStatement, JobForecast
from pipeline.selectors.applications import position_of_application_place

# The history on which a forecast is based.
LONGEST_HISTORY = timedelta(days=180)
MOST_EVENTS = 50_000
# How many lines one run of the scheduler covers; those that waited longest come first.
JOBS_AT_ONCE = 200
# How many waiting people of a line get a statement on one day.
STATEMENTS_A_DAY = 20
# How many of a job's last statements the share of true ones is based on, and the fewest.
COUNTED, FEWEST_COUNTED = 200, 20
KEPT = timedelta(days=365)
# An older forecast is not shown: the line may have changed by now.
OLDEST_SHOWN = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Prospect:
    """Forecast of one person's wait, and how often such forecasts of the job came true.

    `share` is a percentage of the last `counted` statements; None if there are too few.
    """

    forecast: Forecast
    counted: int
    share: int | None


def read_prospects_with_statements(positions: Mapping[UUID, int | None]) -> dict[UUID, Prospect]:
    """Return the prospect at a position of each job, in one query; without evidence there is none.

    Only open jobs can have a prospect: the caller leaves out the others. Old forecasts are
    ignored.
    """
    found = {}
    fresh = Now() - OLDEST_SHOWN
    for row in JobForecast.objects.filter(job_id__in=positions, made_at__gt=fresh):
        position = positions[row.job_id]
        forecast = position and forecast_wait_at_position(_known_forecasts_to_state(row), position)
        if forecast:
            share = round(100 * row.came_true / row.settled) if row.settled else 0
            is_known = row.settled >= FEWEST_COUNTED
            found[row.job_id] = Prospect(forecast, row.settled, share if is_known else None)
    return found


def update_forecast_statements() -> dict[str, int]:
    """Settle the statements whose time has come, make new forecasts, and store new statements.

    The lines whose forecast is the oldest come first. Returns the numbers. Safe to run twice.
    """
    now = database_now()
    settled = settle_forecast_statements()
    ForecastStatement.objects.filter(made_at__lt=now - KEPT).delete()
    stated = 0
    open_jobs = Job.objects.filter(status=JobStatus.OPEN, waitlist_count__gt=0, is_test=False)
    made = dict(JobForecast.objects.values_list("job_id", "made_at"))
    ids = sorted(
        open_jobs.values_list("id", flat=True),
        key=lambda each: made[each].timestamp() if each in made else 0,
    )
    for job in open_jobs.filter(id__in=ids[:JOBS_AT_ONCE]):
        row = _forecast_to_state(job, now)
        stated += _state_forecasts(job, row, now)
    return {"settled": settled, "stated": stated}


# A person who was offered a seat in time, or was not; and statements about people who left before,
# or who asked for a later turn.
_SETTLE = """
WITH ended AS (
    SELECT statement.id, statement.due_at, next.at, next.event
    FROM pipeline_forecaststatement statement
    LEFT JOIN LATERAL (
        SELECT event.at, event.event FROM pipeline_event event
        WHERE event.application_id = statement.application_id AND event.at > statement.made_at
          AND event.from_status = 'WAITLIST'
          AND (event.to_status <> 'WAITLIST' OR event.event IN ('DEFERRED', 'PASS_ASKED'))
        ORDER BY event.seq LIMIT 1
    ) next ON true
    WHERE statement.came_true IS NULL
      AND (next.at IS NOT NULL OR statement.due_at <= clock_timestamp())
), void AS (
    DELETE FROM pipeline_forecaststatement USING ended
    WHERE pipeline_forecaststatement.id = ended.id
      AND ended.event <> 'PROMOTED' AND ended.at <= ended.due_at
)
UPDATE pipeline_forecaststatement SET came_true = coalesce(
    ended.event = 'PROMOTED' AND ended.at <= ended.due_at, false)
FROM ended
WHERE pipeline_forecaststatement.id = ended.id
  AND NOT coalesce(ended.event <> 'PROMOTED' AND ended.at <= ended.due_at, false)
"""


def settle_forecast_statements() -> int:
    """Note which open statements came true and which did not, and return the number."""
    with connection.cursor() as cursor:
        cursor.execute(_SETTLE)
        return cursor.rowcount


def _forecast_to_state(job: Job, now: datetime) -> JobForecast:
    """Make the forecast of a job's line and store it."""
    start = max(now - LONGEST_HISTORY, job.created_at)
    turns = _turns_to_state_forecasts(job.id) if job.seq <= MOST_EVENTS else []
    made = forecast_waits_of_line(turns, start=start.timestamp(), now=now.timestamp())
    last = ForecastStatement.objects.filter(job_id=job.id, came_true__isnull=False)
    counts = ForecastStatement.objects.filter(
        id__in=last.order_by("-id").values("id")[:COUNTED]
    ).aggregate(settled=Count("id"), true=Count("id", filter=Q(came_true=True)))
    row, _ = JobForecast.objects.update_or_create(
        job_id=job.id,
        defaults={
            "seq": job.seq,
            "made_at": now,
            "positions": {str(position): list(each) for position, each in made.items()},
            "settled": counts["settled"],
            "came_true": counts["true"],
        },
    )
    return row


def _turns_to_state_forecasts(job_id: UUID) -> list[Turn]:
    """Return the history of a line, in order. A long one is not read and gets no forecast."""
    events = Event.objects.filter(job_id=job_id, application_id__isnull=False).order_by("seq")
    columns = ("at", "application_id", "event", "to_status", "data")
    turns = []
    for at, application_id, event, to_status, data in events.values_list(*columns):
        waits = to_status == Status.WAITLIST and "verify_by" not in data
        place = (data["ticket"], data["tie"]) if waits else None
        offered = event == EventType.PROMOTED
        puts_off = event in (EventType.DEFERRED, EventType.PASS_ASKED)
        turns.append(Turn(at.timestamp(), application_id, place, offered, puts_off))
    return turns


def _state_forecasts(job: Job, row: JobForecast, now: datetime) -> int:
    """Store the forecasts shown to people who wait, once a day for each; return how many."""
    known = _known_forecasts_to_state(row)
    if not known:
        return 0
    today = ForecastStatement.objects.filter(job_id=job.id, made_at__gt=now - timedelta(days=1))
    room = STATEMENTS_A_DAY - today.count()
    waiting = Application.objects.filter(
        job_id=job.id, status=Status.WAITLIST, verify_by__isnull=True
    ).exclude(id__in=today.values("application_id"))
    # People who put their turn off get no forecast.
    waiting = waiting.exclude(not_before__gt=now).filter(pass_next=False)
    made = []
    for person in waiting.order_by("?")[: max(0, room)]:
        position = position_of_application_place(job.id, person.ticket or 0, person.tie or 0)
        forecast = forecast_wait_at_position(known, position)
        if forecast is not None:
            made.append(
                ForecastStatement(
                    job_id=job.id,
                    application_id=person.id,
                    position=position,
                    half_seconds=forecast.half,
                    most_seconds=forecast.most,
                    made_at=now,
                    due_at=now + timedelta(seconds=forecast.most),
                )
            )
    ForecastStatement.objects.bulk_create(made)
    return len(made)


def _known_forecasts_to_state(row: JobForecast) -> dict[int, Forecast]:
    return {int(position): Forecast(*each) for position, each in row.positions.items()}
