"""Processes that apply to a job, one after the other for each of their people, all at one moment.

Usage: python -m tests.races.processes [--without-lock] JOB PERSON,… PERSON,… …
Each list of people is one process. Prints a word for each person: the status, or the name of the
refusal.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from multiprocessing.synchronize import Barrier
from typing import Any
from uuid import UUID

import django

django.setup()

from django.db import connection  # noqa: E402

from pipeline.line import lock  # noqa: E402
from pipeline.line import write as writing  # noqa: E402
from pipeline.services import joining as applying  # noqa: E402
from tests.support import factories  # noqa: E402
from tests.support.statements import changed  # noqa: E402


def main(arguments: list[str]) -> None:
    if arguments[0] == "--without-lock":
        take_the_lock_away()
        arguments = arguments[1:]
    job_id, *lists = arguments
    processes = multiprocessing.get_context("fork")
    all_ready = processes.Barrier(len(lists), timeout=60)
    runs = [
        processes.Process(target=apply_all, args=(UUID(job_id), people.split(","), all_ready))
        for people in lists
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    sys.exit(any(run.exitcode for run in runs))


def apply_all(job_id: UUID, people: list[str], all_ready: Barrier) -> None:
    connection.ensure_connection()
    all_ready.wait()
    words = [attempt(job_id, UUID(person)) for person in people]
    os.write(sys.stdout.fileno(), "".join(f"{word}\n" for word in words).encode())


def take_the_lock_away() -> None:
    """Lock nothing, log nothing (so that nothing else stops it), and think before writing."""
    lock.LOCK_JOB = changed(lock.LOCK_JOB, "FOR NO KEY UPDATE", "")
    writing.APPEND = f"{writing.APPEND} WHERE false"
    write = applying.write

    def slowly(job: Any, *, commit: bool = False) -> None:
        time.sleep(0.1)
        write(job, commit=commit)

    applying.write = slowly


def attempt(job_id: UUID, person: UUID) -> str:
    who = {"applicant_id": person, "name": "Someone", "actor": factories.as_applicant(person)}
    try:
        return str(applying.apply(job_id=job_id, **who).status)
    except Exception as error:
        return type(error).__name__


if __name__ == "__main__":
    main(sys.argv[1:])
