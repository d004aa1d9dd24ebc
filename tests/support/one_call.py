"""A process that sends one request and is killed at once, before or after the change is made."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import django

django.setup()

from pipeline.web import idempotency  # noqa: E402
from tests.support.callers import Caller  # noqa: E402


def main(moment: str, token: str, key: str, path: str, body: str) -> None:
    """Send a request with a body in JSON; die before or after it is carried out."""
    if moment == "before":
        claim = idempotency.claim_key
        idempotency.claim_key = lambda *given: die(claim(*given))
    else:
        idempotency.keep_idempotent_answer = die
    Caller(token).post(path, json.loads(body), idempotency_key=key)


def die(*_: Any, **__: Any) -> Any:
    """End like a process that the kernel kills: close nothing, and tell nobody."""
    os.kill(os.getpid(), signal.SIGKILL)
