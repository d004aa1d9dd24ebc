"""Period for which a job keeps the personal data of ended applications."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.utils.translation import gettext as _

from jobs import activity
from jobs.errors import BadRetention
from jobs.models import KEEP_DAYS, Company, Job, Retention

security = logging.getLogger("security")


class Period(NamedTuple):
    """Days for which data is kept, or a legal hold: until it is lifted."""

    days: int
    legal_hold: bool

    def ends_at(self, ended_at: datetime) -> datetime:
        """Return when the data of an application is erased that has ended, without a hold."""
        return ended_at + timedelta(days=self.days)


def period_of(job: Job) -> Period:
    """Return the period of a job that was read with its company and retention."""
    own: Retention | None = getattr(job, "retention", None)
    if own is not None:
        return Period(own.keep_days, own.legal_hold)
    return Period(job.company.keep_days or Retention.USUAL_DAYS, legal_hold=False)


def set_company_period(*, company_id: UUID, keep_days: int | None, by: UUID | None) -> None:
    """Set how long a company's jobs keep data, unless they say so themselves; None: as is usual.

    Raises BadRetention.
    """
    if keep_days is not None and not KEEP_DAYS[0] <= keep_days <= KEEP_DAYS[1]:
        why = _("Enter a number of days from %(least)s to %(most)s.")
        raise BadRetention(why % {"least": KEEP_DAYS[0], "most": f"{KEEP_DAYS[1]:,}"})
    Company.objects.filter(id=company_id).update(keep_days=keep_days)
    activity.note(activity.KEEP_DAYS_CHANGED, company_id=company_id, by=by)
    told = {"company": str(company_id), "by": str(by), "keep_days": keep_days}
    security.info("retention.changed", extra=told)
