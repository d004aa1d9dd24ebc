"""Devices are added with what a browser says, few of them, and of one person each."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from django.utils import translation

from applicants.models import Device
from pipeline.notifications import devices
from pipeline.notifications.devices import (
    MOST_DEVICES,
    DeviceRefused,
    Owner,
    add_device,
    read_devices,
    remove_device,
)
from pipeline.privacy.erase import erase_person
from tests.support import factories
from tests.support.push import CHROME, Browser
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)

URL = "https://push.example.net/p/one"


@pytest.fixture(autouse=True)
def _on(push_on: None, settings: Any) -> None:
    """Take addresses of the internet only, as a deployed site does."""
    settings.WEBHOOK_ALLOW_PRIVATE = False


def test_a_device_is_added_named_and_removed() -> None:
    person, browser = factories.applicant(), Browser()

    device = browser.added_for(person, URL)

    assert read_devices(Owner(person.id)) == [device]
    assert device.name == "Chrome (Android)"
    assert bytes(device.public_key) == browser.public_key
    remove_device(Owner(person.id), device.id)
    remove_device(Owner(person.id), device.id)
    assert read_devices(Owner(person.id)) == []


def test_a_browser_that_is_added_again_is_one_device_with_its_new_keys() -> None:
    person, browser = factories.applicant(), Browser()
    first = Browser().added_for(person, URL)

    again = browser.added_for(person, URL)

    assert again.id == first.id
    assert bytes(Device.objects.get().public_key) == browser.public_key


def test_a_browser_tells_the_person_who_switched_it_on_last() -> None:
    first, second = factories.applicant(), factories.applicant()
    before = Browser().added_for(first, URL)

    after = Browser().added_for(second, URL)

    assert read_devices(Owner(first.id)) == []
    assert read_devices(Owner(second.id)) == [after]
    assert after.id != before.id


def test_a_person_has_few_devices_also_if_they_add_many_at_once() -> None:
    person = factories.applicant()

    def add(number: int) -> str:
        try:
            Browser().added_for(person, f"{URL}/{number}")
        except DeviceRefused as refused:
            return str(refused)
        return "added"

    done = together([partial(add, number) for number in range(MOST_DEVICES + 3)])

    assert done.count("added") == MOST_DEVICES
    assert Device.objects.count() == MOST_DEVICES
    assert "You already have 5 devices. Remove one first." in done


def test_devices_of_a_former_key_do_not_count(settings: Any) -> None:
    person = factories.applicant()
    for number in range(MOST_DEVICES):
        Browser().added_for(person, f"{URL}/{number}")
    settings.VAPID_PRIVATE_KEY = b"\10" * 32

    device = Browser().added_for(person, f"{URL}/new")

    assert Device.objects.filter(id=device.id).exists()


def test_an_erased_person_gets_no_device() -> None:
    person = factories.applicant()
    erase_person(applicant_id=person.id)

    with pytest.raises(DeviceRefused, match="erased"):
        Browser().added_for(person, URL)

    assert not Device.objects.exists()


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://push.example.net/p/one",
        "https://127.0.0.1/p",
        "https://10.0.0.1/p",
        "https://[::1]/p",
        "https://169.254.169.254/latest/meta-data",
        "https://localhost/p",
        "https://database.internal/p",
        "https://me:secret@push.example.net/p",
        "ftp://push.example.net/p",
        "no address",
    ],
)
def test_an_address_that_is_no_push_service_of_the_internet_is_refused(endpoint: str) -> None:
    with pytest.raises(DeviceRefused, match="push service"):
        Browser().added_for(factories.applicant(), endpoint)

    assert not Device.objects.exists()


@pytest.mark.parametrize(
    "wrong", [{"public_key": "AAAA"}, {"secret": "AAAA"}, {"public_key": "\N{SNOWMAN}"}]
)
def test_keys_that_are_none_are_refused(wrong: dict[str, str]) -> None:
    given = Browser().subscription(URL) | wrong

    with pytest.raises(DeviceRefused):
        add_device(Owner(factories.applicant().id), **given, user_agent="")


def test_nobody_removes_the_device_of_another() -> None:
    device = Browser().added_for(factories.applicant(), URL)

    remove_device(Owner(factories.applicant().id), device.id)

    assert Device.objects.filter(id=device.id).exists()


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (CHROME, "Chrome (Android)"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Safari/604.1", "Safari (iPhone)"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 Safari/537.36 Edg/140.0", "Edge (Windows)"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0", "Firefox (Linux)"),
        ("Mozilla/5.0 (X11; Linux x86_64)", "Unknown browser (Linux)"),
        ("", "Unknown browser"),
    ],
)
def test_a_device_has_the_name_that_its_owner_knows(agent: str, name: str) -> None:
    assert devices.shown_name(Device(name=devices.browser_name(agent))) == name


def test_a_browser_that_nobody_knows_is_named_in_the_language_of_the_reader() -> None:
    stored = Device(name=devices.browser_name("Mozilla/5.0 (X11; Linux x86_64)"))

    with translation.override("de"):
        assert devices.shown_name(stored) == "Unbekannter Browser (Linux)"
