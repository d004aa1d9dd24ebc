"""Devices on pages: how an applicant or a member switches notifications on, and removes devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from applicants import browser
from pipeline.notifications.devices import (
    DeviceRefused,
    Owner,
    add_device,
    read_devices,
    remove_device,
    shown_name,
    vapid_key_id,
    vapid_public_key,
)
from pipeline.web import rate_limit
from pipeline.web.rate_limit import Rate
from pipeline.wording.english import long_duration

ADDITIONS = Rate(20, 3_600)  # devices that a person may add, again or anew
ADDED = gettext_lazy("Notifications are on for this device.")
REMOVED = gettext_lazy("That device will no longer show notifications.")


class DeviceForm(forms.Form):
    """Subscription of a browser, which its script fills in."""

    endpoint = forms.CharField(max_length=1_000)
    public_key = forms.CharField(max_length=100)
    secret = forms.CharField(max_length=40)


def devices_context(
    request: HttpRequest, owner: Owner, *, add_url: str, removal_url: Callable[[UUID], str]
) -> dict[str, Any]:
    """Return what a page shows of a person's devices, and the button that adds this browser."""
    here, key = browser.remembered_device_id(request), vapid_key_id()
    devices = [
        {
            "row": device,
            "name": shown_name(device),
            "is_here": device.id == here,
            "is_lost": device.site_key != key,
            "removal_url": removal_url(device.id),
        }
        for device in read_devices(owner)
    ]
    return {"devices": devices, "vapid_public_key": vapid_public_key(), "add_url": add_url}


def add_browser(request: HttpRequest, owner: Owner, *, page: str) -> HttpResponse:
    """Show notifications in this browser from now on, and lead back to the page of this name."""
    response, form = redirect(page), DeviceForm(request.POST)
    tally = rate_limit.count("devices", str(owner.applicant_id or owner.user_id), ADDITIONS)
    if not tally.allowed:
        wait = long_duration(tally.wait_seconds)
        messages.error(request, _("Too many attempts. Try again in %(wait)s.") % {"wait": wait})
    elif not form.is_valid():
        messages.error(request, _("Your browser did not answer. Try again."))
    else:
        agent, here = request.headers.get("User-Agent", ""), browser.remembered_device_id(request)
        try:
            device = add_device(owner, **form.cleaned_data, user_agent=agent, here=here)
        except DeviceRefused as refused:
            messages.error(request, str(refused))
        else:
            browser.remember_device(response, device)
            messages.success(request, ADDED)
    return response


def remove_browser(
    request: HttpRequest, owner: Owner, device_id: UUID, *, page: str
) -> HttpResponse:
    """Send a device no more notifications, and lead back to the page of this name."""
    remove_device(owner, device_id)
    messages.success(request, REMOVED)
    return redirect(page)
