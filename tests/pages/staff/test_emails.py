"""Emails about a staff account: the time in them is what it says."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from django.core import mail
from django.test import Client

from jobs.models import User
from tests.support.accounts import PASSWORD, sign_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("zone", ["", "Asia/Tokyo", "America/New_York"])
def test_a_notice_gives_its_time_in_utc_wherever_the_browser_is(ada: User, zone: str) -> None:
    client = Client()
    client.cookies["time_zone"] = zone
    sign_in(ada.email, client=client)
    mail.outbox.clear()
    before = datetime.now(UTC).replace(second=0, microsecond=0)

    client.post(
        "/account/password/change/",
        {"oldpassword": PASSWORD, "password1": "another horse", "password2": "another horse"},
    )

    said = re.search(r"When: (.*) \(UTC\)", str(mail.outbox[-1].body))
    assert said
    when = datetime.strptime(said[1], "%d %B %Y, %H:%M").replace(tzinfo=UTC)
    assert before <= when <= datetime.now(UTC)


def test_each_error_of_a_password_is_counted(ada: User) -> None:
    client = Client()
    sign_in(ada.email, client=client)

    page = client.post(
        "/account/password/change/",
        {"oldpassword": "wrong", "password1": "123", "password2": "123"},
    ).content.decode()

    said = re.search(r"There are (\d+) problems", page)
    assert said
    assert int(said[1]) == page.count('<li><a href="#id_')
    assert "Current password" in page
    assert "Current Password" not in page
