"""Services of endpoints, at the same moment."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from uuid_utils.compat import uuid7

from jobs.models import Company
from pipeline.domain.errors import WebhookAlreadyMade
from pipeline.models import WebhookEndpoint
from pipeline.webhooks import endpoints
from tests.support.together import (
    PATIENCE_SECONDS,
    kinds,
    started,
    together,
    wait_until_somebody_waits_for_a_lock,
)

pytestmark = pytest.mark.django_db(transaction=True)
URL = "https://example.org/hook"


def test_of_two_companies_that_post_the_same_id_at_once_the_second_is_refused(
    company: Company, other_company: Company
) -> None:
    """The second has looked for the id before the first commits, so it finds it only on writing."""
    wanted, made, go_on = uuid7(), threading.Event(), threading.Event()

    def create_first() -> Any:
        with transaction.atomic():
            first = endpoints.create(company_id=company.id, url=URL, endpoint_id=wanted)
            made.set()
            assert go_on.wait(PATIENCE_SECONDS)
        return first

    def create_second() -> Any:
        return endpoints.create(company_id=other_company.id, url=URL, endpoint_id=wanted)

    with started(create_first) as first:
        assert made.wait(PATIENCE_SECONDS)
        with started(create_second) as second:
            wait_until_somebody_waits_for_a_lock()
            go_on.set()

    assert isinstance(first[0], tuple)
    assert kinds(second) == ["WebhookAlreadyMade"]
    assert WebhookEndpoint.objects.get(id=wanted).company_id == company.id


def test_many_companies_that_post_the_same_id_get_one_endpoint(
    company: Company, other_company: Company
) -> None:
    for _ in range(10):
        wanted = uuid7()
        answers = together(
            [
                partial(endpoints.create, company_id=owner, url=URL, endpoint_id=wanted)
                for owner in (company.id, other_company.id)
            ]
        )

        refused = [each for each in answers if isinstance(each, Exception)]
        assert [type(each) for each in refused] == [WebhookAlreadyMade]
        assert WebhookEndpoint.objects.filter(id=wanted).count() == 1
