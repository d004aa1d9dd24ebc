"""Refusals of the API: the one table of their statuses, codes and texts, and what raises them.

The server reads it before Django is set up, so it imports only rooms that need no settings, and
names the other exceptions by their place.
"""

from __future__ import annotations

from dataclasses import replace

from django.utils.translation import gettext_lazy as _

from jobs import errors as jobs
from pipeline.api.applicant_problem_types import (  # noqa: F401  in the table
    ACKNOWLEDGMENT_EXPIRED,
    ALREADY_CONTESTED,
    ALREADY_DECIDED,
    ANSWERS_NOT_CHANGEABLE,
    CONSENTS_CHANGED,
    CONTEST_ANSWERED,
    CONTEST_TOO_LATE,
    FORM_CHANGED,
    NOT_CONTESTABLE,
    NOT_DEFERRABLE,
    NOT_EXTENDABLE,
    NOT_MOVABLE,
    NOT_PASSABLE,
    NOT_PREACCEPTABLE,
    QUESTION_NOT_ASKABLE,
    REQUIREMENT_NOT_MET,
)
from pipeline.api.problem_type import ProblemType
from pipeline.database import errors as database
from pipeline.domain import errors as line
from tasks import errors as tasks

_CORRECT = _("Correct the request. The same request fails again.")
_WAIT = _("Wait for the seconds in `Retry-After`, then send the same request again.")
_READ = _("Read the object again and decide from its current state. The same request fails again.")

VALIDATION_ERROR = ProblemType(
    status=400,
    code="VALIDATION_ERROR",
    title=_("The request is not valid"),
    about=_("Fields or parameters are invalid or unknown."),
    remedy=_(
        "`errors` names each of them, with a code and a reason. Correct them; an "
        "`Idempotency-Key` can be used again."
    ),
    detail=_("The request has fields or parameters that are not valid."),
    raised_as=(
        line.AssigneeNotFound,
        line.MentionNotFound,
        line.FutureMoment,
        line.UnknownPlace,
        line.WebhookUrlRefused,
        tasks.OutOfRange,
        "rest_framework.exceptions.ValidationError",
    ),
)
MALFORMED_REQUEST = ProblemType(
    status=400,
    code="MALFORMED_REQUEST",
    title=_("The request cannot be read"),
    about=_(
        "The body is not JSON, repeats a name, holds characters that cannot be stored, or has "
        "no length."
    ),
    remedy=_CORRECT,
    raised_as=(
        "pipeline.api.problems.LengthRequired",
        "rest_framework.exceptions.ParseError",
        "django.core.exceptions.BadRequest",
        "django.core.exceptions.SuspiciousOperation",
        "django.http.multipartparser.MultiPartParserError",
    ),
)
UNKNOWN_TASK_TYPE = ProblemType(
    status=400,
    code="UNKNOWN_TASK_TYPE",
    title=_("Unknown task type"),
    about=_(
        "Companies cannot start this type or version; `demo.sleep` only if the site has "
        "enabled it (`DEMO_TASKS`)."
    ),
    remedy=_("`GET /task-types` lists the types that you can start."),
    raised_as=(tasks.UnknownType,),
)
INVALID_PAYLOAD = ProblemType(
    status=400,
    code="INVALID_PAYLOAD",
    title=_("Invalid payload"),
    about=_(
        "The payload does not fit the type, or contains an id that is not yours; `errors` "
        "says where."
    ),
    remedy=_("`GET /task-types` has the schema of each type's payload."),
    raised_as=(tasks.InvalidPayload,),
)
INVALID_FILE = ProblemType(
    status=400,
    code="INVALID_FILE",
    title=_("Invalid file"),
    about=_("The file does not start like a list of people; `detail` says why."),
    remedy=_("Send CSV in UTF-8 whose first line names the columns `name` and `email`."),
    raised_as=(line.ImportFileRefused,),
)
INVALID_SCHEDULE = ProblemType(
    status=400,
    code="INVALID_SCHEDULE",
    title=_("Invalid schedule"),
    about=_(
        "The cron expression or time zone is invalid, or has no next time; or planned seats "
        "are not in the future, change nothing, or would leave the job without seats; or the "
        "draw by lot, the opening or the closing of a job is not in the future, too far "
        "ahead, or not in this order."
    ),
    remedy=_("`detail` says which. Cron has five fields; a time zone is like `Europe/Amsterdam`."),
    raised_as=(line.PlanRefused, line.DrawRefused, line.DatesRefused, tasks.BadSchedule),
)
NOT_AUTHENTICATED = ProblemType(
    status=401,
    code="NOT_AUTHENTICATED",
    title=_("Not authenticated"),
    about=_("The credential is missing or invalid."),
    remedy=_("Send `Authorization: Bearer …` with a key that is neither revoked nor expired."),
    detail=_("Send a valid credential in the Authorization header."),
    raised_as=(
        "pipeline.api.problems.WrongCode",
        "rest_framework.exceptions.AuthenticationFailed",
        "rest_framework.exceptions.NotAuthenticated",
    ),
)
PERMISSION_DENIED = ProblemType(
    status=403,
    code="PERMISSION_DENIED",
    title=_("Permission denied"),
    about=_("The object is yours, but this credential does not have the required permission."),
    remedy=_(
        "`detail` names the scope or role that is needed. Each operation in the reference "
        "says who may call it."
    ),
    raised_as=(
        "rest_framework.exceptions.PermissionDenied",
        "django.core.exceptions.PermissionDenied",
    ),
)
TYPE_NOT_ALLOWED = ProblemType(
    status=403,
    code="TYPE_NOT_ALLOWED",
    title=_("Type not allowed"),
    about=_("An owner has not allowed this key to start this type."),
    remedy=_("Ask an owner to allow the type, on the page “API keys”."),
    raised_as=("pipeline.work.start.TypeNotAllowed",),
)
NOT_A_SANDBOX = ProblemType(
    status=403,
    code="NOT_A_SANDBOX",
    title=_("Not a sandbox"),
    about=_("You asked for the clock or a reset with a live key; only a sandbox has them."),
    remedy=_("Use a key of your sandbox, which begins with `nilk_test_`."),
    raised_as=(line.NotASandbox,),
)
NOT_FOUND = ProblemType(
    status=404,
    code="NOT_FOUND",
    title=_("Not found"),
    about=_("The object does not exist, or is not yours."),
    remedy=_("Check the id and the credential. Someone else's object looks like a missing one."),
    detail=_("There is nothing here."),
    raised_as=(
        *(line.JobNotFound, line.ApplicationNotFound, line.ApplicantNotFound, line.EmailNotFound),
        *(line.ContestNotFound, line.FurtherQuestionNotFound, line.NoSuchMoment),
        *(line.StoredFileNotFound, line.UploadNotFound, line.AttachmentNotFound),
        *(line.ScheduleNotFound, line.TaskTypeNotFound, line.PlannedSeatsNotFound),
        line.WebhookNotFound,
        line.WebhookDeliveryNotFound,
        tasks.TaskNotFound,
        jobs.ApiKeyNotFound,
        jobs.CompanyNotFound,
        "rest_framework.exceptions.NotFound",
        "django.http.Http404",
    ),
)
METHOD_NOT_ALLOWED = ProblemType(
    status=405,
    code="METHOD_NOT_ALLOWED",
    title=_("Method not allowed"),
    about=_("The path exists but does not accept this method."),
    remedy=_("Use one of the methods in `Allow`."),
    raised_as=("rest_framework.exceptions.MethodNotAllowed",),
)
NOT_ACCEPTABLE = ProblemType(
    status=406,
    code="NOT_ACCEPTABLE",
    title=_("Not acceptable"),
    about=_("Your `Accept` header rules out JSON, the only format of answers except files."),
    remedy=_("Send `Accept: application/json`, or leave the header out."),
    detail=_("The response is available only as application/json."),
    raised_as=("rest_framework.exceptions.NotAcceptable",),
)
DUPLICATE_SUBMISSION = ProblemType(
    status=409,
    code="DUPLICATE_SUBMISSION",
    title=_("Duplicate submission"),
    about=_(
        "The person already has a live application to this job, or a request with a secret in "
        "its answer was carried out before."
    ),
    remedy=_("`existing_id` is the id of the application or webhook endpoint."),
    raised_as=(line.AlreadyApplied, line.WebhookAlreadyMade, line.WebhookAlreadyRotated),
)
JOB_NOT_OPEN = ProblemType(
    status=409,
    code="JOB_NOT_OPEN",
    title=_("Job not open"),
    about=_("The job takes no applications."),
    remedy=_("A draft or paused job can be opened; a closed one cannot."),
    raised_as=(line.JobNotOpen,),
)
INVALID_TRANSITION = ProblemType(
    status=409,
    code="INVALID_TRANSITION",
    title=_("Invalid transition"),
    about=_("The status of the application, job, task or webhook endpoint does not allow this."),
    remedy=_READ,
    raised_as=(
        line.IllegalMove,
        line.IllegalJobMove,
        line.DecisionTooLate,
        line.ImportUndoTooLate,
        line.ReviewOver,
        line.WebhookOff,
        line.UploadNotReady,
        line.AttachmentsFixed,
        line.AttachmentAnswers,
        tasks.WrongStatus,
    ),
)
RESERVE_REFUSED = ProblemType(
    status=409,
    code="RESERVE_REFUSED",
    title=_("Not possible with these reserved seats"),
    about=_(
        "More seats are to be reserved than the job has, also with its planned seats, the end "
        "is not ahead, the job reserves none, or nobody has stated to belong to the group."
    ),
    remedy=_("`detail` says which."),
    raised_as=(line.ReserveRefused,),
)
NOT_REINSTATABLE = ProblemType(
    status=409,
    code="NOT_REINSTATABLE",
    title=_("Not reinstatable"),
    about=_(
        "The application is waiting or has lapsed, but missed no deadline; or the person was "
        "erased, or applied again and that application has ended too."
    ),
    remedy=_READ,
    raised_as=(line.NotReinstatable,),
)
EMAIL_NOT_REPEATABLE = ProblemType(
    status=409,
    code="EMAIL_NOT_REPEATABLE",
    title=_("Email not repeatable"),
    about=_("The email cannot be sent again; `detail` says why."),
    remedy=_READ,
    raised_as=(line.EmailNotRepeatable,),
)
MESSAGES_NOT_POSSIBLE = ProblemType(
    status=409,
    code="MESSAGES_NOT_POSSIBLE",
    title=_("The person cannot be written to"),
    about=_("Nobody has proved the address of the application yet, so it may be someone else's."),
    remedy=_("Write once the application is `verified`."),
    raised_as=(line.MessagesNotPossible,),
)
CRITERIA_CHANGED = ProblemType(
    status=409,
    code="CRITERIA_CHANGED",
    title=_("Criteria changed"),
    about=_("The scores are not one by each criterion that the job has now."),
    remedy=_("Read the scores again for the criteria, and give one mark by each."),
    raised_as=(line.CriteriaChanged,),
)
PERSON_ERASED = ProblemType(
    status=409,
    code="PERSON_ERASED",
    title=_("Person erased"),
    about=_("The data of the person was erased."),
    remedy=_(
        "Nothing can be attached to the application any more. Erase your own copy of the "
        "person's data."
    ),
    raised_as=(line.PersonErased,),
)
EXTERNAL_ID_TAKEN = ProblemType(
    status=409,
    code="EXTERNAL_ID_TAKEN",
    title=_("External id taken"),
    about=_("Another job or application of the company has this `external_id`."),
    remedy=_("`existing_id` is the id of the object that has it. Nothing was changed."),
    raised_as=(line.ExternalIdTaken,),
)
LAST_POSITION = ProblemType(
    status=409,
    code="LAST_POSITION",
    title=_("This fills the last position"),
    about=_(
        "Hiring this person fills the last position of the job, and the request does not say "
        "what follows."
    ),
    remedy=_(
        'Send the request again with `"close_job": true` to close the job, or with '
        '`"close_job": false` to go on with one position more.'
    ),
    raised_as=(line.LastPosition,),
)
POSITIONS_FILLED = ProblemType(
    status=409,
    code="POSITIONS_FILLED",
    title=_("All positions are filled"),
    about=_("The job has hired as many people as it has positions, so it hires nobody else."),
    remedy=_(
        "Raise `positions_to_fill` of the job first, or send the request again with "
        '`"close_job": false`, which adds one position.'
    ),
    raised_as=(line.PositionsFilled,),
)
POSITIONS_BELOW_HIRED = ProblemType(
    status=409,
    code="POSITIONS_BELOW_HIRED",
    title=_("Fewer positions than people hired"),
    about=_("The job has already hired more people than `positions_to_fill` allows."),
    remedy=_("Send a number that is not smaller than `hired_count`, or null for any number."),
    raised_as=(line.PositionsBelowHired,),
)
CONFIRMATION_NEEDED = ProblemType(
    status=409,
    code="CONFIRMATION_NEEDED",
    title=_("Confirmation needed"),
    about=_('The type is sensitive: send `"confirmed": true`.'),
    remedy=_('Send the request again with `"confirmed": true`, if that is what you want.'),
    raised_as=(tasks.ConfirmationNeeded,),
)
FILES_FULL = ProblemType(
    status=409,
    code="FILES_FULL",
    title=_("No room for more files"),
    about=_(
        "The company's waiting imports and downloads, or the files of its applicants, have "
        "reached their limit in bytes."
    ),
    remedy=_("Wait until imports have ended or files have expired; remove files of applicants."),
    raised_as=(line.FilesFull, line.AttachmentsFull),
)
CLOCK_MOVING = ProblemType(
    status=409,
    code="CLOCK_MOVING",
    title=_("Clock still moving"),
    about=_("The sandbox's clock was moved, and deadlines before its time are being settled."),
    remedy=_WAIT,
    retry_after_seconds=1,
    raised_as=(line.ClockMoving,),
)
CLOCK_LIMIT = ProblemType(
    status=409,
    code="CLOCK_LIMIT",
    title=_("Clock at its end"),
    about=_(
        "The sandbox's clock is as far ahead as it can be, or was moved as often as it can be."
    ),
    remedy=_("Continue without moving it."),
    raised_as=(line.ClockAtItsEnd, line.TooManyAdvances),
)
SANDBOX_FULL = ProblemType(
    status=409,
    code="SANDBOX_FULL",
    title=_("Sandbox full"),
    about=_(
        "The sandbox has its maximum number of jobs, or the job's log its maximum number of events."
    ),
    remedy=_(
        "If it has too many jobs, use one of them again. If a job's log is full, use another."
    ),
    raised_as=(line.SandboxFull,),
)
LOG_ARCHIVED = ProblemType(
    status=409,
    code="LOG_ARCHIVED",
    title=_("Log in the archive"),
    about=_(
        "The job closed long ago, and its log was moved from the database to the archive; or "
        "the event after which you ask for news was in such a log."
    ),
    remedy=_(
        "`detail` says when. Whoever runs the site can put the log back. To read news on, "
        "begin at the start, without `after`."
    ),
    raised_as=(line.LogArchived,),
)
LIMIT_REACHED = ProblemType(
    status=409,
    code="LIMIT_REACHED",
    title=_("Limit reached"),
    about=_(
        "The company has no room for another schedule or webhook endpoint, the job has its "
        "maximum number of seat plans, its draw by lot takes no more people, the application "
        "has its maximum number of files, or too many of the person's uploads wait for one."
    ),
    remedy=_("Delete one that is not needed; apply to the job after its draw."),
    raised_as=(
        line.DrawFull,
        line.DrawFullOfUnverified,
        line.TooManyAnnotations,
        line.TooManyCriteria,
        line.TooManyAttachments,
        line.TooManyUploads,
        line.TooManyPlannedSeats,
        line.TooManyWebhooks,
        "pipeline.work.start.TooManySchedules",
    ),
)
IDEMPOTENCY_KEY_IN_USE = ProblemType(
    status=409,
    code="IDEMPOTENCY_KEY_IN_USE",
    title=_("Idempotency key in use"),
    about=_("The first request with this key is still running."),
    remedy=_WAIT,
    retry_after_seconds=1,
    raised_as=("pipeline.api.problems.IdempotencyKeyInUse",),
)
PRECONDITION_FAILED = ProblemType(
    status=412,
    code="PRECONDITION_FAILED",
    title=_("Precondition failed"),
    about=_("The job has changed since you read it."),
    remedy=_(
        "Read the job again, and send its new `ETag` in `If-Match` if you still want the change."
    ),
    raised_as=(line.StaleVersion, "pipeline.api.problems.PreconditionFailed"),
)
UPLOAD_EXPIRED = ProblemType(
    status=410,
    code="UPLOAD_EXPIRED",
    title=_("Upload expired"),
    about=_("No application took the upload within an hour."),
    remedy=_("Upload the file again."),
    raised_as=(line.UploadExpired,),
)
PAYLOAD_TOO_LARGE = ProblemType(
    status=413,
    code="PAYLOAD_TOO_LARGE",
    title=_("Payload too large"),
    about=_("The body is over one megabyte (a file: 16), or a task's payload over 64 KB."),
    remedy=_("Send less, or several requests."),
    raised_as=(
        line.AttachmentTooLarge,
        tasks.PayloadTooLarge,
        "pipeline.api.problems.PayloadTooLarge",
    ),
)
UNSUPPORTED_MEDIA_TYPE = ProblemType(
    status=415,
    code="UNSUPPORTED_MEDIA_TYPE",
    title=_("Unsupported media type"),
    about=_("The body is not `application/json` (a file: `text/csv` or a form)."),
    remedy=_("Send the header `Content-Type`."),
    raised_as=("rest_framework.exceptions.UnsupportedMediaType",),
)
CONSENT_MISSING = ProblemType(
    status=422,
    code="CONSENT_MISSING",
    title=_("Consent missing"),
    about=_(
        "`consents` lacks the privacy notice or a required consent; `errors` names them by id."
    ),
    remedy=_(
        "`GET /jobs/{id}/privacy` has their texts. Show them to the person, and send the ids "
        "of the notice and of what they agree to."
    ),
    raised_as=(line.ConsentMissing,),
)
FILE_NOT_ACCEPTED = ProblemType(
    status=422,
    code="FILE_NOT_ACCEPTED",
    title=_("File not accepted"),
    about=_(
        "The content of the file is of a kind that is not accepted, or did not pass the "
        "malware scan; `detail` says which."
    ),
    remedy=_("Send a PDF, DOC, DOCX, ODT, RTF or TXT file, or a JPEG or PNG picture."),
    raised_as=(line.FileKindRefused, line.UploadRefused),
)
IDEMPOTENCY_KEY_REUSED = ProblemType(
    status=422,
    code="IDEMPOTENCY_KEY_REUSED",
    title=_("Idempotency key reused"),
    about=_("The key was used for another request."),
    remedy=_("Send a new key for each new action."),
    raised_as=("pipeline.api.problems.IdempotencyKeyReused",),
)
PRECONDITION_REQUIRED = ProblemType(
    status=428,
    code="PRECONDITION_REQUIRED",
    title=_("Precondition required"),
    about=_("The body names `capacity` or `policy`, even unchanged, and there is no `If-Match`."),
    remedy=_("Read the job, and send its `ETag` in `If-Match`."),
    raised_as=("pipeline.api.problems.PreconditionRequired",),
)
THROTTLED = ProblemType(
    status=429,
    code="THROTTLED",
    title=_("Too many requests"),
    about=_("You sent too many requests in a period, or too many at the same time."),
    remedy=_WAIT,
    raised_as=(
        line.EmailRepeatedTooSoon,
        line.TooManyMessages,
        "pipeline.work.start.RateExceeded",
        "rest_framework.exceptions.Throttled",
    ),
)
BACKPRESSURE = ProblemType(
    status=429,
    code="BACKPRESSURE",
    title=_("Too many tasks waiting"),
    about=_("Too many tasks are pending; wait for `Retry-After`."),
    remedy=_WAIT,
    raised_as=("pipeline.work.start.Backlogged",),
)
INTERNAL_ERROR = ProblemType(
    status=500,
    code="INTERNAL_ERROR",
    title=_("Internal error"),
    about=_("Something failed on our side; the error is logged under its `request_id`."),
    remedy=_("Send the request again later. If you report it, include the `request_id`."),
    detail=_("Something went wrong on our side. It has been logged under the request's id."),
)
BUSY = ProblemType(
    status=503,
    code="BUSY",
    title=_("Busy"),
    about=_(
        "The job was locked for 3 seconds, or another long log of your company is being read; "
        "wait for `Retry-After`."
    ),
    remedy=_WAIT,
    detail=_("Many changes are being made to this job right now. Try again in a moment."),
    retry_after_seconds=1,
    raised_as=(
        line.CameBeforeOpening,
        line.VerifierBusy,
        line.LogReadersBusy,
        line.ReceiptNotReady,
    ),
)
UNAVAILABLE = ProblemType(
    status=503,
    code="UNAVAILABLE",
    title=_("Unavailable"),
    about=_(
        "The database or the storage of files is unavailable, the database took too long, or "
        "too many requests are waiting; wait for `Retry-After`."
    ),
    remedy=_WAIT,
    detail=_("The service cannot reach its database. Try again in a moment."),
    retry_after_seconds=5,
    raised_as=(
        "django.db.OperationalError",
        "django.db.InterfaceError",
        database.ClusterError,
    ),
)
# The same to clients, for different reasons.
FILES_AWAY = replace(
    UNAVAILABLE,
    detail=_("The service cannot reach the storage of files. Try again in a few minutes."),
    retry_after_seconds=60,
    raised_as=(line.AttachmentsAway, line.AttachmentsUnreadable),
)
TOO_SLOW = replace(
    UNAVAILABLE,
    retry_after_seconds=30,
    detail=_("The database took too long for this. Request less, or try again later."),
    raised_as=(),
)

# Every type, also those that clients cannot tell apart.
DECLARED = [each for each in list(globals().values()) if isinstance(each, ProblemType)]
RAISED = {error: each for each in DECLARED for error in each.raised_as}
# One per code, in the order of statuses.
ALL_PROBLEM_TYPES = sorted(
    {each.code: each for each in DECLARED}.values(), key=lambda kind: (kind.status, kind.code)
)
