"""Gunicorn's settings, the same on a laptop and in a container; only the address differs.

Used as `gunicorn -c python:pipeline.server.gunicorn_config --bind ADDRESS pipeline.asgi`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any

from pipeline.config import env

worker_class = "pipeline.server.gunicorn_worker.LiveWorker"
workers = 2
threads = 4  # of each worker, for what is not a live stream; see pipeline.asgi

GRACE_SECONDS = 8
"""How long requests have to end when the server stops; live streams are ended at once."""

timeout = 30  # seconds a worker may be silent before it is replaced
graceful_timeout = GRACE_SECONDS + 1  # then gunicorn kills
keepalive = 5

accesslog = None  # the application logs requests itself, with their ids
errorlog = "-"
loglevel = env.LOG_LEVEL.lower()

# It would live under one name in the home directory, shared by every gunicorn of this user.
control_socket_disable = True


def on_starting(server: Any) -> None:
    """Give the workers a directory in which to add up what each has counted, for /metrics."""
    server.counted = tempfile.mkdtemp(prefix="next-in-line-metrics-")
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = server.counted


def child_exit(server: Any, worker: Any) -> None:
    """Count no longer what a process that has ended held open."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(worker.pid)


def on_exit(server: Any) -> None:
    """Leave nothing behind."""
    shutil.rmtree(server.counted, ignore_errors=True)
