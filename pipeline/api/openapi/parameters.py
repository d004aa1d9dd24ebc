"""Parameters of operations, in the query or in headers."""

from __future__ import annotations

from jobs.models import JobStatus
from pipeline.api.openapi.schemas import Parameter, choices_schema, whole_schema
from pipeline.api.pagination import DEFAULT_LIMIT, MOST
from pipeline.api.parameters import LARGEST, LONGEST_SEARCH
from pipeline.domain.states import EventType
from pipeline.models import WebhookDelivery
from pipeline.webhooks.types import TEST, TYPES
from tasks.models.statuses import Status

_TIME = {"type": "string", "format": "date-time"}
_SEQ = whole_schema(0, LARGEST)

LIMIT = Parameter("limit", "Rows per page.", whole_schema(1, MOST, default=DEFAULT_LIMIT))
_CURSOR = {"type": "string", "pattern": "^[A-Za-z0-9_-]+$"}
CURSOR = Parameter("cursor", "`next_cursor` of the previous page.", _CURSOR)
PAGED = (LIMIT, CURSOR)

JOB_STATUS = Parameter("status", "Only jobs with this status.", choices_schema(JobStatus))
SEARCH = Parameter(
    "search",
    "Only jobs with this text in their title or location. Without a company's key: only jobs with"
    " each word in their title, location or company name.",
    {"type": "string", "maxLength": LONGEST_SEARCH},
)
AFTER = Parameter("after", "`next_cursor` of the previous response.", _CURSOR)
WITH_ADDRESS = Parameter(
    "email",
    "The person's whole email address, in any case.",
    {"type": "string", "minLength": 1, "maxLength": 254},
    required=True,
)
AFTER_SEQ = Parameter("after_seq", "Only events after this one.", _SEQ)
OF_APPLICATION = Parameter("application", "Only events of this application.", {"type": "string"})
EVENT = Parameter("event", "Only events of this kind.", choices_schema(EventType))
AS_OF = Parameter("as_of", "The line at this time; needs `Z` or an offset.", _TIME)
AS_OF_CAMEL = Parameter("asOf", "Another spelling of `as_of`.", _TIME)
REPLAY_SEQ = Parameter("seq", "The line after this event; instead of a time.", _SEQ)
MOST_REPLAYED = 1_000
REPLAY_LIMIT = Parameter(
    "limit",
    "People on the waitlist per page.",
    whole_schema(1, MOST_REPLAYED, default=MOST_REPLAYED),
)
NOTED_SEQ = Parameter("seq", "The seq that you noted. Requires `hash`.", _SEQ)
NOTED_HASH = Parameter(
    "hash",
    "The hash that you noted. Requires `seq`.",
    {"type": "string", "pattern": "^[0-9a-fA-F]{64}$"},
)
TASK_STATUS = Parameter("status", "Only tasks with this status.", choices_schema(Status))
OF_TASK_TYPE = Parameter(
    "type", "Only tasks of this type.", {"type": "string", "maxLength": LONGEST_SEARCH}
)
DELIVERY_STATE = Parameter(
    "state", "Only deliveries in this state.", choices_schema(WebhookDelivery.State)
)
OF_WEBHOOK_TYPE = Parameter(
    "type", "Only deliveries of this type.", {"type": "string", "enum": [*TYPES, TEST]}
)
IF_MATCH = Parameter(
    "If-Match",
    "The ETag of the job as you read it. Required to change capacity or policy.",
    {"type": "string"},
    where="header",
)
IF_NONE_MATCH = Parameter(
    "If-None-Match",
    "The ETag of a response that you have; 304 if it is still current.",
    {"type": "string"},
    where="header",
)
_KEY = "^[^\\x00-\\x1f\\x7f]*[^\\x00-\\x20\\x7f\\x85\\xa0][^\\x00-\\x1f\\x7f]*$"
IDEMPOTENCY_KEY = Parameter(
    "Idempotency-Key",
    "Makes it safe to repeat the request: for 24 hours, you get the first response again.",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": _KEY},
    where="header",
)
PATHS = {
    "job_id": "The job's id.",
    "application_id": "The application's id.",
    "applicant_id": "The person's id.",
    "key_id": "The key's id.",
    "task_id": "The task's id.",
    "type_key": "The key of the type, like `log.export`.",
    "schedule_id": "The schedule's id.",
    "file_id": "The file's id.",
    "webhook_id": "The endpoint's id.",
    "delivery_id": "The delivery's id.",
}
