"""Actions on tasks in the background work pages: their actor, and refusals in words."""

from __future__ import annotations

from collections.abc import Callable

from django import forms
from django.http import Http404
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from pipeline.pages.access import Member
from pipeline.wording.task_words import TASK_STATUS_WORDS
from pipeline.work.start import DemoSwitchedOff, RateExceeded, WorkError
from tasks.errors import (
    InvalidPayload,
    PayloadTooLarge,
    TaskError,
    TaskNotFound,
    UnknownType,
    WrongStatus,
)


def member_actor(member: Member) -> str:
    """Return the name under which tasks record a member."""
    return f"member:{member.user.id}"


def describe_refusal(error: TaskError | WorkError) -> str:
    """Describe a refusal to people."""
    match error:
        case InvalidPayload():
            return "; ".join(f"{path}: {what}" if path else what for path, what in error.problems)
        case PayloadTooLarge():
            size = {"size": error.limit_bytes // 1024}
            return _("This is too long. Use at most %(size)s KB of JSON.") % size
        case WrongStatus():
            why = {"reason": TASK_STATUS_WORDS[error.status].clause}
            return _("This is no longer possible: %(reason)s.") % why
        case DemoSwitchedOff():
            return str(error)
        case UnknownType():
            return _("This task type no longer exists, so the task cannot run.")
        case RateExceeded():
            words = ngettext(
                "%(refusal)s Try again in %(count)s second.",
                "%(refusal)s Try again in %(count)s seconds.",
                error.wait,
            )
            return words % {"refusal": error, "count": error.wait}
    return str(error)


def attempt_task(form: forms.Form, act: Callable[[], object], *, field: str | None = None) -> bool:
    """Try an action and return whether it was done; add a refusal to the form or a field.

    Raises Http404 if the task is not the company's.
    """
    try:
        act()
    except TaskNotFound:
        raise Http404 from None
    except (TaskError, WorkError) as error:
        is_about_field = isinstance(error, InvalidPayload | PayloadTooLarge)
        form.add_error(field if is_about_field else None, describe_refusal(error))
        return False
    return True
