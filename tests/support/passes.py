"""Requests that pass a turn, each by a person who can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support import factories
from tests.support.callers import Caller, signed_in


def offer_pass_post() -> tuple[Caller, str, Any]:
    offered = factories.application(factories.job(acknowledge_first_seat=True))
    return signed_in(offered.applicant), f"/applications/{offered.id}/pass", {}


def next_pass_post() -> tuple[Caller, str, Any]:
    _seated, waiting = factories.applications(factories.job(), 2)
    path = f"/applications/{waiting.id}/pass-next"
    return signed_in(waiting.applicant), path, {"pass_next": True}


PASS_POSTS: dict[str, Callable[[], tuple[Caller, str, Any]]] = {
    "applications/<uuid:application_id>/pass": offer_pass_post,
    "applications/<uuid:application_id>/pass-next": next_pass_post,
}
