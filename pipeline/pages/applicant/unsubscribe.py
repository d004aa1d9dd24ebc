"""The end of reminders and digests, through the link in an email or a mail program's own button.

Opening the page changes nothing, because mail scanners open links. The button's POST needs no
session and no CSRF token (RFC 8058): anyone who has the link in the email may end these emails.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from pipeline.mail.links import read_unsubscribe_link_token
from pipeline.notifications.subscriptions import WORDS, stop_subscription


@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """Show what would end; on POST, end it."""
    found = read_unsubscribe_link_token(token)
    if found is None or found[0] not in WORDS:
        return render(request, "applicant/unsubscribe.html", {"what": ""}, status=404)
    what, of = found
    is_done = request.method == "POST"
    if is_done:
        stop_subscription(what, of)
    context = {"what": WORDS[what], "token": token, "is_done": is_done}
    response = render(request, "applicant/unsubscribe.html", context)
    response["Referrer-Policy"] = "strict-origin"  # the address of this page is a secret
    return response
