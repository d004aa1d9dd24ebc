"""Health checks for load balancers: liveness and readiness. No credential needed."""

from __future__ import annotations

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from pipeline.database.errors import ClusterError
from pipeline.selectors.health import (
    decay_worker_is_alive,
    migrations_are_applied,
    task_worker_is_alive,
)


@never_cache
@require_safe
def live(request: HttpRequest) -> JsonResponse:
    """Answer 200 as long as the process runs, without any look-up."""
    return JsonResponse({"status": "ok"})


@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """Answer 200 if everything needed is reachable; else 503, naming what is missing."""
    try:
        checks = {"migrations": migrations_are_applied()}
        if checks["migrations"]:
            checks = {
                "decay_worker": decay_worker_is_alive(),
                "task_worker": task_worker_is_alive(),
            }
    except (OperationalError, InterfaceError, ClusterError):
        checks = {"database": False}
    missing = [name for name, is_well in checks.items() if not is_well]
    body = {"status": "unavailable" if missing else "ok", "missing": missing}
    response = JsonResponse(body, status=503 if missing else 200)
    response._has_been_logged = True  # type: ignore[attr-defined] # by Django, as an ERROR
    return response
