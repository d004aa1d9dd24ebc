"""Settings of a company's reviews: working hours, and who is told about a job."""

from __future__ import annotations

import logging
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from jobs import activity
from jobs.models import Company, Telling
from jobs.review_clock import WorkingHours
from pipeline.models import JobFollower

security = logging.getLogger("security")


HOURS_CHANGED = activity.declare(
    "working_hours.changed", activity.Group.RULES, _("Changed the working hours")
)


def set_working_hours(
    *, company_id: UUID, hours: WorkingHours | None, by: UUID | None = None
) -> None:
    """Set the hours in which the time to a company's review targets runs; None for all hours."""
    stored = hours and hours.stored()
    Company.objects.filter(id=company_id).update(working_hours=stored)
    activity.note(HOURS_CHANGED, company_id=company_id, by=by)
    security.info("working_hours.changed", extra={"company": str(company_id)})


def follow(*, job_id: UUID, user_id: UUID, telling: Telling | None) -> None:
    """Choose how a member is told about one job's reviews; None as about all others."""
    own = JobFollower.objects.filter(job_id=job_id, user_id=user_id)
    if telling is None:
        own.delete()
    else:
        own.update_or_create(job_id=job_id, user_id=user_id, defaults={"telling": telling})
