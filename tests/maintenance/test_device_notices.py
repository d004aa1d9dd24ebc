"""What is known about notifications on devices is removed after 90 days, and the devices stay."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from applicants.models import Device, DeviceNotice
from pipeline.maintenance import expired_rows
from tests.support import factories
from tests.support.push import Browser

pytestmark = pytest.mark.django_db(transaction=True)


def test_only_what_is_older_than_90_days_goes(push_on: None) -> None:
    device = Browser().added_for(factories.applicant(), "https://push.example.net/p/one")
    for days in (89, 91):
        at = timezone.now() - timedelta(days=days)
        DeviceNotice.objects.create(id=uuid4(), device=device, state="SENT", at=at)

    removed = expired_rows.remove_batch()

    assert removed["notices"] == 1
    assert (timezone.now() - DeviceNotice.objects.get().at).days == 89
    assert Device.objects.exists()
