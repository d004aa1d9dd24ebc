"""Pages of the development mailbox, which holds codes that sign in.

They exist only if DEV_MAIL is set, and only for requests that come directly from this machine: a
proxy or a tunnel on it must not show them to others.
"""

from __future__ import annotations

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from pipeline.mail import dev_mailbox
from pipeline.web.client_address import is_client_this_machine


@never_cache
@require_safe
def dev_mails(request: HttpRequest) -> HttpResponse:
    """List the newest emails, all or those to one address."""
    _only_for_developers(request)
    to = request.GET.get("to", "").strip().lower()
    kept = [mail for mail in dev_mailbox.newest() if to in mail.to.lower()]
    return render(request, "dev/mails.html", {"mails": kept, "to": to})


@never_cache
@require_safe
def dev_mail(request: HttpRequest, name: str) -> HttpResponse:
    """Show one email as text."""
    _only_for_developers(request)
    mail = dev_mailbox.read(name)
    if mail is None:
        raise Http404
    return render(request, "dev/mail.html", {"mail": mail})


def _only_for_developers(request: HttpRequest) -> None:
    if not (settings.DEV_MAIL and is_client_this_machine(request)):
        raise Http404
