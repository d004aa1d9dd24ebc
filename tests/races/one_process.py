"""A process that waits for a line on its input and then applies to a job, for each person given.

Usage: python -m tests.races.one_process [--without-lock] JOB PERSON…
Prints "ready" when it can start, then one word for each person: the status, or the refusal's name.
"""

from __future__ import annotations

import sys
import time
from typing import Any
from uuid import UUID

import django

django.setup()

from pipeline.line import sql  # noqa: E402
from pipeline.services import apply as applying  # noqa: E402
from tests.support import factories  # noqa: E402


def main(arguments: list[str]) -> None:
    if arguments[0] == "--without-lock":
        take_the_lock_away()
        arguments = arguments[1:]
    job_id, *people = map(UUID, arguments)
    list(factories.Applicant.objects.filter(id__in=people))  # connects
    say("ready")
    sys.stdin.readline()
    for person in people:
        say(attempt(job_id, person))


def take_the_lock_away() -> None:
    """Lock nothing, log nothing (so that nothing else stops it), and think before writing."""
    sql.LOCK_JOB = sql.LOCK_JOB.replace("FOR NO KEY UPDATE", "")
    sql.APPEND = f"{sql.APPEND} WHERE false"
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


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
