"""Devices of the signed-in applicant that show notifications: switched on, listed, removed."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from applicants.browser import device_id_in_browser, remember_device_in_browser
from applicants.models import Applicant
from pipeline.limits.rate_limit import Rate, count_against_rate
from pipeline.pages.access import current_applicant, for_applicants
from pipeline.push.devices import DeviceRefused, add_device, devices_of, remove_device
from pipeline.push.vapid import is_push_on, vapid_key_id, vapid_public_key
from pipeline.wording.english import long_duration

P = ParamSpec("P")

ADDITIONS = Rate(20, 3_600)  # devices that a person may add, again or anew
ADDED = "Notifications are on for this device."
REMOVED = "That device will no longer show notifications."


class DeviceForm(forms.Form):
    """Subscription of a browser, which its script fills in."""

    endpoint = forms.CharField(max_length=1_000)
    public_key = forms.CharField(max_length=100)
    secret = forms.CharField(max_length=40)


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
        if person is None or not is_push_on():
            raise Http404
        return view(request, person, *args, **kwargs)

    return guarded_with_push


@require_safe
@_require_push
def my_devices(request: HttpRequest, person: Applicant) -> HttpResponse:
    """Show the devices, and the button that adds this browser."""
    here, key = device_id_in_browser(request), vapid_key_id()
    devices = [
        {"row": device, "is_here": device.id == here, "is_lost": device.site_key != key}
        for device in devices_of(person.id)
    ]
    context = {"devices": devices, "vapid_public_key": vapid_public_key()}
    return render(request, "applicant/devices.html", context)


@require_POST
@_require_push
def add_my_device(request: HttpRequest, person: Applicant) -> HttpResponse:
    """Show notifications in this browser from now on."""
    response, form = redirect("my_devices"), DeviceForm(request.POST)
    tally = count_against_rate("devices", str(person.id), ADDITIONS)
    if not tally.allowed:
        wait = long_duration(tally.wait_seconds)
        messages.error(request, f"Too many attempts. Try again in {wait}.")
    elif not form.is_valid():
        messages.error(request, "Your browser did not answer. Try again.")
    else:
        agent = request.headers.get("User-Agent", "")
        try:
            device = add_device(
                applicant_id=person.id,
                **form.cleaned_data,
                user_agent=agent,
                here=device_id_in_browser(request),
            )
        except DeviceRefused as refused:
            messages.error(request, str(refused))
        else:
            remember_device_in_browser(response, device)
            messages.success(request, ADDED)
    return response


@require_POST
@_require_push
def remove_my_device(request: HttpRequest, person: Applicant, device_id: UUID) -> HttpResponse:
    """Send a device no more notifications."""
    remove_device(applicant_id=person.id, device_id=device_id)
    messages.success(request, REMOVED)
    return redirect("my_devices")
