"""Outage of the site: time that nobody had to confirm an offered seat is given back."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import connection

from pipeline.domain.errors import AcknowledgmentExpired, IllegalMove
from pipeline.domain.states import Status
from pipeline.models import Application, Heartbeat
from pipeline.services.extend import extend_deadline

logger = logging.getLogger(__name__)

# A silence that counts as an outage, and the part of a window that is too little to give back.
LEAST_OUTAGE, LEAST_PART = timedelta(minutes=1), 0.02
SIGN_SECONDS = 10.0  # between two signs of life of a task worker


# Say that the site runs. The first sign of life after a silence records the silence, unless a
# longer one still waits to be made up for; no exit of a process deletes it.
_SIGN_OF_LIFE = """
INSERT INTO pipeline_heartbeat AS h (worker, completed_at) VALUES ('site', clock_timestamp())
ON CONFLICT (worker) DO UPDATE SET
    completed_at = greatest(h.completed_at, excluded.completed_at),
    (silent_since, silent_until) = (
        SELECT since, until
        FROM (VALUES (h.completed_at, excluded.completed_at), (h.silent_since, h.silent_until))
            AS silence(since, until)
        WHERE until - since >= make_interval(secs => %s)
        ORDER BY until - since DESC LIMIT 1)
RETURNING silent_since, silent_until
"""


def give_sign_of_life() -> tuple[datetime, datetime] | None:
    """Record that the site runs; return the beginning and end of a silence not yet made up for.

    Silence is when neither a decay worker nor a task worker gave a sign of life: then the whole
    site was down, or its database. A decay worker that was away alone is no outage, because people
    could confirm.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SIGN_OF_LIFE, [LEAST_OUTAGE.total_seconds()])
        since, until = cursor.fetchone()
    return (since, until) if since else None


def give_sign_of_life_as_chore() -> float:
    """Give a sign of life of a task worker; return the seconds until the next."""
    give_sign_of_life()
    return SIGN_SECONDS


def extend_after_outage() -> int:
    """Extend the open offers by the time that an outage took of them; return how many.

    To be called before anything is settled, at the start and after every rest. An offer whose
    deadline passed meanwhile stays missed: after its deadline nobody becomes active on it. Each
    offer is extended once and by one window at most. Must not be called inside a transaction.
    """
    outage = give_sign_of_life()
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
    made_up_for = Heartbeat.objects.filter(worker="site", silent_until=ended)
    made_up_for.update(silent_since=None, silent_until=None)
    logger.warning("After an outage of %s, %d deadlines were extended", ended - begun, extended)
    return extended
