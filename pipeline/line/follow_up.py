"""Follow-up of a change: tasks derived from its events, written in the same statement.

Packages above the line register what they derive (emails, webhooks). The line imports none of them.
"""

from __future__ import annotations

from collections.abc import Callable

from pipeline.line.event_log import LogEntry
from pipeline.line.locked_job import LockedJob
from tasks.enqueue import NewTask

Derive = Callable[[LockedJob, list[LogEntry]], list[NewTask]]

_derivations: list[Derive] = []


def register_follow_up(derive: Derive) -> None:
    """Write the tasks of `derive` with every later change. Registering twice is harmless.

    `derive` is called under the job's lock with the events about to be written, so it must be quick
    and must not use the database. If it raises, the change fails. A task holds only ids, and its
    type is registered in `pipeline.tasks`: for a type without a row, no task is written and
    an error is logged.
    """
    if derive not in _derivations:
        _derivations.append(derive)


def unregister_follow_up(derive: Derive) -> None:
    """Undo `register` (for tests)."""
    _derivations.remove(derive)


def follow_up_tasks(job: LockedJob) -> list[NewTask]:
    """Derive the tasks that follow from the unwritten events."""
    return [task for derive in _derivations for task in derive(job, job.entries)]
