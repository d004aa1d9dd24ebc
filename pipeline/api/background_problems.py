"""Refusals of background work as clients see them: the request's field and the reason."""

from __future__ import annotations

from pipeline.background.errors import TaskRequestRefused, TypeNotAllowed, WorkError
from pipeline.domain.errors import WebhookUrlRefused
from tasks.errors import InvalidPayload, OutOfRange, TaskError, UnknownType

# The engine may quote the payload.
LONGEST_WHY = 300

_DETAILS: dict[type[Exception], str] = {
    InvalidPayload: "The payload does not match the type's schema; see `errors`.",
}


def background_problem_reason(exc: BaseException | None) -> BaseException | None:
    """Return the refusal, or in a batch that of the first refused task."""
    return exc.reason if isinstance(exc, TaskRequestRefused) else exc


def background_problem_detail(exc: BaseException | None) -> str | None:
    """Return the text of a refusal of background work, or None for any other error."""
    reason = background_problem_reason(exc)
    if not isinstance(reason, (WorkError, TaskError)):
        return None
    text = _DETAILS.get(type(reason), str(reason))
    return text[:1].upper() + text[1:].rstrip(".")[: LONGEST_WHY - 1] + "."


def background_problem_errors(exc: BaseException | None) -> list[dict[str, str]]:
    """Return the fields that a refusal of background work names, with their JSON pointers."""
    start = f"/tasks/{exc.number}" if isinstance(exc, TaskRequestRefused) else ""
    match background_problem_reason(exc):
        case InvalidPayload(problems=problems):
            escaped = [(path.replace("~", "~0").replace("/", "~1"), why) for path, why in problems]
            return [
                _background_problem_error(
                    "/".join([f"{start}/payload", *(path.split(".") if path else [])]), why
                )
                for path, why in escaped
            ]
        case OutOfRange(name=name) as reason:
            return [_background_problem_error(f"{start}/{name}", str(reason))]
        case WebhookUrlRefused() as reason:
            return [_background_problem_error("/url", str(reason))]
        case UnknownType() | TypeNotAllowed() as reason:
            return [_background_problem_error(f"{start}/type", str(reason))]
    return [_background_problem_error(start, str(exc))] if start else []


def _background_problem_error(pointer: str, why: str) -> dict[str, str]:
    return {"pointer": pointer, "code": "INVALID", "detail": why[:LONGEST_WHY]}
