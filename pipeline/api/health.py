"""Health checks for load balancers: liveness and readiness. No credential needed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from pipeline.database.errors import ClusterError
from pipeline.line.event_log import logged_time
from pipeline.selectors.system import (
    are_migrations_applied,
    read_decay_worker_health,
    read_task_worker_health,
)
from pipeline.web.addresses import answer_proxy_probe


@never_cache
@require_safe
def live(request: HttpRequest) -> JsonResponse:
    """Answer 200 as long as the process runs. Reads nothing."""
    return JsonResponse({"status": "ok"})


@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """Answer 200 if everything needed is reachable, else 503 with what is missing and since when.

    For a worker, "since" is its last sign of life, or null if it was never seen. A probe of
    `manage.py doctor` is also told how the site sees its request.
    """
    missing: dict[str, datetime | None]
    try:
        is_migrated = are_migrations_applied()
        seen = (
            {}
            if not is_migrated
            else {
                "decay_worker": read_decay_worker_health(),
                "task_worker": read_task_worker_health(),
            }
        )
    except (OperationalError, InterfaceError, ClusterError):
        missing = {"database": _outage.begin()}
    else:
        _outage.end()
        missing = {name: last.at for name, last in seen.items() if not last.is_alive}
        if not is_migrated:
            missing = {"migrations": None}
    body: dict[str, Any] = {
        "status": "unavailable" if missing else "ok",
        "missing": list(missing),
        "since": {name: at and logged_time(at) for name, at in missing.items()},
    }
    if seen_through_proxies := answer_proxy_probe(request):
        body["seen"] = seen_through_proxies
    response = JsonResponse(body, status=503 if missing else 200)
    response._has_been_logged = True  # type: ignore[attr-defined] # by Django, as an ERROR
    return response


class _HealthOutage:
    """The time at which this process first found the database unreachable."""

    def __init__(self) -> None:
        self._since: datetime | None = None

    def begin(self) -> datetime:
        self._since = self._since or datetime.now(UTC)
        return self._since

    def end(self) -> None:
        self._since = None


_outage = _HealthOutage()
