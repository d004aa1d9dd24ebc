"""Page on which a member switches on notifications about reviews, and removes devices."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.db.models import Q
from django.dispatch import receiver
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from applicants import browser
from jobs.models import User
from pipeline.notifications.devices import Owner, is_push_enabled
from pipeline.pages.devices import add_browser, devices_context, remove_browser

P = ParamSpec("P")


def _require_push(
    view: Callable[Concatenate[HttpRequest, Owner, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Guard a page of notifications for members; it does not exist on a site without a key."""

    @never_cache
    @login_required
    @wraps(view)
    def guarded_with_push(
        request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        if not isinstance(request.user, User) or not is_push_enabled():
            raise Http404
        return view(request, Owner(user_id=request.user.id), *args, **kwargs)

    return guarded_with_push


@require_safe
@_require_push
def show(request: HttpRequest, owner: Owner) -> HttpResponse:
    """Show the account's devices, and the button that adds this browser."""
    context = devices_context(
        request,
        owner,
        add_url=reverse("add_account_device"),
        removal_url=lambda device_id: reverse("remove_account_device", args=[device_id]),
    )
    return render(request, "staff/devices.html", context)


@require_POST
@_require_push
def add(request: HttpRequest, owner: Owner) -> HttpResponse:
    """Show notifications in this browser from now on."""
    return add_browser(request, owner, page="account_devices")


@require_POST
@_require_push
def remove(request: HttpRequest, owner: Owner, device_id: UUID) -> HttpResponse:
    """Send a device no more notifications."""
    return remove_browser(request, owner, device_id, page="account_devices")


# A browser shows notifications to the person who is signed in, or was until their session ended.


@receiver(user_logged_in, dispatch_uid="staff.device_of_others")
def forget_device_of_others(request: HttpRequest, user: User, **_: Any) -> None:
    """End the notifications of whoever used the browser before."""
    browser.forget_device(request, unless=Q(user=user))


@receiver(user_logged_out, dispatch_uid="staff.device")
def forget_device(request: HttpRequest, **_: Any) -> None:
    """End the notifications in a browser that signs out."""
    browser.forget_device(request)
