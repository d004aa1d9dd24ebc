"""Kinds of problems: the one table of statuses and codes."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.api.problem_texts import PROBLEM_TEXTS


@dataclass(frozen=True, slots=True)
class ProblemType:
    """A kind of problem. Clients distinguish them by `code`."""

    status: int
    code: str
    title: str
    retry_after_seconds: int | None = None

    @property
    def slug(self) -> str:
        """Return the last part of the kind's URI."""
        return self.code.lower().replace("_", "-")

    @property
    def type(self) -> str:
        """Return the kind's URI. There is a page at it: `pipeline.api.problem_pages`."""
        return f"/problems/{self.slug}"

    @property
    def about(self) -> str:
        """Return when it occurs, as the end of a sentence."""
        return PROBLEM_TEXTS[self.code].about

    @property
    def remedy(self) -> str:
        """Return how a client should react."""
        return PROBLEM_TEXTS[self.code].remedy


VALIDATION_ERROR = ProblemType(400, "VALIDATION_ERROR", "The request is not valid")
MALFORMED_REQUEST = ProblemType(400, "MALFORMED_REQUEST", "The request cannot be read")
UNKNOWN_TASK_TYPE = ProblemType(400, "UNKNOWN_TASK_TYPE", "Unknown task type")
INVALID_PAYLOAD = ProblemType(400, "INVALID_PAYLOAD", "Invalid payload")
INVALID_FILE = ProblemType(400, "INVALID_FILE", "Invalid file")
INVALID_SCHEDULE = ProblemType(400, "INVALID_SCHEDULE", "Invalid schedule")
NOT_AUTHENTICATED = ProblemType(401, "NOT_AUTHENTICATED", "Not authenticated")
PERMISSION_DENIED = ProblemType(403, "PERMISSION_DENIED", "Permission denied")
TYPE_NOT_ALLOWED = ProblemType(403, "TYPE_NOT_ALLOWED", "Type not allowed")
NOT_A_SANDBOX = ProblemType(403, "NOT_A_SANDBOX", "Not a sandbox")
NOT_FOUND = ProblemType(404, "NOT_FOUND", "Not found")
METHOD_NOT_ALLOWED = ProblemType(405, "METHOD_NOT_ALLOWED", "Method not allowed")
NOT_ACCEPTABLE = ProblemType(406, "NOT_ACCEPTABLE", "Not acceptable")
DUPLICATE_SUBMISSION = ProblemType(409, "DUPLICATE_SUBMISSION", "Duplicate submission")
ALREADY_DECIDED = ProblemType(409, "ALREADY_DECIDED", "Already decided")
JOB_NOT_OPEN = ProblemType(409, "JOB_NOT_OPEN", "Job not open")
INVALID_TRANSITION = ProblemType(409, "INVALID_TRANSITION", "Invalid transition")
NOT_DEFERRABLE = ProblemType(409, "NOT_DEFERRABLE", "Not deferrable")
NOT_PASSABLE = ProblemType(409, "NOT_PASSABLE", "No turn left to pass")
NOT_PREACCEPTABLE = ProblemType(409, "NOT_PREACCEPTABLE", "Cannot accept a seat until then")
NOT_REINSTATABLE = ProblemType(409, "NOT_REINSTATABLE", "Not reinstatable")
NOT_CONTESTABLE = ProblemType(409, "NOT_CONTESTABLE", "Not contestable")
ALREADY_CONTESTED = ProblemType(409, "ALREADY_CONTESTED", "Already contested")
CONTEST_TOO_LATE = ProblemType(409, "CONTEST_TOO_LATE", "Too late to contest")
CONTEST_ANSWERED = ProblemType(409, "CONTEST_ANSWERED", "Contest already answered")
EMAIL_NOT_REPEATABLE = ProblemType(409, "EMAIL_NOT_REPEATABLE", "Email not repeatable")
PERSON_ERASED = ProblemType(409, "PERSON_ERASED", "Person erased")
EXTERNAL_ID_TAKEN = ProblemType(409, "EXTERNAL_ID_TAKEN", "External id taken")
CONFIRMATION_NEEDED = ProblemType(409, "CONFIRMATION_NEEDED", "Confirmation needed")
FILES_FULL = ProblemType(409, "FILES_FULL", "No room for more files")
CLOCK_MOVING = ProblemType(409, "CLOCK_MOVING", "Clock still moving", retry_after_seconds=1)
CLOCK_LIMIT = ProblemType(409, "CLOCK_LIMIT", "Clock at its end")
SANDBOX_FULL = ProblemType(409, "SANDBOX_FULL", "Sandbox full")
LOG_ARCHIVED = ProblemType(409, "LOG_ARCHIVED", "Log in the archive")
LIMIT_REACHED = ProblemType(409, "LIMIT_REACHED", "Limit reached")
IDEMPOTENCY_KEY_IN_USE = ProblemType(409, "IDEMPOTENCY_KEY_IN_USE", "Idempotency key in use", 1)
ACKNOWLEDGMENT_EXPIRED = ProblemType(410, "ACKNOWLEDGMENT_EXPIRED", "Acknowledgment expired")
PRECONDITION_FAILED = ProblemType(412, "PRECONDITION_FAILED", "Precondition failed")
PAYLOAD_TOO_LARGE = ProblemType(413, "PAYLOAD_TOO_LARGE", "Payload too large")
UNSUPPORTED_MEDIA_TYPE = ProblemType(415, "UNSUPPORTED_MEDIA_TYPE", "Unsupported media type")
IDEMPOTENCY_KEY_REUSED = ProblemType(422, "IDEMPOTENCY_KEY_REUSED", "Idempotency key reused")
PRECONDITION_REQUIRED = ProblemType(428, "PRECONDITION_REQUIRED", "Precondition required")
THROTTLED = ProblemType(429, "THROTTLED", "Too many requests")
BACKPRESSURE = ProblemType(429, "BACKPRESSURE", "Too many tasks waiting")
INTERNAL_ERROR = ProblemType(500, "INTERNAL_ERROR", "Internal error")
BUSY = ProblemType(503, "BUSY", "Busy", 1)
UNAVAILABLE = ProblemType(503, "UNAVAILABLE", "Unavailable", 5)
# The same to clients, for a different reason.
TOO_SLOW = ProblemType(503, "UNAVAILABLE", "Unavailable", retry_after_seconds=30)

# Every kind, one per code, in the order of statuses.
ALL_PROBLEM_TYPES = sorted(
    {
        each.code: each for each in list(globals().values()) if isinstance(each, ProblemType)
    }.values(),
    key=lambda kind: (kind.status, kind.code),
)
