"""Sign-in by the links that `up` prints, as the demo's owner or as one of its applicants.

Opening the page changes nothing; its button signs in, which the page's script presses at once.
"""

from __future__ import annotations

from allauth.account.utils import perform_login
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from applicants.browser import sign_in_browser
from applicants.models import Applicant
from jobs.models import User
from pipeline.config import demo_addresses as demo
from pipeline.web import demo_access


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def demo_sign_in(request: HttpRequest, token: str) -> HttpResponseBase:
    """Show the button, and sign in on POST. An account's second step is asked for as usual."""
    demo_access.require_demo_access(request)
    who = demo_access.read_demo_access_token(token)
    if who is None:
        return _demo_sign_in_page(request, "", status=410)
    if request.method != "POST":
        return _demo_sign_in_page(request, who)
    if who == demo_access.OWNER:
        owner = User.objects.filter(email=demo.OWNER, is_active=True).first()
        if owner is None:
            raise Http404
        return perform_login(request, owner, email_verification="none")
    address = demo.demo_address(demo.APPLICANT)
    person = Applicant.objects.filter(email=address).first()
    if person is None:
        raise Http404
    sign_in_browser(request, person)
    return redirect("dashboard")


def _demo_sign_in_page(request: HttpRequest, who: str, *, status: int = 200) -> HttpResponse:
    name = demo.COMPANY if who == demo_access.OWNER else demo.APPLICANT
    context = {"who": who, "name": name}
    response = render(request, "demo/sign_in.html", context, status=status)
    response["Referrer-Policy"] = "strict-origin"  # this page's URL is a secret
    return response
