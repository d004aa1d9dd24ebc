"""Parameters of operations, in the query or in headers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, get_type_hints

from jobs.models import JobStatus
from pipeline.api.openapi.schemas import (
    Parameter,
    choices_schema,
    integer_schema,
)
from pipeline.api.parameters import DEFAULT_LIMIT, LARGEST, LONGEST_SEARCH, MOST
from pipeline.domain.states import EventType, Outcome
from pipeline.domain.states import Status as LineStatus
from pipeline.figures.idle_seats import MOST_WEEKS, USUAL_WEEKS
from pipeline.form.versions import MOST_VERSIONS
from pipeline.integrations.request_log import StatusClass
from pipeline.models import (
    EXTERNAL_ID_LENGTH,
    METADATA_KEYS,
    METADATA_VALUE_LENGTH,
    SOURCE_LENGTH,
    WebhookDelivery,
)
from pipeline.selectors.job_applications import ORDERS, ReviewFilter
from pipeline.selectors.review import ContestState
from pipeline.webhooks.queue import TEST, TYPES
from tasks.models import Status


def describe_names(name: str, about: str, names: Iterable[str]) -> Parameter:
    """Return a parameter that takes some of a few names, separated by commas."""
    schema = {
        "type": "array",
        "items": {"type": "string", "enum": list(names)},
        "minItems": 1,
    }
    return Parameter(name, about, schema, more={"style": "form", "explode": False})


def describe_expand(**names: str) -> Parameter:
    """Return the parameter for fields that a response fills in only on request."""
    about = "; ".join(f"`{name}`: {what}" for name, what in names.items())
    return describe_names("expand", f"Fields to fill in, otherwise null. {about}.", names)


def describe_fields(row: type[Any]) -> Parameter:
    """Return the parameter for the fields of an object, or of each row of a list."""
    return describe_names(
        "fields",
        "Only these fields of each object. The others are left out, so the answer does not fit the"
        " schema below, which requires them: with a generated client, read the body as plain JSON.",
        get_type_hints(row),
    )


_TIME = {"type": "string", "format": "date-time"}
_SEQ = integer_schema(0, LARGEST)

LIMIT = Parameter("limit", "Rows per page.", integer_schema(1, MOST, default=DEFAULT_LIMIT))
_CURSOR = {"type": "string", "pattern": "^[A-Za-z0-9_-]+$"}
CURSOR = Parameter(
    "cursor",
    "`next_cursor` of the previous page. Send the same filters and order with it; others get 400.",
    _CURSOR,
)
FEED_CURSOR = Parameter(
    "cursor", "`next_cursor` of the previous page. It works with any `event` and `expand`.", _CURSOR
)
CHANGES_CURSOR = replace(FEED_CURSOR, about="`next_cursor` of the previous page.")
PAGED = (LIMIT, CURSOR)

JOB_STATUS = Parameter("status", "Only jobs with this status.", choices_schema(JobStatus))
SEARCH = Parameter(
    "search",
    "Only jobs with this text in their title or location. Without a company's key: only jobs with"
    " each word in their title, location, department or company name.",
    {"type": "string", "maxLength": LONGEST_SEARCH},
)
AFTER = Parameter("after", "The old name of `cursor`.", _CURSOR, deprecated=True)
FEED_START = Parameter(
    "start",
    "Where to begin without a cursor: at the first event, or after the last one.",
    {"type": "string", "enum": ["beginning", "now"], "default": "beginning"},
)
CHANGES_START = replace(
    FEED_START, about="Where to begin without a cursor: at the first change, or after the last one."
)
WITH_ADDRESS = Parameter(
    "email",
    "The person's whole email address, in any case.",
    {"type": "string", "minLength": 1, "maxLength": 254},
    required=True,
)
AFTER_SEQ = Parameter(
    "after_seq", "Only events after this one. Has no effect together with a `cursor`.", _SEQ
)
OF_APPLICATION = Parameter(
    "application",
    "Only events of the application with this id; none for an unknown id.",
    {"type": "string"},
)
CONTEST_STATE = Parameter(
    "state",
    "Only those without an answer, those with an overdue answer, or those with an answer.",
    choices_schema(ContestState),
)
EVENT = Parameter("event", "Only events of this kind.", choices_schema(EventType))
POSITION = Parameter("position", "1 is the next in line.", integer_schema(1, LARGEST))
OF_WEEKS = (
    Parameter(
        "weeks",
        "How many weeks, including the present one.",
        integer_schema(1, MOST_WEEKS, default=USUAL_WEEKS),
    ),
    Parameter(
        "zone",
        "The time zone in which weeks begin, like `Europe/Paris`.",
        {"type": "string", "default": "UTC"},
    ),
)
AS_OF = Parameter(
    "as_of", "The line at this time; needs `Z` or an offset. Not together with `seq`.", _TIME
)
AS_OF_CAMEL = Parameter("asOf", "The old name of `as_of`.", _TIME, deprecated=True)
REPLAY_SEQ = Parameter("seq", "The line after this event. Not together with `as_of`.", _SEQ)
MOST_REPLAYED = 1_000
REPLAY_LIMIT = Parameter(
    "limit",
    "People on the waitlist per page.",
    integer_schema(1, MOST_REPLAYED, default=MOST_REPLAYED),
)
NOTED_SEQ = Parameter("seq", "The seq that you noted. Requires `hash`.", _SEQ)
NOTED_HASH = Parameter(
    "hash",
    "The hash that you noted. Requires `seq`.",
    {"type": "string", "pattern": "^[0-9a-fA-F]{64}$"},
)
EXTERNAL_ID = Parameter(
    "external_id",
    "Only objects with this `external_id`. Spaces at both ends do not matter, case does.",
    {"type": "string", "maxLength": EXTERNAL_ID_LENGTH},
)
SOURCE = Parameter(
    "source",
    "Only applications that came by a link with this source, in any case; `direct`: by none.",
    {"type": "string", "maxLength": SOURCE_LENGTH},
)
WITH_EXTERNAL_ID = replace(
    EXTERNAL_ID,
    about="The application's `external_id`.",
    schema=EXTERNAL_ID.schema | {"minLength": 1},
    required=True,
)
METADATA = Parameter(
    "metadata",
    "Only objects with all these texts in their `metadata`: `metadata[key]=text`.",
    {
        "type": "object",
        "additionalProperties": {"type": "string", "maxLength": METADATA_VALUE_LENGTH},
        "maxProperties": METADATA_KEYS,
    },
    more={"style": "deepObject", "explode": True},
)
_ONE_TIME_LISTED = (
    Parameter(f"{name}_{side}", about, _TIME)
    for name, verb in (("applied", "made"), ("ended", "ended"))
    for side, about in (
        ("after", f"Only applications {verb} at this time or later."),
        ("before", f"Only applications {verb} before this time."),
    )
)
_DECISION = "the company's decision, with its note for the company"
FORM_VERSION = Parameter(
    "version", "An earlier version of the form.", integer_schema(0, MOST_VERSIONS)
)
_ANSWERS = "the last answers to the job's questions"
_DUE = "when a decision that a member made on a page takes effect, if one waits"
EXPAND_DECISION = describe_expand(decision=_DECISION, decision_due_at=_DUE, answers=_ANSWERS)
EXPAND_LIST = describe_expand(
    decision=_DECISION,
    decision_due_at=_DUE,
    answers=_ANSWERS,
    total="the number of matching applications, counted up to 10,000; not together with `search`",
)
EXPAND_APPLICATION = describe_expand(
    application="the event's application as it is now, its `position` always null"
)
EXPAND_CHANGED_APPLICATION = describe_expand(
    application="the changed application as it is now, its `position` always null"
)
OF_APPLICATIONS = (
    Parameter("status", "Only applications with this status.", choices_schema(LineStatus)),
    Parameter("outcome", "Only applications that ended like this.", choices_schema(Outcome)),
    *_ONE_TIME_LISTED,
    Parameter(
        "min_decay_count",
        "Only applications with this number of misses or more.",
        integer_schema(0, 10_000),
    ),
    Parameter("verified", "Only applications that are verified, or not.", {"type": "boolean"}),
    Parameter(
        "tag",
        "Only applications that the company has tagged with this word, in any case.",
        {"type": "string", "maxLength": LONGEST_SEARCH},
    ),
    Parameter(
        "review",
        "Only people who have been in review for longer than the job's target.",
        choices_schema(ReviewFilter),
    ),
    EXTERNAL_ID,
    METADATA,
    SOURCE,
    Parameter(
        "search",
        "Only people whose name has words that begin with all these words, in the order of the"
        " matched words. Case does not matter, accents and apostrophes do. Names can be found some"
        " seconds after the application. Not together with `sort` or `expand=total`.",
        {"type": "string", "maxLength": LONGEST_SEARCH},
    ),
    Parameter(
        "sort",
        "The order; with `-`, newest first. Not together with `search`. `-applied_at` without"
        " it, or `-ended_at` if the list is limited by the end; an order by the end lists only"
        " ended applications.",
        {"type": "string", "enum": list(ORDERS)},
    ),
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
STATUS_CLASS = Parameter(
    "status_class", "Only requests that got a status of this class.", choices_schema(StatusClass)
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
    "Makes it safe to repeat the request: for 24 hours, the same body, byte by byte, gets the first"
    " response again. A response that contains a secret is not kept.",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": _KEY},
    where="header",
)
PLACE_TOKEN = Parameter(
    "Place-Token",
    "From a 503 to the same request, with the same credential and body, byte by byte, in the last"
    " three minutes: it then counts as one that came when the first attempt did, and is taken"
    " before those that came later. Otherwise it is ignored.",
    {"type": "string", "maxLength": 100},
    where="header",
)
PATHS = {
    "job_id": "The job's id.",
    "application_id": "The application's id.",
    "applicant_id": "The person's id.",
    "key_id": "The key's id.",
    "week": "The Monday on which the week begins, like `2026-01-05`.",
    "task_id": "The task's id.",
    "type_key": "The key of the type, like `log.export`.",
    "planned_id": "The id of the planned seats.",
    "schedule_id": "The schedule's id.",
    "file_id": "The file's id.",
    "upload_id": "The upload's id, which the file of the application keeps.",
    "webhook_id": "The endpoint's id.",
    "delivery_id": "The delivery's id.",
    "email_id": "The email's id.",
    "contest_id": "The id of the request to look again.",
    "question_id": "The further question's id.",
}
