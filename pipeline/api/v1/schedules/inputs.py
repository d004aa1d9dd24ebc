"""Bodies of requests about schedules."""

from __future__ import annotations

from typing import Any

from pipeline.api.v1.fields import AnyObject, Flag, Line, Name, Shape
from pipeline.api.v1.tasks.inputs import LONGEST_TYPE, task_priority_field, task_version_field

LONGEST_NAME = 200
LONGEST_CRON = 100
LONGEST_ZONE = 64


class _PlanIn(Shape):
    version = task_version_field()
    payload = AnyObject(required=False)
    priority = task_priority_field()
    zone = Line(max_length=LONGEST_ZONE, required=False)
    enabled = Flag(required=False)
    catch_up = Flag(required=False)


class TaskScheduleIn(_PlanIn):
    """A new schedule: work to start repeatedly."""

    name = Name(max_length=LONGEST_NAME)
    cron = Line(max_length=LONGEST_CRON)
    type = Line(max_length=LONGEST_TYPE)
    zone = Line(max_length=LONGEST_ZONE, default="UTC")
    enabled = Flag(default=True)
    catch_up = Flag(default=False)


class TaskScheduleChangeIn(_PlanIn):
    """Changes to a schedule. Fields that are not named stay as they are."""

    name = Name(max_length=LONGEST_NAME, required=False)
    cron = Line(max_length=LONGEST_CRON, required=False)
    type = Line(max_length=LONGEST_TYPE, required=False)


# Names of API fields in a plan, where they differ.
_COLUMNS = {"type": "type_key", "version": "type_version"}


def schedule_columns_of_input(given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a plan from a body's."""
    return {_COLUMNS.get(name, name): value for name, value in given.items()}
