"""The types of a job in numbers. A number for which there is no data is None, never missing."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict
from uuid import UUID

from pipeline.api.v1.serializers.shapes import Count


class ConversionOut(TypedDict):
    """How far applications came. Shares are from 0 to 1."""

    applied: Count
    seated: Count
    hired: Count
    applied_to_seated: float | None
    seated_to_hired: float | None
    applied_to_hired: float | None


class SummaryOut(TypedDict):
    """A job in numbers; null where there is no data for one."""

    job_id: UUID
    counts_by_status: dict[str, int]
    counts_by_outcome: dict[str, int]
    average_seconds_to_promotion: float | None
    median_seconds_to_promotion: float | None
    p90_seconds_to_promotion: float | None
    average_seconds_to_acknowledge: float | None
    median_seconds_to_acknowledge: float | None
    p90_seconds_to_acknowledge: float | None
    decay_events: Count
    lapse_events: Count
    acknowledgment_rate: float | None
    conversion: ConversionOut
    churn: float | None
    seats_freed: Count
    seat_idle_seconds: Count
    seat_idle_while_waiting_seconds: Count
    server_time: datetime
