"""Preferences of people who apply: the time zone of their emails, and reminders."""

from __future__ import annotations

import logging
from uuid import UUID

from applicants.models import Applicant
from tasks import time_zones

security = logging.getLogger("security")


def remember_time_zone(applicant_id: UUID, zone: str) -> None:
    """Store the time zone of a person's browser, for times in emails; ignore an unknown one.

    UTC is ignored too: it is the default for a browser without a zone.
    """
    if zone != "UTC" and time_zones.is_known(zone):
        Applicant.objects.filter(id=applicant_id).exclude(time_zone=zone).update(time_zone=zone)


def stop_reminders(applicant_id: UUID) -> None:
    """Stop reminders of deadlines to a person. Doing so twice is harmless."""
    if Applicant.objects.filter(id=applicant_id, reminders=True).update(reminders=False):
        security.info("reminders.stopped", extra={"applicant": str(applicant_id)})
