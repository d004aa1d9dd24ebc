"""Sessions of staff end when they are not used, and can be ended from elsewhere."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from jobs.models import User
from pipeline.pages.staff import middleware
from tests.support.accounts import PASSWORD, is_signed_in, sign_in
from tests.support.pages import follow, text_of

HOUR = 3_600


@pytest.fixture
def browser(ada: User) -> Client:
    """Return a browser in which Ada has signed in by her password."""
    client = Client()
    sign_in(ada.email, PASSWORD, client)
    return client


def ends_in_seconds(client: Client) -> float:
    row = Session.objects.get(session_key=client.session.session_key)
    return (row.expire_date - timezone.now()).total_seconds()


def test_a_session_ends_after_the_idle_hours(browser: Client, settings: Any) -> None:
    left = ends_in_seconds(browser)

    Session.objects.update(expire_date=timezone.now())

    assert 11.9 * HOUR < left <= 12 * HOUR
    assert not is_signed_in(browser)


def test_use_prolongs_it_and_is_written_only_now_and_then(
    browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = time.time()
    Session.objects.update(expire_date=timezone.now() + timezone.timedelta(hours=1))
    browser.get("/account/")
    soon = ends_in_seconds(browser)

    monkeypatch.setattr(middleware.time, "time", lambda: began + 301)
    browser.get("/account/")

    assert soon <= HOUR
    assert ends_in_seconds(browser) > 11.9 * HOUR


def test_a_session_in_use_ends_after_the_longest_time(
    browser: Client, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    began = time.time()

    monkeypatch.setattr(
        middleware.time, "time", lambda: began + settings.STAFF_SESSION_SECONDS + 60
    )
    browser.get("/account/")

    assert not is_signed_in(browser)


def test_an_applicants_session_lasts_as_before(applicant_page: Client) -> None:
    applicant_page.get("/me/")

    assert ends_in_seconds(applicant_page) > 13 * 24 * HOUR


def test_the_page_lists_sessions_and_ends_the_others(ada: User, browser: Client) -> None:
    other = Client(headers={"User-Agent": "Phone <b>7</b>"})
    sign_in(ada.email, PASSWORD, other)

    listed = browser.get("/account/sessions/")
    done = follow(browser, "/account/sessions/", {})

    assert "Phone" in text_of(listed)
    assert "<b>7</b>" not in listed.content.decode()
    assert "This browser" in text_of(listed)
    assert "signed out everywhere else" in done
    assert is_signed_in(browser)
    assert not is_signed_in(other)


def test_a_new_password_needs_twelve_characters_and_an_old_one_still_works(
    ada: User, browser: Client
) -> None:
    ada.set_password("tiny old")
    ada.save()
    client = Client()
    sign_in(ada.email, "tiny old", client)

    short = {"oldpassword": "tiny old", "password1": "elevenchars", "password2": "elevenchars"}
    refused = client.post("/account/password/change/", short)

    assert is_signed_in(client)
    assert refused.status_code == 422
    assert "12 characters" in text_of(refused)
