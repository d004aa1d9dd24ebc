"""Bodies of requests about jobs."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import ValidationError

from jobs.models import (
    DESCRIPTION_LENGTH,
    LOCATION_LENGTH,
    MAX_CAPACITY,
    TITLE_LENGTH,
    ZONE_LENGTH,
    JobStatus,
)
from jobs.policies import policy_limits
from jobs.quiet_hours import quiet_hours_refusal
from jobs.time_zones import is_known_time_zone
from pipeline.api.v1.fields import (
    Choice,
    Flag,
    Line,
    Metadata,
    Moment,
    Name,
    Shape,
    Text,
    Whole,
    external_id_field,
)


def _integer_field_of_policy(policy_field: str, **options: Any) -> Whole:
    low, high = policy_limits(policy_field)
    return Whole(min_value=low, max_value=high, required=False, **options)


class PolicyIn(Shape):
    """Changes to a policy. Fields that are not named stay as they are."""

    acknowledgment_window_seconds = _integer_field_of_policy("acknowledgment_window_seconds")
    acknowledge_first_seat = Flag(required=False)
    penalty_places = _integer_field_of_policy("penalty_places")
    max_decays = _integer_field_of_policy("max_decays", allow_null=True)
    cooldown_seconds = _integer_field_of_policy("cooldown_seconds")
    max_passes = _integer_field_of_policy("max_passes")
    quiet_from = Line(max_length=5, allow_null=True, required=False)
    quiet_to = Line(max_length=5, allow_null=True, required=False)
    quiet_weekends = Flag(required=False)
    quiet_time_zone = Line(max_length=ZONE_LENGTH, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check the quiet hours, whose two ends are given together. Raises ValidationError."""
        ends = [name for name in ("quiet_from", "quiet_to") if name in attrs]
        if len(ends) == 1:
            raise ValidationError({ends[0]: "Give quiet_from and quiet_to together."})
        if wrong := quiet_hours_refusal(attrs.get("quiet_from"), attrs.get("quiet_to")):
            raise ValidationError({"quiet_to": wrong})
        if not is_known_time_zone(attrs.get("quiet_time_zone", "UTC")):
            why = "Must be the name of a time zone, like Europe/Paris."
            raise ValidationError({"quiet_time_zone": why})
        return attrs


class JobIn(Shape):
    """A new job."""

    title = Name(max_length=TITLE_LENGTH)
    description = Text(max_length=DESCRIPTION_LENGTH, allow_blank=True, required=False)
    location = Name(max_length=LOCATION_LENGTH, allow_blank=True, required=False)
    capacity = Whole(min_value=1, max_value=MAX_CAPACITY)
    policy = PolicyIn(required=False)
    external_id = external_id_field()
    metadata = Metadata(required=False)
    draw_at = Moment(required=False)
    status = Choice(choices=[JobStatus.DRAFT, JobStatus.OPEN], default=JobStatus.OPEN)


class JobChangeIn(Shape):
    """Changes to a job. Fields that are not named stay as they are."""

    title = Name(max_length=TITLE_LENGTH, required=False)
    description = Text(max_length=DESCRIPTION_LENGTH, allow_blank=True, required=False)
    location = Name(max_length=LOCATION_LENGTH, allow_blank=True, required=False)
    capacity = Whole(min_value=1, max_value=MAX_CAPACITY, required=False)
    policy = PolicyIn(required=False)
    external_id = external_id_field()
    metadata = Metadata(required=False)
    draw_at = Moment(required=False)
