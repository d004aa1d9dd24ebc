"""Bodies of requests about webhooks."""

from __future__ import annotations

from typing import Any

from pipeline.api.v1.fields import Choice, Choices, Flag, Line, Moment, Name, Shape
from pipeline.models.webhooks import LONGEST_DESCRIPTION, LONGEST_URL
from pipeline.webhooks.types import TYPES


def _webhook_types_input(**more: Any) -> Choices:
    return Choices(child=Choice(choices=list(TYPES)), **more)


def _webhook_description_input(**more: Any) -> Line:
    return Name(max_length=LONGEST_DESCRIPTION, allow_blank=True, **more)


class WebhookIn(Shape):
    """A new endpoint. Without types, it gets every event."""

    url = Line(max_length=LONGEST_URL)
    description = _webhook_description_input(default="")
    types = _webhook_types_input(default=list)


class WebhookChangeIn(Shape):
    """Changes to an endpoint. Fields that are not named stay as they are."""

    url = Line(max_length=LONGEST_URL, required=False)
    description = _webhook_description_input(required=False)
    types = _webhook_types_input(required=False)
    is_active = Flag(required=False)


class RedeliverIn(Shape):
    """The start of the deliveries to send again: failed ones created at this time or later."""

    since = Moment()
