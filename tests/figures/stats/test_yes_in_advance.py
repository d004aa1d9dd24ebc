"""A seat accepted in advance is confirmed, and says nothing about the time that people take."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pipeline.figures.job import read_totals
from pipeline.services.turns import acknowledge, preaccept
from tests.support import factories
from tests.support.clock import database_now, let_time_pass

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_counts_as_confirmed_and_not_in_the_time_to_confirm() -> None:
    job_id = factories.job(acknowledgment_window_seconds=600)
    _seated, first, second = factories.applications(job_id, 3)
    until = database_now() + timedelta(days=1)
    preaccept(application_id=first.id, accept_until=until, actor=factories.owner_of(first))
    factories.alter(job_id, capacity=3)
    let_time_pass(job_id, 100)
    acknowledge(application_id=second.id, actor=factories.owner_of(second))

    figures = read_totals(job_id)

    assert figures.acknowledged == 2
    assert figures.to_acknowledge.median == pytest.approx(100, abs=5)
