"""Labels of task statuses, task events and import results. Pure."""

from __future__ import annotations

from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from pipeline.models import ImportRun
from tasks.models import EventKind, Status


class TaskStatusWords(NamedTuple):
    """A task status's label, its tone, and a clause for use inside a sentence."""

    label: Promise
    tone: str
    clause: Promise


TASK_STATUS_WORDS: dict[str, TaskStatusWords] = {
    Status.PENDING: TaskStatusWords(
        pgettext_lazy("task", "Waiting"), "wait", _("it is waiting to run")
    ),
    Status.RUNNING: TaskStatusWords(pgettext_lazy("task", "Running"), "warn", _("it is running")),
    Status.CANCELLING: TaskStatusWords(
        pgettext_lazy("task", "Stopping"), "warn", _("it is being cancelled")
    ),
    Status.SUCCEEDED: TaskStatusWords(pgettext_lazy("task", "Done"), "good", _("it is done")),
    Status.CANCELLED: TaskStatusWords(
        pgettext_lazy("task", "Cancelled"), "plain", _("it was cancelled")
    ),
    Status.DEAD: TaskStatusWords(pgettext_lazy("task", "Failed"), "bad", _("it has failed")),
    Status.DISCARDED: TaskStatusWords(
        pgettext_lazy("task", "Discarded"), "plain", _("it was discarded")
    ),
}

# The title and tone of every task event, except those that a handler names.
TASK_EVENT_WORDS: dict[str, tuple[Promise, str]] = {
    EventKind.ENQUEUED: (pgettext_lazy("task", "Created"), "wait"),
    EventKind.STARTED: (pgettext_lazy("task", "Started"), "wait"),
    EventKind.PROGRESS: (pgettext_lazy("task", "Progress"), "plain"),
    EventKind.SUCCEEDED: (pgettext_lazy("task", "Done"), "good"),
    EventKind.FAILED: (_("Attempt failed"), "bad"),
    EventKind.RETRY_SCHEDULED: (_("Retry scheduled"), "warn"),
    EventKind.RETURNED: (_("Returned to the queue"), "warn"),
    EventKind.LEASE_LOST: (_("Lease lost"), "bad"),
    EventKind.CANCEL_REQUESTED: (pgettext_lazy("task", "Cancelling"), "warn"),
    EventKind.CANCELLED: (pgettext_lazy("task", "Cancelled"), "plain"),
    EventKind.DEAD: (_("Failed for the last time"), "bad"),
    EventKind.REPLAYED: (_("Queued to run again"), "wait"),
    EventKind.DISCARDED: (pgettext_lazy("task", "Discarded"), "plain"),
}

IMPORT_ENDING_WORDS: dict[str, Promise] = {
    ImportRun.Ending.COMPLETE: pgettext_lazy("task", "Done"),
    ImportRun.Ending.JOB_PAUSED: _("Ended early: the job was paused"),
    ImportRun.Ending.JOB_CLOSED: _("Ended early: the job was closed"),
    ImportRun.Ending.JOB_FULL: _("Ended early: the job’s log is full"),
    ImportRun.Ending.BAD_FILE: _("The file cannot be read"),
}
