"""Outage of the site: time that nobody had to confirm an offered seat is given back."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db.models import Min

from pipeline.database.instants import database_now
from pipeline.domain.errors import AcknowledgmentExpired, IllegalMove
from pipeline.domain.states import Status
from pipeline.models import Application, Heartbeat
from pipeline.services.extend import extend_deadline
from tasks.models import TaskWorker

logger = logging.getLogger(__name__)

# A silence that counts as an outage, and the part of a window that is too little to give back.
LEAST_OUTAGE, LEAST_PART = timedelta(minutes=1), 0.02


def find_last_outage() -> tuple[datetime, datetime] | None:
    """Return the beginning and end of the silence before this process; None if there was none.

    Silence is when neither the decay worker nor any task worker gave a sign of life: then the whole
    site was down. A decay worker that was away alone is no outage, because people could confirm.
    """
    beat = Heartbeat.objects.filter(worker="decay").values_list("completed_at", flat=True).first()
    if beat is None:
        return None
    before = TaskWorker.objects.filter(started_at__lte=beat).values_list("beat_at", flat=True)
    begun = max([beat, *before])
    since = TaskWorker.objects.filter(started_at__gt=beat).aggregate(first=Min("started_at"))
    ended = since["first"] or database_now()
    return (begun, ended) if ended - begun >= LEAST_OUTAGE else None


def extend_after_outage() -> int:
    """Extend the open offers by the time that an outage took of them; return how many.

    To be called when the site starts, before anything is settled. An offer whose deadline passed
    meanwhile stays missed: after its deadline nobody becomes active on it. Each offer is extended
    once and by one window at most. Must not be called inside a transaction.
    """
    outage = find_last_outage()
    if outage is None:
        return 0
    begun, ended = outage
    offers = Application.objects.filter(
        status=Status.PENDING_ACKNOWLEDGMENT,
        deadline_extended=False,
        acknowledge_by__gt=ended,
        promoted_at__lt=ended,
    )
    columns = "id", "promoted_at", "acknowledge_by", "job__acknowledgment_window_seconds"
    extended = 0
    for application_id, offered_at, deadline, most in offers.order_by("acknowledge_by").values_list(
        *columns
    ):
        lost = ended - max(begun, offered_at)
        if lost <= (deadline - offered_at) * LEAST_PART:
            continue
        seconds = min(max(1, round(lost.total_seconds())), most)
        try:
            extend_deadline(application_id=application_id, seconds=seconds)
            extended += 1
        except (AcknowledgmentExpired, IllegalMove):  # answered, or another worker was first
            continue
    logger.warning("After an outage of %s, %d deadlines were extended", ended - begun, extended)
    return extended
