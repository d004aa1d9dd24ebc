"""The feed after a dump was restored into a cluster that numbers its transactions lower."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.db import connection, transaction

from pipeline.models import RemovedLog
from tests.selectors.test_feed import company_of, read_all, read_now
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def usual_numbers() -> Iterator[None]:
    """The feed's numbers are the cluster's again afterwards."""
    yield
    with connection.cursor() as cursor:
        for name, value in (
            ("place", "pg_current_xact_id()"),
            ("horizon", "pg_snapshot_xmin(pg_current_snapshot())"),
        ):
            cursor.execute(
                f"CREATE OR REPLACE FUNCTION pipeline_feed_{name}() RETURNS bigint STABLE"
                f" LANGUAGE sql AS 'SELECT {value}::text::bigint + 0'"
            )


def test_the_end_of_a_removed_log_counts_too(usual_numbers: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pipeline_feed_place()")
        [[now]] = cursor.fetchall()
        cursor.execute("SET session_replication_role = replica")
        place = {"last_txid": now + 1_000_000, "last_id": 1}
        RemovedLog.objects.create(job_id=factories.job(), events=1, head=bytes(32), **place)
        cursor.execute("RESET session_replication_role")

    call_command("restart_feed", verbosity=0)

    company = company_of(factories.job())
    with connection.cursor() as cursor:
        cursor.execute("SELECT pipeline_feed_place()")
        assert cursor.fetchone()[0] > now + 1_000_000
    assert read_all(company)


def test_after_a_restore_into_a_younger_cluster_the_feed_goes_on(usual_numbers: None) -> None:
    job = factories.job()
    company = company_of(job)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("UPDATE pipeline_event SET txid = txid + 1000000000")
    assert read_now(company) == []

    call_command("restart_feed", verbosity=0)
    seen = read_all(company)
    factories.application(job)
    call_command("restart_feed", verbosity=0)  # there is nothing to do any more
    factories.application(job)

    assert [place.seq for place in seen] == [1, 2]
    assert [place.seq for place in read_all(company, after=seen[-1])] == [3, 4]
