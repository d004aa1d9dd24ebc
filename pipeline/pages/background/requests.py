"""What the pages about background work share: who acts, what was refused, places in lists."""

from __future__ import annotations

from collections.abc import Callable

from django import forms
from django.http import Http404

from pipeline.background.errors import RateExceeded, WorkError
from pipeline.pages.access import Member
from pipeline.wording.task_words import TASK_STATUS_WORDS
from tasks.errors import (
    InvalidPayload,
    PayloadTooLarge,
    TaskError,
    TaskNotFound,
    UnknownType,
    WrongStatus,
)


def actor_of(member: Member) -> str:
    """How tasks name a member who does something with them."""
    return f"member:{member.user.id}"


def refused(error: TaskError | WorkError) -> str:
    """A refusal as people read it."""
    match error:
        case InvalidPayload():
            return "; ".join(f"{path}: {what}" if path else what for path, what in error.problems)
        case PayloadTooLarge():
            return f"This is too long: at most {error.limit_bytes // 1024} KB of JSON fit."
        case WrongStatus():
            return f"This is no longer possible: {TASK_STATUS_WORDS[error.status].clause}."
        case UnknownType():
            return "This kind of work is not known here any more, so it cannot be run."
        case RateExceeded():
            return f"{error} Try again in {error.wait} seconds."
    return str(error)


def attempt(form: forms.Form, act: Callable[[], object], *, field: str | None = None) -> bool:
    """Whether what a form asks for could be done; why not, is said at the form, or at a field.

    A task that is not the company's is raised on, as a 404.
    """
    try:
        act()
    except TaskNotFound:
        raise Http404 from None
    except (TaskError, WorkError) as error:
        is_about_field = isinstance(error, InvalidPayload | PayloadTooLarge)
        form.add_error(field if is_about_field else None, refused(error))
        return False
    return True
