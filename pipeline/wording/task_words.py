"""Words for statuses and events of background tasks, and for the end of an import. Pure."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.models import ImportRun
from tasks.models import TaskEvent
from tasks.models.statuses import Status


class TaskStatusWords(NamedTuple):
    """The label of a task's status, its tone, and a clause for the middle of a sentence."""

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

# The title and the tone of every event of a task, except one that its handler names.
TASK_EVENT_WORDS: dict[str, tuple[str, str]] = {
    TaskEvent.Kind.ENQUEUED: ("Created", "wait"),
    TaskEvent.Kind.STARTED: ("Started", "wait"),
    TaskEvent.Kind.PROGRESS: ("Progress", "plain"),
    TaskEvent.Kind.SUCCEEDED: ("Done", "good"),
    TaskEvent.Kind.FAILED: ("Attempt failed", "bad"),
    TaskEvent.Kind.RETRY_SCHEDULED: ("Retry scheduled", "warn"),
    TaskEvent.Kind.RETURNED: ("Returned to the queue", "warn"),
    TaskEvent.Kind.LEASE_LOST: ("Lease lost", "bad"),
    TaskEvent.Kind.CANCEL_REQUESTED: ("Cancelling", "warn"),
    TaskEvent.Kind.CANCELLED: ("Cancelled", "plain"),
    TaskEvent.Kind.DEAD: ("Failed for the last time", "bad"),
    TaskEvent.Kind.REPLAYED: ("Replayed", "wait"),
    TaskEvent.Kind.DISCARDED: ("Discarded", "plain"),
}

IMPORT_ENDING_WORDS: dict[str, str] = {
    ImportRun.Ending.COMPLETE: "Done",
    ImportRun.Ending.JOB_PAUSED: "Ended early: the job was paused",
    ImportRun.Ending.JOB_CLOSED: "Ended early: the job was closed",
}
