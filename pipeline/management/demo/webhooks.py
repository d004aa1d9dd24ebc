"""Webhook deliveries of the demo's past. Their receiver never existed: no request is sent.

Everything but the network is real: the endpoint, the queue, and the runs that sign, record and
retry. The endpoint wants events that only a person causes, so none is sent while the demo runs by
itself. Events that a visitor causes are really sent, to a name that no resolver knows.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import cast
from uuid import UUID

from django.db.models import Min
from django.db.models.functions import Now

from pipeline.database import instants
from pipeline.management.demo.past import PastActs
from pipeline.models import WebhookAttempt, WebhookDelivery, WebhookEndpoint
from pipeline.outgoing.client import Answer, Failure, Outgoing, WebhookClient
from pipeline.webhooks import endpoints, queue
from pipeline.webhooks.deliver import RUN_SECONDS, DeliveryRun, OvertimeLock
from pipeline.webhooks.queue import QUEUE
from tasks.models import Status as TaskStatus
from tasks.models import Task

CREATED_DAYS_AGO = 26.0
URL = "https://hooks.demo.example/next-in-line"
DESCRIPTION = "The harbour's chat. An example: no program receives these."
TYPES = [
    *("job.paused", "job.resumed", "job.closed", "job.capacity_changed", "job.policy_changed"),
    "application.closed_out",
]
QUEUED_AFTER = timedelta(seconds=2)
_TEXT = {"content-type": "text/plain"}
_DOWN = {"status": 503, "failure": Failure.STATUS, "headers": _TEXT, "body": "Restarting."}
# Answers to the first attempts at a type; later ones are accepted. The last of REFUSED never ends.
_TROUBLE = {"job.capacity_changed": ({"failure": Failure.TIMEOUT, "duration_ms": 15_000}, _DOWN)}
_REFUSED = {
    "job.closed": {
        "status": 422,
        "failure": Failure.STATUS,
        "headers": {"content-type": "application/json"},
        "body": '{"error": "this channel is archived"}',
    }
}


class PastWebhookReceiver:
    """Stand-in for a run's client that makes up the answers."""

    def __init__(self, endpoint_id: UUID) -> None:
        self._endpoint_id = endpoint_id
        self._answers: list[Answer] = []

    def send(self, requests: Iterable[Outgoing]) -> None:
        """Answer requests to the demo's endpoint. Requests to others stay unsent."""
        self._answers += [self._answer(each) for each in requests]

    def answers(self, seconds: float) -> list[Answer]:
        """Return the answers since the last call."""
        ready, self._answers = self._answers, []
        return ready

    def close_pool(self, endpoint_id: UUID) -> None:
        """Do nothing: there are no connections."""

    def _answer(self, request: Outgoing) -> Answer:
        answer = Answer(request.key, request.endpoint_id, duration_ms=80)
        if request.endpoint_id != self._endpoint_id:
            answer.is_unsent = True
            return answer
        row = WebhookDelivery.objects.get(id=request.key)
        trouble = _TROUBLE.get(row.type, ())
        taken = {"status": 200, "headers": _TEXT, "body": "ok"}
        given = trouble[row.attempts] if row.attempts < len(trouble) else taken
        for name, value in _REFUSED.get(row.type, given).items():
            setattr(answer, name, value)
        return answer


class PastWebhooks:
    """Endpoint of the demo and its deliveries, as acts of the past."""

    def __init__(self, acts: PastActs, company_id: UUID, changes_days_ago: Iterable[float]) -> None:
        self._acts, self._company_id = acts, company_id
        self._endpoint_id: UUID | None = None
        created = acts.clock.end - timedelta(days=CREATED_DAYS_AGO)
        acts.plan(created, self.create)
        for days_ago in changes_days_ago:
            if days_ago < CREATED_DAYS_AGO:
                moment = acts.clock.end - timedelta(days=days_ago)
                acts.plan(moment + QUEUED_AFTER, self.deliver)

    def create(self) -> None:
        """Create the endpoint, as its page does."""
        row, _secret = endpoints.create(
            company_id=self._company_id, url=URL, description=DESCRIPTION, types=TYPES
        )
        self._endpoint_id = row.id
        WebhookEndpoint.objects.filter(id=row.id).update(created_at=Now())

    def deliver(self) -> None:
        """Queue new events and send due deliveries; plan the next attempts of failed ones.

        Columns that the tables or this process fill in themselves are set to the simulated time.
        """
        if self._endpoint_id is None:
            return
        now = instants.now()
        waiting = Task.objects.filter(type__key=QUEUE, status=TaskStatus.PENDING)
        for task in waiting.filter(payload__company_id=str(self._company_id)).order_by("id"):
            queued = queue.add_events(
                company_id=self._company_id,
                job_id=UUID(task.payload["job_id"]),
                first_seq=task.payload["first_seq"],
                last_seq=task.payload["last_seq"],
            )
            times = dict.fromkeys(("created_at", "started_at", "finished_at"), Now())
            done = {"status": TaskStatus.SUCCEEDED, "attempt": 1, "result": {"queued": queued}}
            Task.objects.filter(id=task.id).update(**times, **done)
        deliveries = WebhookDelivery.objects.filter(endpoint_id=self._endpoint_id)
        new = deliveries.filter(created_at__gt=now)
        new.update(created_at=Now(), round_started_at=Now())
        client = cast(WebhookClient, PastWebhookReceiver(self._endpoint_id))
        run = DeliveryRun(client, is_cancelled=lambda: False)
        run.run_until_nothing_is_due(RUN_SECONDS, OvertimeLock())
        ids = deliveries.values("id")
        for attempt in WebhookAttempt.objects.filter(delivery_id__in=ids, at__gt=now):
            attempt.at = now
            attempt.request_headers["webhook-timestamp"] = str(int(now.timestamp()))
            attempt.save()
        pending = deliveries.filter(state=WebhookDelivery.State.PENDING)
        due = pending.aggregate(due=Min("next_attempt_at"))["due"]
        rests = WebhookEndpoint.objects.get(id=self._endpoint_id).rests_until
        if due is not None:
            self._acts.plan(max(due, rests or due) + QUEUED_AFTER, self.deliver)
