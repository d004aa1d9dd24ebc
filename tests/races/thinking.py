"""Changes that think a while before they write, with the job's lock or without it."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from pipeline.line import lock
from tests.support.statements import changed

THINK_SECONDS = 0.1
_LOCK = "FOR NO KEY UPDATE"


def with_and_without_lock(*services: ModuleType) -> Callable[..., Any]:
    """Return a fixture that tells whether these services' changes lock the job.

    Without the lock, a race must be lost: that is the control.
    """

    @pytest.fixture(params=[True, False], ids=["locked", "control without the lock"])
    def locked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
        if not request.param:
            for name in ("LOCK_JOB", "LOCK_JOB_OF"):
                monkeypatch.setattr(lock, name, changed(getattr(lock, name), _LOCK, ""))
        for service in services:
            monkeypatch.setattr(service, "write", _after_thinking(vars(service)["write"]))
        return bool(request.param)

    return locked


def _after_thinking(act: Callable[..., None]) -> Callable[..., None]:
    def run(job: Any, *, commit: bool = False) -> None:
        time.sleep(THINK_SECONDS)
        act(job, commit=commit)

    return run
