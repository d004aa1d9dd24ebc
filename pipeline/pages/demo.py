"""Sign-in by the links that `up` prints, as the demo's owner or as one of its applicants.

Opening the page changes nothing; its button signs in, which the page's script presses at once.
"""

from __future__ import annotations

from uuid import UUID

from allauth.account.utils import perform_login
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from applicants import browser
from applicants.models import Applicant
from applicants.people import find_or_create_person
from jobs.models import User
from pipeline.config import demo_addresses as demo
from pipeline.config.demo_addresses import STORY_PEOPLE, demo_address
from pipeline.domain.states import Actor, ActorKind, Status
from pipeline.mail import dev_mailbox
from pipeline.pages.access import public_job, sees_own_job
from pipeline.pages.error_messages import attempt
from pipeline.selectors.applications import SeenApplication, read_application
from pipeline.services.joining import apply
from pipeline.web import addresses
from pipeline.web.addresses import has_story_access

# The staff accounts whom a link signs in.
_STAFF = {addresses.OWNER: demo.OWNER, addresses.HIRING: demo.HIRING_MANAGER}


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest, token: str) -> HttpResponseBase:
    """Show the button, and sign in on POST. An account's second step is asked for as usual."""
    addresses.require_demo_access(request)
    who = addresses.read_demo_access_token(token)
    if who is None:
        return _ask_sign_in(request, "", status=410)
    if request.method != "POST":
        return _ask_sign_in(request, who)
    if who in _STAFF:
        user = User.objects.filter(email=_STAFF[who], is_active=True).first()
        if user is None:
            raise Http404
        return perform_login(request, user, email_verification="none")
    address = demo.demo_address(demo.APPLICANT)
    person = Applicant.objects.filter(email=address).first()
    if person is None:
        raise Http404
    browser.sign_in(request, person)
    return redirect("dashboard")


def _ask_sign_in(request: HttpRequest, who: str, *, status: int = 200) -> HttpResponse:
    name = demo.COMPANY if who in _STAFF else demo.APPLICANT
    context = {"who": who, "name": name}
    response = render(request, "demo/sign_in.html", context, status=status)
    response["Referrer-Policy"] = "strict-origin"  # this page's URL is a secret
    return response


# Bar of the demo on a job: apply as one of three people with a click, and find their emails. It
# exists in development only: with the embedded database and the development mailbox, for requests
# that come directly from this machine.


@require_POST
def apply_person(request: HttpRequest, job_id: UUID, who: str) -> HttpResponse:
    """Apply to a job as one of the story's people, as if they had proved their address.

    Nobody is signed in. Members of the company return to its board, others to the job's page.
    """
    if not has_story_access(request) or who not in STORY_PEOPLE:
        raise Http404
    job, name = public_job(request, job_id), STORY_PEOPLE[who]
    person = find_or_create_person(demo_address(name))
    actor = Actor(ActorKind.APPLICANT, person.id)
    applied = attempt(
        request, lambda: apply(job_id=job.id, applicant_id=person.id, name=name, actor=actor)
    )
    if applied:
        email = format_html(
            '<a href="{}">{}</a>',
            reverse("newest_story_email", args=[who]),
            _("Open the newest email to %(name)s") % {"name": name},
        )
        result = _describe_result(read_application(applied.id), name)
        messages.success(request, format_html("{} {}", result, email))
    return redirect("board" if sees_own_job(request, job) else "opening", job.id)


def _describe_result(seen: SeenApplication, name: str) -> str:
    match seen.application.status:
        case Status.ACTIVE:
            words = _("%(name)s has applied and has a seat, in review.")
        case Status.PENDING_ACKNOWLEDGMENT:
            words = _("%(name)s has applied and is offered a seat, to confirm before the deadline.")
        case _ if seen.position is None:
            words = _("%(name)s has applied and takes part in the draw.")
        case _:
            words = _("%(name)s has applied and is number %(position)s in line.")
    return words % {"name": name, "position": f"{seen.position or 0:,}"}


@never_cache
@require_safe
def newest_story_email(request: HttpRequest, who: str) -> HttpResponse:
    """Redirect to the newest email to one of the story's people; without one, to the mailbox."""
    if not has_story_access(request) or who not in STORY_PEOPLE:
        raise Http404
    name = STORY_PEOPLE[who]
    newest = next(
        (mail for mail in dev_mailbox.read_newest() if mail.to == demo_address(name)), None
    )
    if newest is None:
        messages.info(request, _("%(name)s has received no email yet.") % {"name": name})
        return redirect("dev_mails")
    return redirect("dev_mail", newest.name)
