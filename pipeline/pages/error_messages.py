"""Messages to people for errors of the line, answers to what is missing, and URLs of buttons."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import TypeVar

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import Resolver404, resolve
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from pipeline.domain import errors
from pipeline.domain.errors import LineError
from pipeline.web.middleware import pages_only

T = TypeVar("T")

MESSAGES: dict[type[LineError], Promise] = {
    errors.AlreadyApplied: _("This person already has an application in this line."),
    errors.AlreadyDecided: _(
        "The company has already decided on this person for this job. Only the company can add them"
        " again."
    ),
    errors.JobNotOpen: _("This job is not open for applications now. See the other open jobs."),
    errors.AcknowledgmentExpired: _(
        "The deadline for this seat has passed, so it went to the next in line. This page shows"
        " the current place in line."
    ),
    errors.IllegalMove: _(
        "The application has changed, so this is no longer possible. See its status below."
    ),
    errors.IllegalJobMove: _("This is not possible in the job’s current status. See below."),
    errors.StaleVersion: _(
        "Someone else changed this job while you were editing. Compare the fields below and save"
        " again."
    ),
}


def explain_refusal(error: LineError) -> str:
    """Return the message for a refused action."""
    return str(MESSAGES.get(type(error), error))


def attempt(request: HttpRequest, act: Callable[[], T], *, done: str | Promise = "") -> T | None:
    """Run an action and show `done`, or why it was refused, on the next page.

    Return the action's result, or None if it was refused. Errors about missing objects are raised,
    and answered with 404.
    """
    try:
        result = act()
    except NOT_FOUND:
        raise
    except LineError as error:
        messages.error(request, explain_refusal(error))
        return None
    if done:
        messages.success(request, str(done))
    return result


# Errors about objects that do not exist for this visitor.
NOT_FOUND = (
    errors.JobNotFound,
    errors.ContestNotFound,
    errors.ApplicationNotFound,
    errors.ApplicantNotFound,
    errors.EmailNotFound,
    errors.StoredFileNotFound,
    errors.AttachmentNotFound,
    errors.ScheduleNotFound,
    errors.PlannedSeatsNotFound,
    errors.WebhookNotFound,
    errors.WebhookDeliveryNotFound,
)


COMPANY_ROOT = "/company/"
PRESS_AGAIN = _("Nothing has been changed yet. Press the button again.")


@pages_only
def redirect_post_only(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Redirect a browser that opens a button's URL to the page that has the button. A middleware.

    That happens after signing in again or after a refused form, and when someone reloads. The page
    is the nearest one above it in the URL. Below /company/, a stranger signs in first, as for every
    page there; the answer does not depend on what the URL names.
    """

    def answer_with_post_only_error_message(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        refused = response.status_code == HTTPStatus.METHOD_NOT_ALLOWED
        if request.method != "GET" or not refused:
            return response
        if request.session.session_key:  # a visitor without a session gets none for this
            messages.info(request, PRESS_AGAIN)
        path = request.path
        while path != "/":
            path = path.rstrip("/").rpartition("/")[0] + "/"
            with suppress(Resolver404):
                resolve(path)
                break
        if path.startswith(COMPANY_ROOT) and not request.user.is_authenticated:
            return redirect_to_login(path, resolve_url("account_login"))
        return redirect(path)

    return answer_with_post_only_error_message


@pages_only
def answer_missing(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Answer 404 if a page's object does not exist or is not the visitor's. A middleware.

    If a page needs a log that was moved to the archive, say so: 409.
    """

    def answer_with_error_message(request: HttpRequest) -> HttpResponse:
        return get_response(request)

    def turn_error_message_into_404(request: HttpRequest, error: Exception) -> HttpResponse | None:
        if isinstance(error, NOT_FOUND):
            raise Http404 from error
        if isinstance(error, errors.LogArchived):
            return render(request, "errors/log_archived.html", {"why": str(error)}, status=409)
        return None

    answer_with_error_message.process_exception = turn_error_message_into_404  # type: ignore[attr-defined]  # Django's way
    return answer_with_error_message
