"""A process that takes in an import and kills itself in the second batch, at the place named.

The place is the function of `pipeline.files.imports.admitting` after which it dies, or "commit".
With --torn what is written of the line is committed before the import's own rows: a control.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any
from uuid import UUID

import django

django.setup()

from django.db import connection  # noqa: E402

from pipeline.files.imports import admitting  # noqa: E402

calls = 0


def main(import_id: str, place: str, *options: str) -> None:
    admitting.MOST_PARTS = 2
    admitting.LOCK_SECONDS = 60  # a busy machine makes no batch smaller
    if options:
        tear()
    if place == "commit":
        admitting.admit_rows(UUID(import_id), after_batch=die_second)
    setattr(admitting, place, dying_after(getattr(admitting, place)))
    admitting.admit_rows(UUID(import_id))


def tear() -> None:
    write = admitting.write

    def written_apart(job: Any) -> None:
        write(job)
        connection.connection.execute("COMMIT")
        connection.connection.execute("BEGIN")

    admitting.write = written_apart


def dying_after(act: Callable[..., Any]) -> Callable[..., Any]:
    def act_and_die(*given: Any) -> Any:
        answer = act(*given)
        die_second()
        return answer

    return act_and_die


def die_second(*_: object) -> None:
    global calls  # noqa: PLW0603  the process has one life
    calls += 1
    if calls == 2:
        os.kill(os.getpid(), signal.SIGKILL)
