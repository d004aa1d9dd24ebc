"""Rows of background work: types, tasks, their events, schedules, workers, counts and audit."""

from tasks.models.audit import TaskAct
from tasks.models.rows import Schedule, Task, TaskEvent, TaskPause, TaskType, TaskWorker
from tasks.models.tallies import TaskTally, TaskTotal

__all__ = [
    "Schedule",
    "Task",
    "TaskAct",
    "TaskEvent",
    "TaskPause",
    "TaskTally",
    "TaskTotal",
    "TaskType",
    "TaskWorker",
]
