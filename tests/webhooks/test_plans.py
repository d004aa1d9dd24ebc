"""Plans of the statements about webhooks: each goes by an index, however many deliveries there are.

A tenth of the deliveries waits, one in fifty has failed; there is an endpoint for each hundred.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils import timezone
from uuid_utils.compat import uuid7

from jobs.models import Company, Job
from pipeline.models import WebhookDelivery, WebhookEndpoint
from pipeline.webhooks import deliver, endpoints, queue
from pipeline.webhooks.queue import DELIVER
from pipeline.webhooks.queue import add_events as queue_webhooks_of_events
from pipeline.webhooks.queue import add_task_events as queue_webhooks_of_task_events
from pipeline.webhooks.queue import wake as wake_webhook_queue
from tasks.enqueue import enqueue
from tasks.sql.prepared import PreparedStatement
from tests.support import factories
from tests.support.crowd import crowd
from tests.support.plans import (
    MODES,
    SIZES,
    SMALL,
    finish_many_tasks,
    plan_of,
    whole_tables,
    whole_tables_of_queries,
)
from tests.support.statements import changed
from tests.support.webhooks import endpoint

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

LARGE = {
    "pipeline_webhookdelivery",
    "pipeline_webhookattempt",
    "pipeline_webhookendpoint",
    "pipeline_event",
    "tasks_task",
    "tasks_taskevent",
}
STATEMENTS: dict[str, PreparedStatement[Any]] = {
    "lock a company's": queue.LOCK_COMPANY,
    "queue": queue.INSERT,
    "lease": deliver.LEASE,
    "lease those of other companies": deliver.LEASE_OTHERS,
    "renew": deliver.RENEW,
    "read what is due": deliver.READ_DUE,
    "read the oldest": deliver.READ_OLDEST,
    "record": deliver.RECORD,
    "fail what waits": deliver.FAIL_WAITING,
    "lock a leased one": deliver.LOCK_LEASED,
    "release": deliver.RELEASE,
    "look for the next": deliver.NEXT_DUE,
}
_ENDPOINTS = """
INSERT INTO pipeline_webhookendpoint (id, company_id, url, description, types, secret, is_active,
    off_reason, failures, next_due_at)
SELECT gen_random_uuid(), company.id, 'https://example.org/', '', '{}', '', true, '', 0,
       CASE WHEN n %% 20 = 0 THEN now() END
FROM generate_series(1, %(size)s / 100) n
JOIN (SELECT id, row_number() OVER () AS place, count(*) OVER () AS companies FROM jobs_company)
     company ON company.place = 1 + n %% company.companies
"""
_DELIVERIES = """
WITH target AS (SELECT id, row_number() OVER (ORDER BY id) AS place,
                       count(*) OVER () AS targets FROM pipeline_webhookendpoint)
INSERT INTO pipeline_webhookdelivery (id, endpoint_id, source, type, body, state, attempts,
    earlier_attempts, last_error, next_attempt_at)
SELECT gen_random_uuid(), target.id, 'event:' || n, 'job.opened', '{}',
       CASE WHEN n %% 10 = 0 THEN 'PENDING' WHEN n %% 50 = 1 THEN 'FAILED' ELSE 'DELIVERED' END,
       1, 0, '', CASE WHEN n %% 10 = 0 THEN now() END
FROM generate_series(1, %(size)s) n JOIN target ON target.place = 1 + n %% target.targets
"""
_ATTEMPTS = """
INSERT INTO pipeline_webhookattempt (delivery_id, number, at, duration_ms, request_headers, error,
    detail, response_body)
SELECT id, 1, now(), 5, '{}', '', '', '' FROM pipeline_webhookdelivery
"""
COMPANIES = 20
FEW_ENDPOINTS = 20_000  # up to this size, endpoints fill a few pages: reading them all is as good


def busy_site(size: int) -> tuple[UUID, UUID]:
    """Fill the tables; return a company with a job of that many events, and its endpoint."""
    for _ in range(COMPANIES):
        factories.company()
    company = factories.company().id
    mine, _ = endpoint(company, "https://example.org/")
    enqueue(DELIVER)
    finish_many_tasks(size)
    with connection.cursor() as cursor:
        for statement in (_ENDPOINTS, _DELIVERIES, _ATTEMPTS):
            cursor.execute(statement, {"size": size})
    crowd(factories.job(company_id=company), size)
    WebhookEndpoint.objects.filter(id=mine.id).update(created_at=timezone.now() - timedelta(days=1))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return company, mine.id


def parameters(company: UUID, mine: UUID) -> dict[str, Any]:
    """Values for every parameter of the statements."""
    waiting = WebhookDelivery.objects.filter(endpoint_id=mine, state="PENDING").first()
    others = WebhookEndpoint.objects.exclude(company_id=company).values_list(
        "company_id", flat=True
    )
    return {
        "company": company,
        "endpoint": mine,
        "endpoints": [mine],
        "run": uuid7(),
        "most": 50,
        "reach": 1_000,
        "present": list(others.distinct()[:10]),
        "held": [waiting.id] if waiting else [],
        "events": "[]",
        "attempts": "[]",
        "health": "[]",
    }


@pytest.mark.parametrize("size", SIZES)
def test_no_statement_of_a_run_reads_a_whole_table(size: int) -> None:
    given = parameters(*busy_site(size))

    plans = {
        (name, mode): whole_tables(plan_of(statement, given, mode), LARGE)
        for name, statement in STATEMENTS.items()
        for mode in MODES
    }

    few = {"pipeline_webhookendpoint"} if size <= FEW_ENDPOINTS else set()
    assert {what for what, tables in plans.items() if tables - few and size > SMALL} == set()


@pytest.mark.parametrize("size", SIZES)
def test_no_page_task_or_request_about_webhooks_reads_a_whole_table(size: int) -> None:
    company, mine = busy_site(size)
    row = WebhookEndpoint.objects.get(id=mine)
    delivery = WebhookDelivery.objects.filter(endpoint_id=mine).latest("id")
    job = Job.objects.get(company_id=company).id

    def queue() -> None:
        queue_webhooks_of_events(job_id=job, company_id=company, first_seq=50, last_seq=60)

    def page(**how: Any) -> Callable[[], object]:
        return lambda: endpoints.read_deliveries(row, **{"after": None, "limit": 50} | how)

    acts: dict[str, Callable[[], object]] = {
        "endpoints": lambda: endpoints.read_page(company, after=None, limit=50),
        "deliveries": page(),
        "later deliveries": page(after=delivery.id),
        "failed deliveries": page(state="FAILED"),
        "deliveries of a type": page(type_="job.closed"),
        "attempts": lambda: endpoints.read_attempts([delivery.id]),
        "send one again": lambda: endpoints.redeliver_one(
            company_id=company, endpoint_id=mine, delivery_id=delivery.id
        ),
        "send all again": lambda: endpoints.redeliver_failed(
            company_id=company, endpoint_id=mine, since=timezone.now() - timedelta(days=1)
        ),
        "queue": queue,
        "queue those of tasks": queue_webhooks_of_task_events,
        "start": wake_webhook_queue,
    }

    read = {
        (name, query)
        for name, act in acts.items()
        for query, tables in whole_tables_of_queries(act, LARGE).items()
        if tables - ({"pipeline_webhookendpoint"} if size <= FEW_ENDPOINTS else set())
    }
    assert read == set() or size <= SMALL


def test_control_without_its_index_the_deliveries_would_be_read_whole() -> None:
    company, mine = busy_site(20_000)
    given = parameters(company, mine)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "DROP INDEX webhook_pending, webhook_deliveries, webhook_deliveries_of_type,"
            " webhook_delivered_once"
        )
        plan = plan_of(STATEMENTS["read what is due"], given, MODES[0])
        transaction.set_rollback(True)

    assert "pipeline_webhookdelivery" in whole_tables(plan, LARGE)


def test_a_run_leases_no_more_than_it_asks_for_whatever_the_plan(company: Company) -> None:
    """A nested loop reads its inner side again for each row; a lease would then take them all."""
    for _ in range(5):
        endpoint(company.id, "http://127.0.0.1:9/")
    WebhookEndpoint.objects.update(next_due_at=Now())

    with transaction.atomic():
        _plan_nested_loops()
        leased = deliver.LEASE.all(run=uuid7(), most=2)

    assert len(leased) == 2


def test_control_an_id_in_a_subquery_would_be_leased_beyond_the_limit(company: Company) -> None:
    for _ in range(5):
        endpoint(company.id, "http://127.0.0.1:9/")
    WebhookEndpoint.objects.update(next_due_at=Now())
    by_subquery = changed(
        changed(deliver.LEASE, "= ANY(ARRAY(", "IN ("), "SKIP LOCKED))", "SKIP LOCKED)"
    )

    with transaction.atomic():
        _plan_nested_loops()
        leased = by_subquery.all(run=uuid7(), most=2)

    assert len(leased) > 2


def _plan_nested_loops() -> None:
    with connection.cursor() as cursor:
        for way in ("hashjoin", "mergejoin", "material", "hashagg", "sort", "memoize"):
            cursor.execute(f"SET LOCAL enable_{way} = off")
