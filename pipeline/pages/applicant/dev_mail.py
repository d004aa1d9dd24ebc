"""Pages of the development mailbox, which holds codes that sign in.

They exist only if DEV_MAIL is set, and only for requests that come directly from this machine: a
proxy or a tunnel on it must not show them to others.
"""

from __future__ import annotations

from csp.constants import NONE, UNSAFE_INLINE
from csp.decorators import csp
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from pipeline.mail import dev_mailbox
from pipeline.notifications import previews
from pipeline.pages.page_urls import page_url_with
from pipeline.selectors.page import Page
from pipeline.web.client_address import is_client_developer

ON_ONE_PAGE = 50
# An email brings its styles along, and must load nothing.
_OF_AN_EMAIL = {
    "default-src": [NONE],
    "style-src": [UNSAFE_INLINE],
    "base-uri": [NONE],
    "form-action": [NONE],
    "frame-ancestors": [NONE],
}


@never_cache
@require_safe
def dev_mails(request: HttpRequest) -> HttpResponse:
    """List the newest emails, all or those to one address."""
    _require_developer_for_dev_mail(request)
    to, before = request.GET.get("to", "").strip().lower(), request.GET.get("before", "")
    kept = [mail for mail in dev_mailbox.newest_dev_mails() if to in mail.to.lower()]
    page = Page.cut([mail for mail in kept if not before or mail.name < before], ON_ONE_PAGE)
    context = {
        "mails": page.rows,
        "to": to,
        "previews": previews.KINDS,
        "next_url": page_url_with(request, before=page.rows[-1].name) if page.more else "",
        "first_url": page_url_with(request, before=None) if before else "",
    }
    return render(request, "dev/mails.html", context)


@never_cache
@require_safe
def dev_mail(request: HttpRequest, name: str) -> HttpResponse:
    """Show one email as text."""
    _require_developer_for_dev_mail(request)
    mail = dev_mailbox.read_dev_mail(name)
    if mail is None:
        raise Http404
    return render(request, "dev/mail.html", {"mail": mail})


@csp(_OF_AN_EMAIL)  # type: ignore[arg-type]  # its type allows no further arguments
@never_cache
@require_safe
def dev_mail_html(request: HttpRequest, name: str) -> HttpResponse:
    """Show one email as HTML, the way a mail program does: with its own styles, without scripts."""
    _require_developer_for_dev_mail(request)
    mail = dev_mailbox.read_dev_mail(name)
    if mail is None or not mail.html:
        raise Http404
    return HttpResponse(mail.html)


@never_cache
@require_safe
def dev_mail_preview(request: HttpRequest, kind: str) -> HttpResponse:
    """Show one kind of email, with made-up names, as text and with its calendar entry."""
    _require_developer_for_dev_mail(request)
    sample = previews.preview_of(kind)
    if sample is None:
        raise Http404
    return render(request, "dev/mail.html", {"mail": sample, "preview": kind})


@csp(_OF_AN_EMAIL)  # type: ignore[arg-type]  # its type allows no further arguments
@never_cache
@require_safe
def dev_mail_preview_html(request: HttpRequest, kind: str) -> HttpResponse:
    """Show one kind of email as HTML."""
    _require_developer_for_dev_mail(request)
    sample = previews.preview_of(kind)
    if sample is None:
        raise Http404
    return HttpResponse(sample.html)


def _require_developer_for_dev_mail(request: HttpRequest) -> None:
    if not (settings.DEV_MAIL and is_client_developer(request)):
        raise Http404
