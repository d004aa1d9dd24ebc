"""A process that sends one request and is killed at once, before or after the change is made.

Usage: python -m tests.support.one_call before|after TOKEN KEY PATH BODY
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

import django

django.setup()

from pipeline.limits import idempotency  # noqa: E402
from tests.support.callers import Caller  # noqa: E402


def main(moment: str, token: str, key: str, path: str, body: str) -> None:
    if moment == "before":
        claim = idempotency.claim_idempotency_key
        idempotency.claim_idempotency_key = lambda *given: die(claim(*given))
    else:
        idempotency.keep_idempotent_answer = die
    Caller(token).post(path, json.loads(body), idempotency_key=key)


def die(*_: Any, **__: Any) -> Any:
    """End like a process that the kernel kills: close nothing, and tell nobody."""
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
