"""Labels of task statuses, task events and import results. Pure."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.models import ImportRun
from tasks.models import EventKind, Status


class TaskStatusWords(NamedTuple):
    """A task status's label, its tone, and a clause for use inside a sentence."""

    label: str
    tone: str
    clause: str


TASK_STATUS_WORDS: dict[str, TaskStatusWords] = {
    Status.PENDING: TaskStatusWords("Waiting", "wait", "it is waiting to run"),
    Status.RUNNING: TaskStatusWords("Running", "warn", "it is running"),
    Status.CANCELLING: TaskStatusWords("Stopping", "warn", "it is being cancelled"),
    Status.SUCCEEDED: TaskStatusWords("Done", "good", "it is done"),
    Status.CANCELLED: TaskStatusWords("Cancelled", "plain", "it was cancelled"),
    Status.DEAD: TaskStatusWords("Failed", "bad", "it has failed"),
    Status.DISCARDED: TaskStatusWords("Discarded", "plain", "it was discarded"),
}

# The title and tone of every task event, except those that a handler names.
TASK_EVENT_WORDS: dict[str, tuple[str, str]] = {
    EventKind.ENQUEUED: ("Created", "wait"),
    EventKind.STARTED: ("Started", "wait"),
    EventKind.PROGRESS: ("Progress", "plain"),
    EventKind.SUCCEEDED: ("Done", "good"),
    EventKind.FAILED: ("Attempt failed", "bad"),
    EventKind.RETRY_SCHEDULED: ("Retry scheduled", "warn"),
    EventKind.RETURNED: ("Returned to the queue", "warn"),
    EventKind.LEASE_LOST: ("Lease lost", "bad"),
    EventKind.CANCEL_REQUESTED: ("Cancelling", "warn"),
    EventKind.CANCELLED: ("Cancelled", "plain"),
    EventKind.DEAD: ("Failed for the last time", "bad"),
    EventKind.REPLAYED: ("Queued to run again", "wait"),
    EventKind.DISCARDED: ("Discarded", "plain"),
}

IMPORT_ENDING_WORDS: dict[str, str] = {
    ImportRun.Ending.COMPLETE: "Done",
    ImportRun.Ending.JOB_PAUSED: "Ended early: the job was paused",
    ImportRun.Ending.JOB_CLOSED: "Ended early: the job was closed",
    ImportRun.Ending.JOB_FULL: "Ended early: the job’s log is full",
    ImportRun.Ending.BAD_FILE: "The file cannot be read",
}
