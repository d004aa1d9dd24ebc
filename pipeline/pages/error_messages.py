"""What the line refuses, said to people: what is so, and what they can do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse

from pipeline.domain import errors
from pipeline.domain.errors import LineError

T = TypeVar("T")

WORDS: dict[type[LineError], str] = {
    errors.AlreadyApplied: "There already is an application of this person in this line.",
    errors.AlreadyDecided: (
        "The company has decided on an earlier application to this job, so only the company can"
        " add this person again."
    ),
    errors.JobNotOpen: "This job takes no applications now. Other open jobs do.",
    errors.AcknowledgmentExpired: (
        "The deadline for this seat had passed, so it went to the next in line. This page shows"
        " the place in line now."
    ),
    errors.IllegalMove: "This is not possible any more: the application has moved on. See below.",
    errors.IllegalJobMove: "This is not possible in the job's present state. See below.",
    errors.StaleVersion: (
        "Somebody else changed this job while you were editing. The form shows how it is now:"
        " make your change again."
    ),
}
"""A sentence for every refusal that a button of a page can meet."""


def words_for(error: LineError) -> str:
    """What to tell the one whose button was refused."""
    return WORDS.get(type(error), str(error))


def attempt(request: HttpRequest, act: Callable[[], T], *, done: str = "") -> T | None:
    """Do something and say `done` on the next page; or None, and say there why it was refused.

    What does not exist is raised on, as a 404.
    """
    try:
        result = act()
    except NOT_FOUND:
        raise
    except LineError as error:
        messages.error(request, words_for(error))
        return None
    if done:
        messages.success(request, done)
    return result


NOT_FOUND = (
    errors.JobNotFound,
    errors.ApplicationNotFound,
    errors.ApplicantNotFound,
    errors.StoredFileNotFound,
    errors.ScheduleNotFound,
)
"""What does not exist, or not for the one who asks."""


def missing_to_404(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Answer 404 where a page's object does not exist, or is not the visitor's. A middleware."""

    def middleware(request: HttpRequest) -> HttpResponse:
        return get_response(request)

    def process_exception(request: HttpRequest, error: Exception) -> None:
        if isinstance(error, NOT_FOUND):
            raise Http404 from error

    middleware.process_exception = process_exception  # type: ignore[attr-defined]  # Django's way
    return middleware
