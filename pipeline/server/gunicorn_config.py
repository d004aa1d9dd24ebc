"""Gunicorn's settings, the same on a laptop and in a container except for the address.

Used as `gunicorn -c python:pipeline.server.gunicorn_config pipeline.asgi`. Arguments on the command
line and in GUNICORN_CMD_ARGS take precedence. Gunicorn's own variables work: PORT for the address,
WEB_CONCURRENCY for the number of workers.
"""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.urls import get_resolver
from gunicorn.glogging import Logger

from pipeline.config import env
from pipeline.config.logging import JSONFormatter
from pipeline.database import file_locks, pooler
from pipeline.line.peers import Peers
from tasks.parent import end_with_supervisor

worker_class = "pipeline.server.gunicorn_worker.LiveWorker"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
# Threads per worker, for everything except live streams. Each has a database connection. Measured
# by bench/side_by_side.py: with more threads, more requests wait for a job's lock at once.
threads = 16
# Connections that wait in the kernel to be accepted, at most as many as the system allows
# (net.core.somaxconn). Beyond that it lets connections time out, and nobody is told to wait.
backlog = 4_096

# Time for requests to finish when the server stops. Live streams are closed at once.
GRACE_SECONDS = 8

timeout = 30  # seconds a worker may be silent before it is replaced
graceful_timeout = GRACE_SECONDS + 1  # then gunicorn kills
keepalive = 5

# Django logs each request that it refuses, with its id. What the event loop refuses is counted in
# one line per client and second (`pipeline.web.refusal_log`).
accesslog = None
errorlog = "-"
loglevel = env.LOG_LEVEL.lower()
logger_class = "pipeline.server.gunicorn_config.LineLogger"

# It would be one file in the home directory, shared by all gunicorns of this user.
control_socket_disable = True


def on_starting(server: Any) -> None:
    """Create the folder for the workers' counters of /metrics and for uploads.

    Then load the program once, before workers are forked: they start at once and share its memory.
    """
    remove_left_folders()
    server.folder = make_folder()
    # Twice as many rows as processes: while the server reloads, old and new ones run.
    server.peers = Peers(2 * server.cfg.workers) if sys.platform == "linux" else None
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = server.folder
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pipeline.settings")
    gc.disable()  # nearly all that is loaded stays
    django.setup()
    settings.FILE_UPLOAD_TEMP_DIR = server.folder
    pooler.refuse_unfit_addresses()
    get_resolver().url_patterns  # noqa: B018  imports the views
    # The collector would write into the objects that are shared, and so copy them.
    gc.collect()
    gc.freeze()
    gc.enable()
    end_with_supervisor()


def pre_fork(server: Any, worker: Any) -> None:
    """Give a process that is about to start its row among those that hand turns over."""
    worker.peers = server.peers
    worker.row = server.peers.claim() if server.peers else None


def child_exit(server: Any, worker: Any) -> None:
    """Drop the gauges of an ended process, and free its row."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(worker.pid)
    if worker.row is not None:
        server.peers.release(worker.row)


def on_exit(server: Any) -> None:
    """Remove the folder."""
    shutil.rmtree(server.folder, ignore_errors=True)


# Gunicorn's own log lines, such as a worker that is replaced, in the format of all others.


class LineLogger(Logger):
    """gunicorn's logger, which writes JSON lines if the other processes do."""

    def setup(self, cfg: Any) -> None:
        """Set up the loggers as gunicorn does, then choose the format of their lines."""
        super().setup(cfg)
        if env.LOG_FORMAT == "json":
            for handler in self.error_log.handlers:
                handler.setFormatter(JSONFormatter())


# Temporary folder of a web server: counters for /metrics, and uploads. A kill leaves it behind. The
# next web server on the machine removes it.


FOLDER_PREFIX, STARTING_PREFIX = "next-in-line-web-", "next-in-line-starting-"
FOLDER_LOCK = "lock"


def make_folder() -> str:
    """Create a folder, and lock it for as long as this process or a child that it forks lives.

    It gets its name only once it is locked, so that no other server removes it before.
    """
    folder = Path(tempfile.mkdtemp(prefix=STARTING_PREFIX))
    fcntl.flock(file_locks.open_private(folder / FOLDER_LOCK), fcntl.LOCK_EX)
    name = FOLDER_PREFIX + folder.name.removeprefix(STARTING_PREFIX)
    return str(folder.rename(folder.with_name(name)))


def remove_left_folders() -> None:
    """Remove the folders of this user whose web servers are gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        try:
            if folder.lstat().st_uid != os.getuid():
                continue
            lock = os.open(folder / FOLDER_LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:  # another server removes it, or it is none of ours
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(lock)
