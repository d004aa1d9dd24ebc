"""End of a process whose starter is gone, as after kill -9 of a master."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time

from django.conf import settings

log = logging.getLogger(__name__)

TICK_SECONDS = 0.2
# Noted early: a supervisor that ends while the program loads is noticed too.
_STARTER = os.getppid()


def end_with_parent(parent: int, *, grace_seconds: int = 0) -> None:
    """Send this process SIGTERM once `parent` is gone; after `grace_seconds`, the kernel ends it.

    With 0, it may take as long as it needs. The id of the parent is asked for again and again: that
    works on every POSIX system, notices a parent that was gone before we began, and does not
    mistake the end of a thread for that of its process, as PR_SET_PDEATHSIG of Linux does.
    """
    watch = threading.Thread(
        target=_watch, args=(parent, grace_seconds), name="parent", daemon=True
    )
    watch.start()


def end_with_supervisor() -> None:
    """End with the process that started this one, if the setting END_WITH_PARENT asks for it."""
    if getattr(settings, "END_WITH_PARENT", False):
        end_with_parent(_STARTER)


def _watch(parent: int, grace_seconds: int) -> None:
    while os.getppid() == parent:  # ids are reused, but no other process can become our parent
        time.sleep(TICK_SECONDS)
    if grace_seconds:
        signal.alarm(grace_seconds)  # it kills even a process that no longer runs any Python
    log.warning("the process that started this one (%s) is gone, so this one ends", parent)
    os.kill(os.getpid(), signal.SIGTERM)
