"""Gunicorn's settings, the same on a laptop and in a container; only the address differs.

Used as `gunicorn -c python:pipeline.server.gunicorn_config pipeline.asgi`. Arguments on the command
line and in GUNICORN_CMD_ARGS win, and gunicorn's own variables hold: PORT for the address,
WEB_CONCURRENCY for the number of workers.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any

from pipeline.config import env

worker_class = "pipeline.server.gunicorn_worker.LiveWorker"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
# Of each worker, for everything but live streams: each has a connection to the database. Measured
# by bench/side_by_side.py: with more of them, more requests wait for a job's lock together.
threads = 16

# Time for requests to end when the server stops; live streams are ended at once.
GRACE_SECONDS = 8

timeout = 30  # seconds a worker may be silent before it is replaced
graceful_timeout = GRACE_SECONDS + 1  # then gunicorn kills
keepalive = 5

accesslog = None  # the application logs refused requests itself, with their ids
errorlog = "-"
loglevel = env.LOG_LEVEL.lower()

# It would live under one name in the home directory, shared by every gunicorn of this user.
control_socket_disable = True


def on_starting(server: Any) -> None:
    """Make the directory in which workers add up their counters for /metrics."""
    server.counted = tempfile.mkdtemp(prefix="next-in-line-metrics-")
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = server.counted


def child_exit(server: Any, worker: Any) -> None:
    """Drop the gauges of an ended process."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(worker.pid)


def on_exit(server: Any) -> None:
    """Remove the directory of counters."""
    shutil.rmtree(server.counted, ignore_errors=True)
