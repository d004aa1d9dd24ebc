"""The feed of changes that are no events: in the order of commits, nothing lost, nothing twice."""

from __future__ import annotations

import threading
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection, transaction

from pipeline.domain.errors import UnknownPlace
from pipeline.models import Change, ChangeKind
from pipeline.selectors import system
from pipeline.selectors.system import changes_end, read_changes
from pipeline.services.changes import record_application_changes
from pipeline.services.joining import change_application_reference
from tests.selectors.test_feed_restored import usual_numbers  # noqa: F401  a fixture
from tests.support import factories
from tests.support.feeds import wait_for_the_feed
from tests.support.together import PATIENCE_SECONDS, started, together

pytestmark = pytest.mark.django_db(transaction=True)


def read_now(company_id: UUID, after: UUID | None = None, *, limit: int = 3) -> list[UUID]:
    """Return the ids of everything that the feed shows now, page by page."""
    seen: list[UUID] = []
    while True:
        page = read_changes(company_id, after=seen[-1] if seen else after, limit=limit)
        seen += [each.id for each in page.rows]
        if not page.more:
            return seen


def lose_or_not(company: UUID, first: UUID, second: UUID) -> tuple[list[UUID], list[UUID]]:
    """Poll beside a transaction that has written its change but commits after a quicker one.

    Return what the poller has seen, and everything that was recorded.
    """
    written, go_on = threading.Event(), threading.Event()

    def write_slowly() -> None:
        with transaction.atomic():
            record_application_changes(ChangeKind.APPLICATION_CHANGED, [first])
            written.set()
            assert go_on.wait(PATIENCE_SECONDS)

    with started(write_slowly):
        assert written.wait(PATIENCE_SECONDS)
        record_application_changes(ChangeKind.APPLICATION_CHANGED, [second])
        seen = read_now(company)
        go_on.set()
    wait_for_the_feed()
    seen += read_now(company, seen[-1] if seen else None)
    return seen, list(Change.objects.values_list("id", flat=True))


@pytest.fixture
def line() -> tuple[UUID, UUID, UUID]:
    """Return a company and two of its applications."""
    job = factories.job(capacity=2)
    first, second = (each.id for each in factories.applications(job, 2))
    return factories.row_of(job).company_id, first, second


def test_a_change_that_commits_after_a_later_one_is_not_lost(line: tuple[UUID, UUID, UUID]) -> None:
    seen, recorded = lose_or_not(*line)

    assert len(seen) == len(set(seen)) == 2
    assert set(seen) == set(recorded)


def test_without_the_horizon_it_would_be_lost(
    line: tuple[UUID, UUID, UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "txid < pipeline_feed_horizon()" in system._CHANGES
    blind = system._CHANGES.replace("txid < pipeline_feed_horizon()", "true")
    monkeypatch.setattr(system, "_CHANGES", blind)

    seen, recorded = lose_or_not(*line)

    assert len(recorded) == 2
    assert len(seen) == 1


@pytest.mark.slow
def test_a_reader_who_polls_beside_many_writers_sees_each_change_once() -> None:
    job = factories.job(capacity=4)
    company = factories.row_of(job).company_id
    people = [each.id for each in factories.applications(job, 4)]
    left = [None] * len(people)

    def write_often(application_id: UUID) -> None:
        try:
            for number in range(25):
                change_application_reference(
                    company_id=company,
                    application_id=application_id,
                    changes={"metadata": {"number": str(number)}},
                )
        finally:
            left.pop()

    def poll() -> list[UUID]:
        seen: list[UUID] = []
        while True:
            is_last_round = not left
            if is_last_round:
                wait_for_the_feed()
            found = read_now(company, seen[-1] if seen else None, limit=4)
            seen += found
            if is_last_round and not found:
                return seen

    *_, first, second = together(
        [*(lambda each=each: write_often(each) for each in people), poll, poll]
    )

    assert first == second
    assert len(first) == len(set(first)) == 100


def test_it_shows_only_the_companys_own_changes(line: tuple[UUID, UUID, UUID]) -> None:
    company, first, _ = line
    record_application_changes(ChangeKind.APPLICATION_CHANGED, [first])
    wait_for_the_feed()
    other = factories.company().id
    end = changes_end(company)

    assert read_now(company) == [end]
    assert (read_now(other), changes_end(other)) == ([], None)
    with pytest.raises(UnknownPlace):
        read_changes(other, after=end, limit=1)


def test_after_a_restore_into_a_younger_cluster_it_goes_on(
    line: tuple[UUID, UUID, UUID],
    usual_numbers: None,  # noqa: F811  the fixture
) -> None:
    company, first, second = line
    record_application_changes(ChangeKind.APPLICATION_CHANGED, [first])
    with connection.cursor() as cursor:
        cursor.execute("UPDATE pipeline_change SET txid = txid + 1000000000")
    assert read_now(company) == []

    call_command("restart_feed", verbosity=0)
    wait_for_the_feed()
    [before] = read_now(company)
    record_application_changes(ChangeKind.APPLICATION_CHANGED, [second])
    wait_for_the_feed()

    assert len(read_now(company, before)) == 1
