"""Page of the signed-in account, and the switch between companies."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from typing import cast
from uuid import UUID

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.http import require_GET, require_POST, require_safe

from jobs import accounts
from jobs.accounts import has_second_step
from jobs.models import Telling, User
from jobs.pictures import (
    PictureRefused,
    read_colleague_picture,
    remove_own_picture,
    set_own_picture,
)
from jobs.team import locked_companies, set_away, set_member_emails
from pipeline.pages.access import current_memberships, switch_current_member
from pipeline.pages.staff.forms import OwnNameForm, OwnPictureForm
from pipeline.wording.english import isolated, joined

TELLINGS = [
    (Telling.AT_ONCE, gettext_lazy("At once, by email")),
    (Telling.DIGEST, gettext_lazy("In the email of the next morning")),
    (Telling.NEVER, gettext_lazy("Not at all")),
]


@never_cache
@require_GET
@login_required
def show(request: HttpRequest) -> HttpResponse:
    """Show the name, and the ways to sign in: address, password, passkeys, app, recovery codes."""
    name = cast(User, request.user).name
    return _render(request, OwnNameForm(initial={"name": name}))


@require_POST
@login_required
def change_name(request: HttpRequest) -> HttpResponse:
    """Change the name that colleagues see."""
    form = OwnNameForm(request.POST)
    if not form.is_valid():
        return _render(request, form)
    accounts.change_name(user_id=cast(User, request.user).id, name=form.cleaned_data["name"])
    messages.success(request, _("Your name is saved."))
    return redirect("account")


@require_POST
@login_required
def change_picture(request: HttpRequest) -> HttpResponse:
    """Save an uploaded picture of the account, or with `remove` remove it."""
    user = cast(User, request.user)
    if "remove" in request.POST:
        remove_own_picture(user_id=user.id)
        messages.success(request, _("Your picture is removed."))
        return redirect("account")
    if not current_memberships(request):
        raise Http404
    form = OwnPictureForm(request.POST, request.FILES)
    if form.is_valid():
        file = form.cleaned_data["picture"]
        try:
            set_own_picture(user_id=user.id, file=file, size=file.size)
        except PictureRefused as refused:
            form.add_error("picture", str(refused))
        else:
            messages.success(request, _("Your picture is saved."))
            return redirect("account")
    return _render(request, OwnNameForm(initial={"name": user.name}), form)


@require_safe
@cache_control(private=True, max_age=3_600)
def show_picture(request: HttpRequest, user_id: UUID, digest: str) -> HttpResponse:
    """Return a picture of a member of a team, to the team alone."""
    companies = [each.company_id for each in current_memberships(request)]
    data = read_colleague_picture(companies, user_id, digest) if companies else None
    if data is None:
        raise Http404
    response = HttpResponse(data, content_type="image/webp")
    response["Content-Security-Policy"] = "sandbox; default-src 'none'; frame-ancestors 'none'"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    return response


def _render(
    request: HttpRequest, form: OwnNameForm, picture: OwnPictureForm | None = None
) -> HttpResponse:
    user = cast(User, request.user)
    has_errors = bool(form.errors or (picture and picture.errors))
    address = (user.id, user.picture_digest)
    held = list(Authenticator.objects.filter(user=user).order_by("created_at"))
    recovery_codes = Authenticator.Type.RECOVERY_CODES
    codes = next((each for each in held if each.type == recovery_codes), None)
    locked = locked_companies(user.id)
    context = {
        "name_form": form,
        "picture_form": picture or OwnPictureForm(),
        "own_picture": reverse("colleague_picture", args=address) if address[1] else "",
        "new_address": EmailAddress.objects.filter(user=user, verified=False).first(),
        "passkeys": [each for each in held if each.type == Authenticator.Type.WEBAUTHN],
        "app": next((each for each in held if each.type == Authenticator.Type.TOTP), None),
        "codes_left": len(codes.wrap().get_unused_codes()) if codes else None,
        "has_second_step": bool(held),
        "needs_second_step": user.is_staff and not has_second_step(user.id),
        "idle_hours": settings.STAFF_IDLE_HOURS,
        "locked_companies": locked,
        "locked_names": joined([isolated(name) for name in locked]),
        "tellings": TELLINGS,
    }
    return render(request, "staff/account.html", context, status=422 if has_errors else 200)


@require_POST
@login_required
def choose_emails(request: HttpRequest) -> HttpResponse:
    """Choose which emails the account gets for one of its companies."""
    chosen = request.POST.get("membership", "")
    member = next((each for each in current_memberships(request) if str(each.id) == chosen), None)
    if member is None:
        raise Http404
    reviews = request.POST.get("reviews", "")
    set_member_emails(
        membership_id=member.id,
        digest="digest" in request.POST,
        alerts="alerts" in request.POST,
        reviews=reviews if reviews in Telling.values else "",
    )
    with suppress(ValueError):
        until = request.POST.get("away_until", "")
        set_away(membership_id=member.id, until=date.fromisoformat(until) if until else None)
    words = _("Emails about %(company)s: saved.")
    messages.success(request, words % {"company": isolated(member.company.name)})
    return redirect("account")


@require_POST
@login_required
def switch_company(request: HttpRequest) -> HttpResponse:
    """Switch the session to another of the member's companies."""
    try:
        member = switch_current_member(request, UUID(request.POST.get("company", "")))
    except ValueError:
        raise Http404 from None
    if member is None:
        raise Http404
    words = _("You are now acting for %(company)s.")
    messages.success(request, words % {"company": isolated(member.company.name)})
    return redirect("company_jobs")
