"""`manage.py doctor` on notifications on devices."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.management.doctor.site_findings import check_devices
from tests.support import factories
from tests.support.push import Browser

pytestmark = pytest.mark.django_db(transaction=True)

URL = "https://push.example.net/p/one"


def found() -> list[tuple[str, str]]:
    return [(finding.level, finding.text) for finding in check_devices()]


def test_a_site_without_a_key_is_in_order() -> None:
    assert found() == [("ok", "Notifications on devices are off: VAPID_PRIVATE_KEY is not set.")]


def test_a_site_without_a_key_and_with_devices_is_warned(push_on: None, settings: Any) -> None:
    Browser().added_for(factories.applicant(), URL)
    settings.VAPID_PRIVATE_KEY = b""

    assert found() == [
        ("warning", "VAPID_PRIVATE_KEY is not set, so stored devices get no notifications: 1.")
    ]


def test_devices_of_the_sites_key_are_in_order(push_on: None) -> None:
    Browser().added_for(factories.applicant(), URL)

    [(level, text)] = found()

    assert level == "ok"
    assert "every device" in text


def test_devices_of_another_key_are_counted(push_on: None, settings: Any) -> None:
    Browser().added_for(factories.applicant(), URL)
    settings.VAPID_PRIVATE_KEY = b"\10" * 32

    [(level, text)] = found()

    assert level == "warning"
    assert text == "Devices added under another VAPID_PRIVATE_KEY, which are not reached: 1."


@pytest.mark.parametrize("subject", ["mailto:no-reply@localhost", "https://localhost"])
def test_a_public_site_with_a_subject_at_no_domain_is_warned(
    push_on: None, settings: Any, subject: str
) -> None:
    settings.SITE_URL, settings.VAPID_SUBJECT = "https://line.example", subject

    assert found()[0] == (
        "warning",
        f"VAPID_SUBJECT is {subject}, so some push services will refuse notifications.",
    )
