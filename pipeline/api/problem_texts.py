"""Texts about each kind of problem: when it occurs, and how a client should react."""

from __future__ import annotations

from typing import NamedTuple


class ProblemText(NamedTuple):
    """Text about a problem: the occasion, as the end of a sentence, and the remedy for a client."""

    about: str
    remedy: str


_CORRECT = "Correct the request. The same request fails again."
_WAIT = "Wait for the seconds in `Retry-After`, then send the same request again."
_READ = "Read the object again and decide anew. The same request fails again."

PROBLEM_TEXTS = {
    "VALIDATION_ERROR": ProblemText(
        "fields or parameters are invalid or unknown",
        "`errors` names each of them, with a code and a reason. Correct them; an "
        "`Idempotency-Key` can be used again.",
    ),
    "MALFORMED_REQUEST": ProblemText(
        "the body is not JSON, repeats a name, holds characters that cannot be stored, or has no "
        "length",
        _CORRECT,
    ),
    "UNKNOWN_TASK_TYPE": ProblemText(
        "companies cannot start this type or version; `demo.sleep` only if the site has enabled "
        "it (`DEMO_TASKS`)",
        "`GET /task-types` lists the types that you can start.",
    ),
    "INVALID_PAYLOAD": ProblemText(
        "the payload does not fit the type, or contains an id that is not yours; `errors` says "
        "where",
        "`GET /task-types` has the schema of each type's payload.",
    ),
    "INVALID_FILE": ProblemText(
        "the beginning of the file is not that of a list of people; `detail` says why",
        "Send CSV in UTF-8 whose first line names the columns `name` and `email`.",
    ),
    "INVALID_SCHEDULE": ProblemText(
        "the cron expression or time zone is invalid, or has no next time; or planned seats "
        "are not in the future, change nothing, or would leave the job without seats; or the "
        "draw by lot is not in the future, or too far ahead",
        "`detail` says which. Cron has five fields; a time zone is like `Europe/Amsterdam`.",
    ),
    "NOT_AUTHENTICATED": ProblemText(
        "the credential is missing or invalid",
        "Send `Authorization: Bearer …` with a key that is neither revoked nor expired.",
    ),
    "PERMISSION_DENIED": ProblemText(
        "the object is yours, but this credential is not enough",
        "`detail` names the scope or role that is needed. Each operation in the reference says "
        "who may call it.",
    ),
    "TYPE_NOT_ALLOWED": ProblemText(
        "an owner has not allowed this key to start this type",
        "Ask an owner to allow the type, on the page “API keys”.",
    ),
    "NOT_FOUND": ProblemText(
        "the object does not exist, or is not yours",
        "Check the id and the credential. Someone else's object looks exactly like a missing one.",
    ),
    "METHOD_NOT_ALLOWED": ProblemText(
        "the path exists but does not accept this method",
        "Use one of the methods in `Allow`.",
    ),
    "NOT_ACCEPTABLE": ProblemText(
        "your `Accept` header rules out JSON, the only format of answers except files",
        "Send `Accept: application/json`, or leave the header out.",
    ),
    "DUPLICATE_SUBMISSION": ProblemText(
        "the person already has a live application to this job, or a request with a secret in its "
        "answer was carried out before",
        "`existing_id` is the id of the application or webhook endpoint.",
    ),
    "ALREADY_DECIDED": ProblemText(
        "a person applies again by themselves after the company has rejected or hired them",
        "Submit the person with a company's key, if the company wants that.",
    ),
    "JOB_NOT_OPEN": ProblemText(
        "the job takes no applications",
        "A draft or paused job can be opened; a closed one cannot.",
    ),
    "INVALID_TRANSITION": ProblemText(
        "the status of the application, job, task or webhook endpoint does not allow this",
        _READ,
    ),
    "NOT_DEFERRABLE": ProblemText(
        "`not_before` has passed, is more than 60 days ahead, or was set 20 times for this "
        "application",
        "`detail` says which. Choose a time within the next 60 days.",
    ),
    "NOT_PREACCEPTABLE": ProblemText(
        "`accept_until` has passed, is more than 14 days ahead, or was set 50 times for this "
        "application",
        "`detail` says which. Choose a time within the next 14 days.",
    ),
    "NOT_PASSABLE": ProblemText(
        "the person has passed as many turns as the job's policy allows (`max_passes`), or asked "
        "20 times for this application",
        "`detail` says which. Confirm the seat, wait, or withdraw.",
    ),
    "LOG_ARCHIVED": ProblemText(
        "the job closed long ago, and its log was moved from the database to the archive; or the "
        "event after which you ask for news was in such a log",
        "`detail` says when. Whoever runs the site can put the log back. To read news on, begin at "
        "the start, without `after`.",
    ),
    "NOT_REINSTATABLE": ProblemText(
        "the application is waiting or has lapsed, but missed no deadline; or the person was"
        " erased, or applied again and that application has ended too",
        _READ,
    ),
    "NOT_CONTESTABLE": ProblemText(
        "the application did not lapse after missed deadlines, and was not removed or rejected",
        "There is nothing to look at again. A person who has not applied yet can apply.",
    ),
    "ALREADY_CONTESTED": ProblemText(
        "the company was already asked to look at this end again",
        "Read the request and its answer. A later end can be contested again.",
    ),
    "CONTEST_TOO_LATE": ProblemText(
        "the application ended more than 30 days ago",
        "Write to the company, or apply again if the job is open.",
    ),
    "CONTEST_ANSWERED": ProblemText(
        "this request to look again has already been answered",
        "Read the answer. It cannot be changed.",
    ),
    "PERSON_ERASED": ProblemText(
        "the data of the person was erased",
        "Nothing can be attached to the application any more. Erase your own copy of the"
        " person's data.",
    ),
    "EMAIL_NOT_REPEATABLE": ProblemText(
        "the email cannot be sent again; `detail` says why",
        _READ,
    ),
    "EXTERNAL_ID_TAKEN": ProblemText(
        "another job or application of the company has this `external_id`",
        "`existing_id` is the id of the object that has it. Nothing was changed.",
    ),
    "CONFIRMATION_NEEDED": ProblemText(
        'the type is sensitive: send `"confirmed": true`',
        'Send the request again with `"confirmed": true`, if that is what you want.',
    ),
    "FILES_FULL": ProblemText(
        "the company's waiting imports and downloads have reached their limit in bytes",
        "Wait until imports have ended or files have expired.",
    ),
    "NOT_A_SANDBOX": ProblemText(
        "you asked for the clock or a reset with a live key; only a sandbox has them",
        "Use a key of your sandbox, which begins with `nilk_test_`.",
    ),
    "CLOCK_MOVING": ProblemText(
        "the sandbox's clock was moved, and deadlines before its time are being settled",
        _WAIT,
    ),
    "CLOCK_LIMIT": ProblemText(
        "the sandbox's clock is as far ahead as it can be, or was moved as often as it can be",
        "Continue without moving it.",
    ),
    "SANDBOX_FULL": ProblemText(
        "the sandbox has its maximum number of jobs, or the job's log its maximum number of events",
        "If it has too many jobs, use one of them again. If a job's log is full, use another job.",
    ),
    "LIMIT_REACHED": ProblemText(
        "the company has no room for another schedule or webhook endpoint, the job has its maximum"
        " number of seat plans, or its draw by lot takes no more people",
        "Delete one that is not needed; apply to the job after its draw.",
    ),
    "IDEMPOTENCY_KEY_IN_USE": ProblemText(
        "the first request with this key is still running",
        _WAIT,
    ),
    "ACKNOWLEDGMENT_EXPIRED": ProblemText(
        "the deadline has passed, and the seat went to the next person; also long after, until the "
        "person gets another offer or the place back",
        "Read the application: it is back on the waitlist, or has ended.",
    ),
    "PRECONDITION_FAILED": ProblemText(
        "the job has changed since you read it",
        "Read the job again, and send its new `ETag` in `If-Match` if you still want the change.",
    ),
    "PAYLOAD_TOO_LARGE": ProblemText(
        "the body is over one megabyte (a file: 16), or a task's payload over 64 KB",
        "Send less, or several requests.",
    ),
    "UNSUPPORTED_MEDIA_TYPE": ProblemText(
        "the body is not `application/json` (a file: `text/csv` or a form)",
        "Send the header `Content-Type`.",
    ),
    "IDEMPOTENCY_KEY_REUSED": ProblemText(
        "the key was used for another request",
        "Send a new key for each new action.",
    ),
    "PRECONDITION_REQUIRED": ProblemText(
        "the body names `capacity` or `policy`, even unchanged, and there is no `If-Match`",
        "Read the job, and send its `ETag` in `If-Match`.",
    ),
    "THROTTLED": ProblemText(
        "you sent too many requests in a period, or too many at the same time",
        _WAIT,
    ),
    "BACKPRESSURE": ProblemText(
        "too many tasks are pending; wait for `Retry-After`",
        _WAIT,
    ),
    "INTERNAL_ERROR": ProblemText(
        "something failed on our side; the error is logged under its `request_id`",
        "Send the request again later. If you report it, include the `request_id`.",
    ),
    "BUSY": ProblemText(
        "the job was locked for 3 seconds, or another long log of your company is being read; "
        "wait for `Retry-After`",
        _WAIT,
    ),
    "UNAVAILABLE": ProblemText(
        "the database is unavailable or took too long, or too many requests are waiting; wait for "
        "`Retry-After`",
        _WAIT,
    ),
}
