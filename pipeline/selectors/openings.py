"""Reads of open jobs for people who look for one."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Q

from jobs.models import Job, JobStatus
from pipeline.selectors.paging import Page


def openings(*, search: str, after: UUID | None, limit: int) -> Page[Job]:
    """Return the open jobs of every company, newest first, with posting and company.

    This takes one query.

    `search` matches title, location and company. `after` is the last job of the previous page.
    """
    jobs = Job.objects.select_related("posting", "company").filter(status=JobStatus.OPEN)
    for word in search.split():
        jobs = jobs.filter(
            Q(posting__title__icontains=word)
            | Q(posting__location__icontains=word)
            | Q(company__name__icontains=word)
        )
    if after:
        jobs = jobs.filter(id__lt=after)
    return Page.cut(list(jobs.order_by("-id")[: limit + 1]), limit)
