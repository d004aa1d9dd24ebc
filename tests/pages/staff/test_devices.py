"""The page on which a member switches notifications on, and removes devices."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.contrib.auth import login
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpResponse
from django.test import Client, RequestFactory

from applicants.browser import DEVICE
from applicants.models import Device
from jobs.models import Company, Role, User
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.applicants import applicant_browser
from tests.support.pages import text_of
from tests.support.push import CHROME, Browser

pytestmark = pytest.mark.django_db(transaction=True)

PAGE, ADD, URL = "/account/devices/", "/account/devices/add/", "https://push.example.net/p/one"


@pytest.fixture
def member(company: Company) -> User:
    return member_of(company, Role.RECRUITER, email="recruiter@example.org")


@pytest.fixture
def browser(member: User, push_on: None) -> Client:
    client = Client()
    client.force_login(member)
    return client


def switch_on(client: Client) -> str:
    return text_of(
        client.post(ADD, Browser().subscription(URL), follow=True, headers={"User-Agent": CHROME})
    )


def test_a_member_switches_notifications_on_here_sees_them_and_removes_them(
    browser: Client, member: User
) -> None:
    assert PAGE in browser.get("/account/").content.decode()
    assert "No device shows notifications yet." in text_of(browser.get(PAGE))

    said = switch_on(browser)

    [device] = member.devices.all()
    assert "Notifications are on for this device." in said
    assert "Chrome (Android) This device" in said
    browser.post(f"{PAGE}{device.id}/remove/")
    assert not Device.objects.exists()


def test_a_device_of_someone_else_stays(browser: Client, company: Company) -> None:
    colleague = member_of(company, Role.OWNER, email="owner@example.org")
    theirs = Browser().added_for(colleague, URL)

    browser.post(f"{PAGE}{theirs.id}/remove/")

    assert Device.objects.filter(id=theirs.id).exists()


def test_signing_out_ends_the_notifications_in_this_browser_only(
    browser: Client, member: User
) -> None:
    elsewhere = Browser().added_for(member, f"{URL}/elsewhere")
    switch_on(browser)

    browser.post("/account/logout/")

    assert list(Device.objects.all()) == [elsewhere]


@pytest.mark.parametrize("is_another", [False, True])
def test_signing_in_ends_the_notifications_of_another_person_only(
    member: User, company: Company, push_on: None, is_another: bool
) -> None:
    device = Browser().added_for(member, URL)
    request = RequestFactory().post("/account/login/")
    request.COOKIES[DEVICE] = str(device.id)
    SessionMiddleware(lambda _: HttpResponse()).process_request(request)
    other = member_of(company, Role.OWNER, email="owner@example.org")

    login(request, other if is_another else member, backend=settings.AUTHENTICATION_BACKENDS[0])

    assert Device.objects.exists() != is_another


def test_a_browser_shows_notifications_to_one_person(browser: Client, member: User) -> None:
    """It has one subscription, so an applicant who switches them on takes it over."""
    switch_on(browser)
    person = factories.applicant()
    theirs = applicant_browser(person)

    theirs.post("/me/devices/add/", Browser().subscription(URL))

    assert [(each.applicant, each.user) for each in Device.objects.all()] == [(person, None)]


def test_an_account_without_a_team_cannot_switch_them_on(member: User, browser: Client) -> None:
    member.memberships.all().delete()

    assert "in no company’s team" in switch_on(browser)
    assert not Device.objects.exists()


def test_without_a_key_there_is_no_page_and_nothing_leads_there(member: User) -> None:
    client = Client()
    client.force_login(member)

    assert client.get(PAGE).status_code == 404
    assert client.post(ADD, Browser().subscription(URL)).status_code == 404
    assert PAGE not in client.get("/account/").content.decode()


def test_who_is_not_signed_in_signs_in_first(push_on: None) -> None:
    assert Client().get(PAGE).status_code == 302
    assert Client().post(ADD, Browser().subscription(URL)).status_code == 302
