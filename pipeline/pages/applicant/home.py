"""Dashboard: all applications of one person."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from hashlib import blake2b
from typing import Any, Concatenate, NamedTuple, ParamSpec
from uuid import UUID

from csp.decorators import csp
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from applicants.models import Applicant
from jobs.models import Retention
from pipeline.correspondence.threads import read_unread_of_person
from pipeline.files.stored import FILE_KEPT_DAYS
from pipeline.mail import dev_mailbox
from pipeline.mail.links import read_unsubscribe_token
from pipeline.notifications import previews
from pipeline.notifications.companies import (
    ALERTS,
    DIGEST,
    POOL,
    REMINDERS,
    REVIEWS,
    stop_subscription,
)
from pipeline.notifications.devices import Owner, is_push_enabled
from pipeline.pages import page_urls
from pipeline.pages.access import current_applicant, for_applicants, require_developer
from pipeline.pages.applicant.application_card import sorted_cards, timeline_entry
from pipeline.pages.devices import add_browser, devices_context, remove_browser
from pipeline.pages.emails_as_html import OF_AN_EMAIL
from pipeline.pages.live_page import live_page
from pipeline.selectors.applications import read_mine, read_my_states
from pipeline.selectors.pages import Page

LAST_EVENTS = 20


@require_safe
@for_applicants
def dashboard(request: HttpRequest) -> HttpResponseBase:
    """Show all of a person's applications, urgent ones first."""
    person = current_applicant(request)
    assert person is not None  # noqa: S101  for_applicants
    states, unread = read_my_states(person.id), read_unread_of_person(person.id)

    def build_dashboard() -> dict[str, Any]:
        mine, events = read_mine(person.id, events=LAST_EVENTS)
        cards = sorted_cards(mine)
        return {
            "live_cards": [card for card in cards if card.state != "ended"],
            "ended_cards": [card for card in cards if card.state == "ended"],
            "unread_threads": unread,
            "lacks_events": any(each.lacks_events for each in mine),
            "urgent": sum(card.is_urgent for card in cards),
            "lines": [
                timeline_entry(each.event, job_title=each.job.posting.title) for each in events
            ],
        }

    return live_page(
        request,
        "applicant/dashboard.html",
        "applicant/_dashboard.html",
        build=build_dashboard,
        tag=blake2b(repr((states, unread)).encode(), digest_size=12).hexdigest(),
        jobs=[state.job_id for state in states if state.is_live],
    )


# Devices of the signed-in applicant that show notifications: switched on, listed, removed.


P = ParamSpec("P")


def _require_push(
    view: Callable[Concatenate[HttpRequest, Applicant, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Guard a page of notifications for applicants; it does not exist on a site without a key."""

    @for_applicants
    @wraps(view)
    def guarded_with_push(
        request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        person = current_applicant(request)
        if person is None or not is_push_enabled():
            raise Http404
        return view(request, person, *args, **kwargs)

    return guarded_with_push


@require_safe
@_require_push
def my_devices(request: HttpRequest, person: Applicant) -> HttpResponse:
    """Show the devices, and the button that adds this browser."""
    context = devices_context(
        request,
        Owner(applicant_id=person.id),
        add_url=reverse("add_my_device"),
        removal_url=lambda device_id: reverse("remove_my_device", args=[device_id]),
    )
    return render(request, "applicant/devices.html", context)


@require_POST
@_require_push
def add_my_device(request: HttpRequest, person: Applicant) -> HttpResponse:
    """Show notifications in this browser from now on."""
    return add_browser(request, Owner(applicant_id=person.id), page="my_devices")


@require_POST
@_require_push
def remove_my_device(request: HttpRequest, person: Applicant, device_id: UUID) -> HttpResponse:
    """Send a device no more notifications."""
    return remove_browser(request, Owner(applicant_id=person.id), device_id, page="my_devices")


# The end of reminders and digests, through the link in an email or a mail program's own button.
# Opening the page changes nothing, because mail scanners open links. The button's POST needs no
# session and no CSRF token (RFC 8058): anyone who has the link in the email may end these emails.


class Ending(NamedTuple):
    """Words of the page about one kind of emails: its button, its question, and that it is done."""

    act: Promise
    question: Promise
    done: Promise


ENDINGS = {
    REMINDERS: Ending(
        _("Stop reminders of deadlines"),
        _("Stop reminders of deadlines?"),
        _("We no longer send you reminders of deadlines."),
    ),
    DIGEST: Ending(
        _("Stop the daily digest"),
        _("Stop the daily digest?"),
        _("We no longer send you the daily digest."),
    ),
    ALERTS: Ending(_("Stop alerts"), _("Stop alerts?"), _("We no longer send you alerts.")),
    REVIEWS: Ending(
        _("Stop emails about reviews"),
        _("Stop emails about reviews?"),
        _("We no longer send you emails about reviews."),
    ),
    POOL: Ending(
        _("Stop emails about other jobs of this company"),
        _("Stop emails about other jobs of this company?"),
        _("We no longer send you emails about other jobs of this company."),
    ),
}


@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """Show what would end; on POST, end it."""
    found = read_unsubscribe_token(token)
    if found is None or found[0] not in ENDINGS:
        return render(request, "applicant/unsubscribe.html", {"ending": None}, status=404)
    what, of = found
    is_done = request.method == "POST"
    if is_done:
        stop_subscription(what, of)
    context = {"ending": ENDINGS[what], "token": token, "is_done": is_done}
    response = render(request, "applicant/unsubscribe.html", context)
    response["Referrer-Policy"] = "strict-origin"  # the address of this page is a secret
    return response


# Page about the data that the site keeps, the reasons and the periods.


@require_safe
def privacy(request: HttpRequest) -> HttpResponse:
    """Explain to applicants what is kept."""
    context = {
        "usual_days": Retention.USUAL_DAYS,
        "least_days": Retention.LEAST_DAYS,
        "most_days": Retention.MOST_DAYS,
        "file_days": FILE_KEPT_DAYS,
    }
    return render(request, "applicant/privacy.html", context)


# Pages of the development mailbox, which holds codes that sign in. They exist only if DEV_MAIL is
# set, and only for requests that come directly from this machine: a proxy or a tunnel on it must
# not show them to others.


ON_ONE_PAGE = 50


@never_cache
@require_safe
def dev_mails(request: HttpRequest) -> HttpResponse:
    """List the newest emails, all or those to one address."""
    require_developer(request)
    to, before = request.GET.get("to", "").strip().lower(), request.GET.get("before", "")
    kept = [mail for mail in dev_mailbox.read_newest() if to in mail.to.lower()]
    page = Page.cut([mail for mail in kept if not before or mail.name < before], ON_ONE_PAGE)
    context = {
        "mails": page.rows,
        "to": to,
        "previews": previews.KINDS,
        "next_url": page_urls.change_query(request, before=page.rows[-1].name) if page.more else "",
        "first_url": page_urls.change_query(request, before=None) if before else "",
    }
    return render(request, "dev/mails.html", context)


@never_cache
@require_safe
def dev_mail(request: HttpRequest, name: str) -> HttpResponse:
    """Show one email as text."""
    require_developer(request)
    mail = dev_mailbox.read(name)
    if mail is None:
        raise Http404
    return render(request, "dev/mail.html", {"mail": mail})


@csp(OF_AN_EMAIL)  # type: ignore[arg-type]  # its type allows no further arguments
@never_cache
@require_safe
def dev_mail_html(request: HttpRequest, name: str) -> HttpResponse:
    """Show one email as HTML, the way a mail program does: with its own styles, without scripts."""
    require_developer(request)
    mail = dev_mailbox.read(name)
    if mail is None or not mail.html:
        raise Http404
    return HttpResponse(mail.html)


@never_cache
@require_safe
def dev_mail_preview(request: HttpRequest, kind: str) -> HttpResponse:
    """Show one kind of email, with made-up names, as text and with its calendar entry."""
    require_developer(request)
    sample = previews.find(kind)
    if sample is None:
        raise Http404
    return render(request, "dev/mail.html", {"mail": sample, "preview": kind})


@csp(OF_AN_EMAIL)  # type: ignore[arg-type]  # its type allows no further arguments
@never_cache
@require_safe
def dev_mail_preview_html(request: HttpRequest, kind: str) -> HttpResponse:
    """Show one kind of email as HTML."""
    require_developer(request)
    sample = previews.find(kind)
    if sample is None:
        raise Http404
    return HttpResponse(sample.html)
