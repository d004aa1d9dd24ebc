"""Page to apply to a job, directly when signed in, otherwise with a code by email."""

from __future__ import annotations

from urllib.parse import urlsplit
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.timezone import get_current_timezone_name
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from applicants import browser
from applicants.browser import remember_address
from applicants.codes import Requester
from applicants.models import Applicant
from applicants.people import remember_browser
from jobs.models import Job
from pipeline.domain.errors import (
    AlreadyApplied,
    AlreadyDecided,
    ConsentsChanged,
    DrawFull,
    FileKindRefused,
    FormChanged,
    JobNotOpen,
    LineError,
    RequirementNotMet,
    TooManyAttachments,
    UploadExpired,
    UploadNotFound,
    UploadNotReady,
    UploadRefused,
)
from pipeline.domain.states import Actor, ActorKind, Status
from pipeline.form.answers import Filled, fill
from pipeline.pages import limits
from pipeline.pages.access import current_applicant, current_member, public_job
from pipeline.pages.answer_forms import PREFIX, answers_in
from pipeline.pages.applicant import openings
from pipeline.pages.applicant.group import entered_code
from pipeline.pages.applicant.sign_in import JOB
from pipeline.pages.attachments import holder_of_browser
from pipeline.pages.consents import CHANGED as CONSENTS_CHANGED
from pipeline.pages.consents import agreed_in, equality_in, has_seen_consents
from pipeline.pages.error_messages import explain_refusal
from pipeline.pages.limits import TooOften
from pipeline.selectors.applications import find_live
from pipeline.selectors.jobs import read_job, read_job_facts
from pipeline.services.joining import Companion, apply_unverified
from pipeline.services.joining import apply as join_line
from pipeline.sources.origin import Origin
from pipeline.web.addresses import client_site
from pipeline.wording.events import WELCOMES


@require_POST
def submit(request: HttpRequest, job_id: UUID) -> HttpResponseBase:
    """Add the person who submits the form to the job's line."""
    job, person = public_job(request, job_id), current_applicant(request)
    form = openings.application_form(request, job, request.POST, request.FILES)
    if job.is_test:
        messages.error(request, _("In test mode, add people on the job’s page or with a test key."))
        return redirect("opening", job_id)
    if person is None and current_member(request):
        messages.error(request, _("To apply yourself, sign out of the company first."))
        return redirect("opening", job_id)
    if not form.is_valid():
        if not has_seen_consents(request, job):  # else a box that is new would seem forgotten
            form.add_error(None, str(CONSENTS_CHANGED))
        return openings.render_page(request, job, form, status=422)
    if person:
        return _submit_signed_in(request, job, person, form)
    return _submit_unverified(request, job, form)


@csrf_exempt
@require_POST
def submit_embedded(request: HttpRequest, job_id: UUID) -> HttpResponseBase:
    """Add the person who submits the form in a frame on another site. It opens a tab of its own.

    A frame there has no cookies, so no token can protect the form. But a browser says that it comes
    from a page of ours, whoever shows that page, and whoever may show it the company has named.
    Nothing here depends on a session.
    """
    if urlsplit(request.headers.get("Origin", "")).netloc != request.get_host():
        raise PermissionDenied(_("Open the job’s page, and apply there."))
    job = public_job(request, job_id)
    if job.is_test or job.form_version:
        return redirect("opening", job_id)
    form = openings.application_form(request, job, request.POST, request.FILES)
    if not form.is_valid():
        return openings.render_page(request, job, form, status=422)
    return _submit_unverified(request, job, form)


def _submit_unverified(request: HttpRequest, job: Job, form: forms.Form) -> HttpResponseBase:
    """Add a person who is not signed in, and ask for the code from the email."""
    # From here on the response is the same for every address, known or not.
    name, address, handle = (
        form.cleaned_data["name"],
        form.cleaned_data["email"],
        browser.new_handle(),
    )
    try:
        limits.count_request(request, "anonymous_apply")
        limits.count_code(request, address)
        requester = Requester(handle, client_site(request))
        filled = _fill(request, job, form)
        facts = read_job_facts(job.id)
        apply_unverified(
            job=facts,
            name=name,
            email=address,
            requester=requester,
            filled=filled,
            companions=_companions(request, job, form),
            group_code=entered_code(form),
            language=get_language() or "",
        )
    except (FormChanged, ConsentsChanged, RequirementNotMet, *OF_UPLOADS) as error:
        return _show_refused_answers(request, job, form, error)
    except (JobNotOpen, DrawFull) as error:
        messages.error(request, explain_refusal(error))
        return redirect("opening", job.id)
    except TooOften as refused:
        form.add_error(None, str(refused))
        response = openings.render_page(request, job, form, status=429)
        response["Retry-After"] = refused.wait_seconds
        return response
    response = redirect("enter_code")
    remember_address(response, address, handle=handle, after=f"{JOB}{job.id}")
    return response


# Files that cannot be attached any more, for example after an hour.
OF_UPLOADS = (
    UploadExpired,
    UploadNotFound,
    UploadNotReady,
    UploadRefused,
    FileKindRefused,
    TooManyAttachments,
)
CHANGED = gettext_lazy(
    "The company has changed its questions since you opened this page. Check your answers to the"
    " questions as they are now, and send them again. Nothing that you typed is lost."
)


def shown_version(request: HttpRequest) -> int:
    """Return the version of the questions that the page showed; 0 without any."""
    shown = request.POST.get("form_version", "")
    return int(shown) if shown.isdecimal() and len(shown) < 6 else 0


def _fill(request: HttpRequest, job: Job, form: forms.Form) -> Filled | None:
    """Return the answers of a valid form. Raises FormChanged, RequirementNotMet."""
    holder = holder_of_browser(request) if job.form_version else b""
    return fill(job, answers_in(form), number=shown_version(request), holder=holder)


def _companions(request: HttpRequest, job: Job, form: forms.Form) -> list[Companion]:
    """Return what is kept beside the application. Raises ConsentsChanged."""
    agreed = agreed_in(request, job, form)
    return [Origin.read(request.POST), *agreed, equality_in(form)]


def _show_refused_answers(
    request: HttpRequest, job: Job, form: forms.Form, error: LineError
) -> HttpResponse:
    """Show the form again with what was typed, and the questions as they are now."""
    if isinstance(error, FormChanged | ConsentsChanged):
        job = read_job(job.id)
        form = openings.application_form(request, job, request.POST, request.FILES)
        form.is_valid()
        form.add_error(None, str(CHANGED if isinstance(error, FormChanged) else CONSENTS_CHANGED))
    elif isinstance(error, RequirementNotMet):
        form.add_error(f"{PREFIX}{error.facts['question']}", str(error))
    else:
        form.add_error(None, str(error))
    return openings.render_page(request, job, form, status=422)


def _submit_signed_in(
    request: HttpRequest, job: Job, person: Applicant, form: forms.Form
) -> HttpResponse:
    name = form.cleaned_data["name"]
    actor = Actor(ActorKind.APPLICANT, person.id)
    zone, language = get_current_timezone_name(), get_language() or ""
    if (person.time_zone, person.language) != (zone, language):
        # Before the email about it is written.
        remember_browser(person.id, zone=zone, language=language)
    try:
        filled = _fill(request, job, form)
        created = join_line(
            job_id=job.id,
            applicant_id=person.id,
            name=name,
            actor=actor,
            filled=filled,
            companions=_companions(request, job, form),
            group_code=entered_code(form),
            language=language,
        )
    except (FormChanged, ConsentsChanged, RequirementNotMet, *OF_UPLOADS) as error:
        return _show_refused_answers(request, job, form, error)
    except AlreadyApplied:
        messages.info(request, _("You have already applied to this job. This is your application."))
        earlier = find_live(person.id, job.id)
        return redirect("my_application", earlier) if earlier else redirect("dashboard")
    except (AlreadyDecided, DrawFull, JobNotOpen) as error:
        messages.error(request, explain_refusal(error))
        return redirect("opening", job.id)
    messages.success(request, str(WELCOMES[Status(created.status)]))
    return redirect("my_application", created.id)
