"""Bodies of requests about background tasks."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError

from pipeline.api.v1.fields import AnyObject, Flag, Line, Moment, Shape, Text, Whole
from tasks.dead_letters import MOST_AT_ONCE
from tasks.enqueue import LONGEST_DELAY_SECONDS, LONGEST_KEY
from tasks.models.statuses import HIGHEST_PRIORITY, LOWEST_PRIORITY, MOST_ATTEMPTS

MOST_IN_A_BATCH = 100
LONGEST_TYPE = 200
HIGHEST_VERSION = 32_767
OF_A_REQUEST = "request:"
OF_A_SCHEDULE = "schedule:"


def task_priority_field() -> Whole:
    return Whole(min_value=LOWEST_PRIORITY, max_value=HIGHEST_PRIORITY, required=False)


def task_version_field() -> Whole:
    return Whole(min_value=1, max_value=HIGHEST_VERSION, required=False, allow_null=True)


class TaskIn(Shape):
    """A new task, to run now, at a time or after a delay."""

    together = {
        "not": {
            "required": ["run_after", "delay_seconds"],
            "properties": {"run_after": {"type": "string"}, "delay_seconds": {"minimum": 1}},
        }
    }

    type = Line(max_length=LONGEST_TYPE)
    version = task_version_field()
    payload = AnyObject(required=False)
    priority = task_priority_field()
    run_after = Moment(required=False, allow_null=True)
    delay_seconds = Whole(min_value=0, max_value=int(LONGEST_DELAY_SECONDS), required=False)
    max_attempts = Whole(min_value=1, max_value=MOST_ATTEMPTS, required=False, allow_null=True)
    idempotency_key = Text(max_length=LONGEST_KEY, required=False, allow_null=True)

    def validate_idempotency_key(self, value: str | None) -> str | None:
        """Refuse a key that starts like those of requests or schedules. Raises ValidationError."""
        if value and value.startswith((OF_A_REQUEST, OF_A_SCHEDULE)):
            why = f"Must begin with neither {OF_A_REQUEST} nor {OF_A_SCHEDULE}"
            raise ValidationError([ErrorDetail(why, "invalid")])
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse a body with both a time and a delay."""
        if attrs.get("run_after") is not None and attrs.get("delay_seconds"):
            why = ErrorDetail("Send either run_after or delay_seconds.", "invalid")
            raise ValidationError({"delay_seconds": [why]})
        return attrs


class TaskBatchIn(Shape):
    """Several new tasks. All of them are accepted, or none."""

    tasks = serializers.ListField(
        child=TaskIn(), min_length=1, max_length=MOST_IN_A_BATCH, allow_empty=False
    )


class TaskReplayIn(Shape):
    """A replay of a dead letter, with another payload if one is given."""

    payload = AnyObject(required=False, allow_null=True)
    confirmed = Flag(default=False)


class TaskReplaysIn(Shape):
    """A replay of the oldest dead letters of a type."""

    type = Line(max_length=LONGEST_TYPE)
    limit = Whole(min_value=1, max_value=MOST_AT_ONCE, default=100)
    confirmed = Flag(default=False)
