"""The page on which an applicant switches notifications on, and removes devices."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpResponse
from django.test import Client, RequestFactory

from applicants.browser import DEVICE
from applicants.browser import sign_in as sign_in_browser
from applicants.models import Applicant, Device, DeviceNotice
from pipeline.pages import devices as module
from pipeline.privacy import my_data
from pipeline.web.rate_limit import Rate
from tests.support import factories
from tests.support.applicants import applicant_browser, mine
from tests.support.pages import text_of
from tests.support.push import CHROME, Browser, encoded, raw

pytestmark = pytest.mark.django_db(transaction=True)

PAGE, ADD, URL = "/me/devices/", "/me/devices/add/", "https://push.example.net/p/one"


@pytest.fixture
def person() -> Applicant:
    return factories.applicant()


@pytest.fixture
def browser(person: Applicant, push_on: None) -> Client:
    return applicant_browser(person)


def test_the_page_says_what_to_do_without_javascript_and_names_the_sites_key(
    browser: Client,
) -> None:
    answer = browser.get(PAGE)

    assert "or JavaScript is off" in text_of(answer)
    assert "home screen" in text_of(answer)
    assert "No device shows notifications yet." in text_of(answer)
    key = answer.context["vapid_public_key"]
    assert len(raw(key)) == 65
    assert f'data-site-key="{key}" hidden' in answer.content.decode()


def test_a_device_is_added_listed_as_this_one_and_removed(
    browser: Client, person: Applicant
) -> None:
    added = browser.post(
        ADD, Browser().subscription(URL), follow=True, headers={"User-Agent": CHROME}
    )

    device = Device.objects.get(applicant=person)
    assert "Notifications are on for this device." in text_of(added)
    assert "Chrome (Android) This device" in text_of(added)
    assert "data-push-here" in added.content.decode()
    removed = browser.post(f"{PAGE}{device.id}/remove/", follow=True)
    assert "That device will no longer show notifications." in text_of(removed)
    assert not Device.objects.exists()


def test_another_browser_is_not_called_this_one(browser: Client, person: Applicant) -> None:
    Browser().added_for(person, URL)

    page = browser.get(PAGE)

    assert "This device" in text_of(page)  # the heading
    assert "data-push-here" not in page.content.decode()


@pytest.mark.parametrize(
    "sent", [{}, {"endpoint": "https://127.0.0.1/"}, {"secret": encoded(b"short")}]
)
def test_what_no_browser_says_is_refused_with_a_sentence(
    browser: Client, sent: dict[str, str], settings: Any
) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = False

    answer = browser.post(ADD, sent and Browser().subscription(URL) | sent, follow=True)

    assert not Device.objects.exists()
    text = text_of(answer)
    assert "Your browser did not answer" in text or "push service cannot be used" in text


def test_devices_are_added_only_so_often(browser: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ADDITIONS", Rate(1, 3_600))
    browser.post(ADD, Browser().subscription(URL))

    again = browser.post(ADD, Browser().subscription(f"{URL}/2"), follow=True)

    assert "Too many attempts. Try again in" in text_of(again)
    assert Device.objects.count() == 1


def test_signing_out_ends_the_notifications_in_this_browser_only(
    browser: Client, person: Applicant
) -> None:
    elsewhere = Browser().added_for(person, f"{URL}/elsewhere")
    browser.post(ADD, Browser().subscription(URL))

    browser.post("/sign-out/")

    assert list(Device.objects.all()) == [elsewhere]


def test_signing_out_ends_the_notifications_of_who_used_the_browser_before(
    browser: Client,
) -> None:
    browser.post(ADD, Browser().subscription(URL))
    theirs = applicant_browser(factories.applicant())
    theirs.cookies[DEVICE] = browser.cookies[DEVICE].value

    theirs.post("/sign-out/")

    assert not Device.objects.exists()


@pytest.mark.parametrize("is_another", [False, True])
def test_signing_in_ends_the_notifications_of_another_person_only(
    person: Applicant, push_on: None, is_another: bool
) -> None:
    device = Browser().added_for(person, URL)
    request = RequestFactory().post("/")
    request.COOKIES[DEVICE] = str(device.id)
    SessionMiddleware(lambda _: HttpResponse()).process_request(request)

    sign_in_browser(request, factories.applicant() if is_another else person)

    assert Device.objects.exists() != is_another


def test_a_browser_that_is_added_under_a_new_key_leaves_no_ghost(
    browser: Client, settings: Any
) -> None:
    browser.post(ADD, Browser().subscription(URL))
    settings.VAPID_PRIVATE_KEY = b"\10" * 32

    browser.post(ADD, Browser().subscription(f"{URL}/new"))

    assert [each.endpoint for each in Device.objects.all()] == [f"{URL}/new"]


def test_the_download_names_each_notification(browser: Client, person: Applicant) -> None:
    device = Browser().added_for(person, URL)
    DeviceNotice.objects.create(id=device.id, device=device, state="SENT")

    [kept] = my_data.collect(person)["devices"]

    assert [each["state"] for each in kept["notifications"]] == ["SENT"]


def test_a_device_that_the_sites_new_key_cannot_reach_is_named(
    browser: Client, settings: Any
) -> None:
    browser.post(ADD, Browser().subscription(URL))
    settings.VAPID_PRIVATE_KEY = b"\10" * 32

    page = browser.get(PAGE)

    assert "cannot reach this device. Switch notifications on again on that device." in text_of(
        page
    )
    assert "data-push-here" not in page.content.decode()


def test_pages_lead_there(browser: Client, person: Applicant) -> None:
    job = factories.job()
    factories.application(job)
    application = factories.application(job, person)

    assert PAGE in browser.get("/me/").content.decode()
    assert "Get notified on this device, too" in text_of(browser.get(mine(application)))


def test_without_a_key_there_is_no_page_and_nothing_leads_there(person: Applicant) -> None:
    browser = applicant_browser(person)

    assert browser.get(PAGE).status_code == 404
    assert browser.post(ADD, Browser().subscription(URL)).status_code == 404
    assert PAGE not in browser.get("/me/").content.decode()


def test_who_is_not_signed_in_signs_in_first(push_on: None) -> None:
    assert Client().get(PAGE).status_code == 302
    assert Client().post(ADD, Browser().subscription(URL)).status_code == 302
    assert not Device.objects.exists()


def test_the_service_worker_is_served_at_the_root_and_asked_for_each_time(client: Client) -> None:
    answer = client.get("/service-worker.js")

    assert answer["Content-Type"] == "text/javascript; charset=utf-8"
    assert "no-cache" in answer["Cache-Control"]
    assert "default-src 'self'" in answer["Content-Security-Policy"]
    assert '"/static/img/icon-192.png"' in answer.content.decode()
    assert "Set-Cookie" not in answer
