"""The product for companies, and the beginning of one: company, address, code, first job.

The address is proved as at sign-in: allauth makes, compares and limits the code. Nothing is stored
before, and no answer depends on whether the address has an account.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.code_verification import AbstractCodeVerificationProcess
from allauth.account.internal.flows.email_verification import verify_email_indirectly
from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.models import Login
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from uuid_utils.compat import uuid7

from jobs.sign_up import ask_for_company, create_own_company
from pipeline.config.allauth import CODE_SECONDS
from pipeline.pages.access import COMPANY
from pipeline.pages.staff.sign_in_forms import TRIES_OF_ONE_CODE, ConfirmCodeForm, SignUpForm

# The session key of a sign-up whose address is not proved yet.
SIGN_UP = "sign_up"
CLOSED, ASK = "closed", "ask"


class SignUpCode(AbstractCodeVerificationProcess):
    """Code that proves the address of a sign-up. The browser's session holds it."""

    def __init__(self, request: HttpRequest, state: dict[str, Any]) -> None:
        super().__init__(TRIES_OF_ONE_CODE, CODE_SECONDS, state)
        self.request = request

    @classmethod
    def begin(cls, request: HttpRequest, *, company: str, email: str) -> None:
        """Email a code for a company and an address."""
        state = cls.initial_state(None, email=email)
        code = cls(request, state | {"id": str(uuid7()), "company": company})
        code.send()
        code.persist()

    @classmethod
    def resume(cls, request: HttpRequest) -> SignUpCode | None:
        """Return the browser's sign-up, unless it has none or the code is too old."""
        state = request.session.get(SIGN_UP)
        code: SignUpCode | None = cls(request, state).abort_if_invalid() if state else None
        return code

    def send(self) -> None:
        """Make a code, and email it."""
        adapter, state = get_adapter(), self.state
        state["code"] = adapter.generate_login_code()
        context = {"code": state["code"], "company": state["company"]}
        adapter.send_mail("account/email/sign_up_code", state["email"], context)

    def persist(self) -> None:
        """Keep the sign-up in the session."""
        self.request.session[SIGN_UP] = self.state

    def abort(self) -> None:
        """Forget the sign-up."""
        self.request.session.pop(SIGN_UP, None)

    def finish(self) -> HttpResponse:
        """Create the company and sign its owner in, or ask the operator for it."""
        company_id, name = UUID(self.state["id"]), self.state["company"]
        email, request = self.state["email"], self.request
        self.abort()
        if settings.SIGN_UP == ASK:
            ask_for_company(request_id=company_id, name=name, email=email)
            return redirect("sign_up_asked")
        owner = create_own_company(company_id=company_id, name=name, email=email)
        record_authentication(request, owner, method="code", email=email)
        verify_email_indirectly(request, owner, email)
        login = Login(user=owner, email=email, redirect_url=reverse("new_job"))
        answer = perform_login(request, login)
        if request.user.is_authenticated:
            request.session[COMPANY] = str(company_id)
        return answer


@require_safe
def show_product(request: HttpRequest) -> HttpResponse:
    """Show companies what the product does, in pictures, and how to begin."""
    context = {"sign_up": settings.SIGN_UP, "contact": settings.SIGN_UP_CONTACT}
    return render(request, "staff/for_companies.html", context)


@never_cache
@require_http_methods(["GET", "POST"])
def begin(request: HttpRequest) -> HttpResponse:
    """Ask for company and address, and email a code."""
    if settings.SIGN_UP == CLOSED:
        return redirect("for_companies")
    form = SignUpForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        SignUpCode.begin(request, company=given["company"], email=given["email"])
        return redirect("sign_up_code")
    context = {"form": form, "asks": settings.SIGN_UP == ASK}
    return render(request, "staff/sign_up.html", context, status=422 if form.errors else 200)


@never_cache
@require_http_methods(["GET", "POST"])
def confirm(request: HttpRequest) -> HttpResponse:
    """Ask for the code, and create the company."""
    code = SignUpCode.resume(request) if settings.SIGN_UP != CLOSED else None
    if code is None:
        return redirect("sign_up")
    form = ConfirmCodeForm(request.POST or None, code=code.code)
    if request.method == "POST":
        if form.is_valid():
            return code.finish()
        if not code.record_invalid_attempt():
            messages.error(request, _("This code was tried too often. Get a new one."))
            return redirect("sign_up")
    context = {"form": form, "email": code.state["email"]}
    return render(request, "staff/sign_up_code.html", context, status=422 if form.errors else 200)


@require_safe
def say_asked(request: HttpRequest) -> HttpResponse:
    """Say what happens to a request."""
    return render(request, "staff/sign_up_asked.html", {"contact": settings.SIGN_UP_CONTACT})
