"""Bodies of requests about jobs."""

from __future__ import annotations

from typing import Any

from jobs.models import (
    DESCRIPTION_LENGTH,
    LOCATION_LENGTH,
    MAX_CAPACITY,
    TITLE_LENGTH,
    JobStatus,
)
from jobs.policies import policy_limits
from pipeline.api.v1.fields import (
    Choice,
    Flag,
    Line,
    Metadata,
    Moment,
    Shape,
    Text,
    Whole,
    external_id_field,
)


def _whole_policy_field(policy_field: str, **options: Any) -> Whole:
    low, high = policy_limits(policy_field)
    return Whole(min_value=low, max_value=high, required=False, **options)


class PolicyIn(Shape):
    """Changes to a policy. Fields that are not named stay as they are."""

    acknowledgment_window_seconds = _whole_policy_field("acknowledgment_window_seconds")
    acknowledge_first_seat = Flag(required=False)
    penalty_places = _whole_policy_field("penalty_places")
    max_decays = _whole_policy_field("max_decays", allow_null=True)
    cooldown_seconds = _whole_policy_field("cooldown_seconds")


class JobIn(Shape):
    """A new job."""

    title = Line(max_length=TITLE_LENGTH)
    description = Text(max_length=DESCRIPTION_LENGTH, allow_blank=True, required=False)
    location = Line(max_length=LOCATION_LENGTH, allow_blank=True, required=False)
    capacity = Whole(min_value=1, max_value=MAX_CAPACITY)
    policy = PolicyIn(required=False)
    external_id = external_id_field()
    metadata = Metadata(required=False)
    draw_at = Moment(required=False)
    status = Choice(choices=[JobStatus.DRAFT, JobStatus.OPEN], default=JobStatus.OPEN)


class JobChangeIn(Shape):
    """Changes to a job. Fields that are not named stay as they are."""

    title = Line(max_length=TITLE_LENGTH, required=False)
    description = Text(max_length=DESCRIPTION_LENGTH, allow_blank=True, required=False)
    location = Line(max_length=LOCATION_LENGTH, allow_blank=True, required=False)
    capacity = Whole(min_value=1, max_value=MAX_CAPACITY, required=False)
    policy = PolicyIn(required=False)
    external_id = external_id_field()
    metadata = Metadata(required=False)
    draw_at = Moment(required=False)
