"""Reads of a company's jobs with their key figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from jobs.models import Job
from pipeline.selectors.recent_stats import RecentActivity, recent_activity

WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class OverviewRow:
    """Job with figures that may need attention. Misses are those of the last seven days."""

    job: Job
    activity: RecentActivity


def overview_rows(jobs: Sequence[Job]) -> list[OverviewRow]:
    """Return the figures of each job on a page, in one query."""
    activity = recent_activity([job.id for job in jobs], WEEK)
    return [OverviewRow(job, activity[job.id]) for job in jobs]
