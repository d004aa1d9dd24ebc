"""Sign-in for applicants by an emailed code, and sign-out."""

from __future__ import annotations

from contextlib import suppress
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.timezone import get_current_timezone_name
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from applicants import browser, codes
from applicants.codes import LIFETIME, Requester
from applicants.forms import AddressForm, CodeForm
from applicants.models import Applicant
from applicants.people import remember_browser
from applicants.sign_in import CodeRefused, prove_address
from pipeline.domain.errors import JobNotFound
from pipeline.pages import limits
from pipeline.pages.access import current_applicant
from pipeline.pages.limits import TooOften
from pipeline.pages.page_urls import safe_target
from pipeline.selectors.applications import find_live
from pipeline.selectors.jobs import read_job
from pipeline.services.joining import verify_applications
from pipeline.web.addresses import client_site
from pipeline.web.languages import choose_for
from pipeline.wording.explanations import explain_quiet_hours, window_in_words

# Prefix of the return target for a person who has just applied to the job that follows.
JOB = "job "

JUST_SENT = gettext_lazy(
    "We have just sent you a code. If it has not arrived in half a minute, request a new one then."
)
WRONG = gettext_lazy("This code is wrong. Enter the code from the latest email.")
USED_UP = gettext_lazy(
    "This code has expired, was already used or had too many attempts. Request a new code."
)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def ask_address(request: HttpRequest) -> HttpResponse:
    """Ask for an address and email a code. Answers every address alike, known or not."""
    target = safe_target(request, request.POST.get("next") or request.GET.get("next", ""))
    if request.method != "POST":
        if current_applicant(request):
            return redirect(target or "dashboard")
        return _render(request, AddressForm(), target)
    form = AddressForm(request.POST)
    if not form.is_valid():
        return _render(request, form, target, status=422)
    email = form.cleaned_data["email"]
    try:
        _limit_codes(request, email)
    except TooOften as refused:
        form.add_error(None, str(refused))
        return _too_often(refused, _render(request, form, target, status=429))
    handle = browser.new_handle()
    codes.send(email, by=Requester(handle, client_site(request)))
    response = redirect("enter_code")
    browser.remember_address(response, email, handle=handle, after=target)
    return response


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def enter_code(request: HttpRequest) -> HttpResponse:
    """Check the code and sign in; with `again`, send a new code."""
    kept = browser.address_being_proved(request)
    if kept is None:
        return redirect("dashboard" if current_applicant(request) else "sign_in")
    email, after, handle = kept
    if request.method != "POST":
        return _render_code(request, CodeForm(), kept)
    if "again" in request.POST:
        return _resend_code(request, kept)
    form = CodeForm(request.POST)
    if not form.is_valid():
        return _render_code(request, form, kept, status=422)
    try:
        limits.count_request(request, "code_try")
        person = prove_address(email=email, code=form.cleaned_data["code"], requester=handle)
    except TooOften as refused:
        form.add_error(None, str(refused))
        return _too_often(refused, _render_code(request, form, kept, status=429))
    except CodeRefused as refused:
        form.add_error("code", WRONG if refused.try_again else USED_UP)
        return _render_code(request, form, kept, status=422)
    return _finish(request, person, after)


def _finish(request: HttpRequest, person: Applicant, after: str) -> HttpResponse:
    """Sign in a person who has proved the address, and verify their applications."""
    browser.sign_in(request, person)
    zone, language = get_current_timezone_name(), get_language() or ""
    remember_browser(person.id, zone=zone, language=language)
    choose_for(request, person.chosen_language)
    if verify_applications(person.id):
        messages.success(request, _("Your email address is verified. We can offer you a seat now."))
    if after.startswith(JOB):
        created = find_live(person.id, UUID(after.removeprefix(JOB)))
        response = redirect("my_application", created) if created else redirect("dashboard")
    else:
        response = redirect(after or "dashboard")
    browser.forget_address(response)
    return response


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the browser's session."""
    browser.sign_out(request)
    messages.success(request, _("You are signed out. Your place in line does not change."))
    response = redirect("openings")
    browser.forget_address(response)
    return response


def _render(
    request: HttpRequest, form: forms.Form, target: str, *, status: int = 200
) -> HttpResponse:
    context = {"form": form, "next": target}
    return render(request, "applicant/sign_in.html", context, status=status)


def _render_code(
    request: HttpRequest, form: forms.Form, kept: browser.Proving, *, status: int = 200
) -> HttpResponse:
    email, after, _handle = kept
    window = quiet = ""  # the time to confirm a seat of the job just applied to, in words
    if after.startswith(JOB):
        with suppress(JobNotFound):
            job = read_job(UUID(after.removeprefix(JOB)))
            window = window_in_words(job.policy)
            quiet = explain_quiet_hours(job.policy)
    context = {
        "form": form,
        "email": email,
        "has_applied": after.startswith(JOB),
        "minutes": LIFETIME.seconds // 60,
        "window": window,
        "quiet": quiet,
    }
    return render(request, "applicant/enter_code.html", context, status=status)


def _resend_code(request: HttpRequest, kept: browser.Proving) -> HttpResponse:
    if browser.has_requested_code(request):
        messages.info(request, JUST_SENT)
        return redirect("enter_code")
    try:
        _limit_codes(request, kept.email)
    except TooOften as refused:
        messages.error(request, str(refused))
        return _too_often(refused, _render_code(request, CodeForm(), kept, status=429))
    codes.send(kept.email, by=Requester(kept.handle, client_site(request)))
    messages.success(request, _("We have sent you a new code. The previous code no longer works."))
    response = redirect("enter_code")
    browser.remember_address(response, kept.email, handle=kept.handle, after=kept.after)
    return response


def _limit_codes(request: HttpRequest, address: str) -> None:
    limits.count_request(request, "code_request")
    limits.count_code(request, address)


def _too_often(refused: TooOften, response: HttpResponse) -> HttpResponse:
    response["Retry-After"] = refused.wait_seconds
    return response
