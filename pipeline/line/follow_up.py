"""Follow-up of a change: tasks derived from its events, written in the statement that logs them.

Rooms above the line register what they derive (emails, webhooks); the line imports none of them.
"""

from __future__ import annotations

from collections.abc import Callable

from pipeline.line.event_log import LogEntry
from pipeline.line.locked_job import LockedJob
from tasks.enqueue import NewTask

Derive = Callable[[LockedJob, list[LogEntry]], list[NewTask]]

_derivations: list[Derive] = []


def register(derive: Derive) -> None:
    """Write the tasks of `derive` with every change from now on; registering twice is harmless.

    It is called under the job's lock with the events that are about to be written, so it must be
    quick and must not use the database; what it raises fails the change. A task holds ids only,
    and its type is registered in `pipeline.tasks`: for a type without a row nothing is written.
    """
    if derive not in _derivations:
        _derivations.append(derive)


def unregister(derive: Derive) -> None:
    """Undo `register` (for tests)."""
    _derivations.remove(derive)


def tasks_after(job: LockedJob) -> list[NewTask]:
    """Derive the tasks that follow from the events which are not written yet."""
    return [task for derive in _derivations for task in derive(job, job.entries)]
