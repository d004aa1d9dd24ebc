"""Models of background work: types, tasks, events, schedules, workers, counts and audit."""

from tasks.models.audit import TaskAct
from tasks.models.breakers import TaskOwnerBreaker, TaskOwnerTally
from tasks.models.schedules import Schedule
from tasks.models.statuses import EventKind
from tasks.models.tallies import TaskTally, TaskTotal
from tasks.models.tasks import Task, TaskEvent
from tasks.models.types import TaskPause, TaskType
from tasks.models.workers import TaskWorker

__all__ = [
    "EventKind",
    "Schedule",
    "Task",
    "TaskAct",
    "TaskEvent",
    "TaskOwnerBreaker",
    "TaskOwnerTally",
    "TaskPause",
    "TaskTally",
    "TaskTotal",
    "TaskType",
    "TaskWorker",
]
