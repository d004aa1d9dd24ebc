"""Plans of the queries behind emails: each goes by an index, however many emails were sent."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection, transaction

from pipeline.models import Application, Email
from pipeline.notifications import applicants, companies, offers
from pipeline.notifications.applicants import Cause
from pipeline.selectors.emails import read_email, read_newest_emails
from tasks.enqueue import enqueue
from tests.support import factories
from tests.support.crowd import crowd
from tests.support.plans import SIZES, SMALL, finish_many_tasks, whole_tables_of_queries

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

LARGE = {
    "pipeline_application",
    "pipeline_email",
    "pipeline_event",
    "applicants_applicant",
    "tasks_task",
}
_EMAILS = """
INSERT INTO pipeline_email (id, application_id, seq, kind, number, state, problem, message_id)
SELECT gen_random_uuid(), id, tie, 'APPLIED', 0,
       CASE WHEN tie %% 100 = 0 THEN 'FAILED' ELSE 'SENT' END, '', '<' || id || '@example.org>'
FROM pipeline_application WHERE name LIKE 'Crowd %%'
"""


def emailed_line(size: int) -> tuple[Application, Application, Email]:
    """A line of that many people with an email each; an open offer, one who waits, their email."""
    job = factories.job(acknowledge_first_seat=True)
    offered = factories.application(job)
    crowd(job, size)
    enqueue("email.event", {"application": str(offered.id), "seq": 3})
    finish_many_tasks(size)
    with connection.cursor() as cursor:
        cursor.execute(_EMAILS, {})
        cursor.execute("UPDATE pipeline_email SET state_at = now() - interval '1 day'")
        cursor.execute("ANALYZE")
    email = Email.objects.filter(state="SENT").latest("seq")
    return offered, Application.objects.get(id=email.application_id), email


@pytest.mark.parametrize("size", SIZES)
def test_no_query_behind_an_email_reads_a_whole_table(size: int) -> None:
    offered, waiting, email = emailed_line(size)
    bounced = SimpleNamespace(event_type="bounced", message_id=email.message_id)

    acts: dict[str, Callable[[], Any]] = {
        "send an offer": lambda: applicants.send_email(Cause(offered.id, 3)),
        "send a receipt": lambda: applicants.send_email(Cause(waiting.id, email.seq, number=1)),
        "give up": lambda: applicants.give_up_email(Cause(waiting.id, email.seq, number=2)),
        "guard": lambda: offers.extend_unsent(offered.id, 3),
        "remind": lambda: offers.watch(offered.id, 3),
        "make up": lambda: offers.extend_delayed(offered.id, 3),
        "list": lambda: read_newest_emails(waiting.id),
        "look up": lambda: read_email(waiting.id, email.id),
        "repeat": lambda: companies.repeat_email(
            application_id=waiting.id, email_id=email.id, producer="tests"
        ),
        "bounce": lambda: applicants.note_tracked_email(None, bounced),
        "look for alerts": companies.raise_company_alerts,
    }

    read = {
        (name, query)
        for name, act in acts.items()
        for query, tables in whole_tables_of_queries(act, LARGE).items()
        if tables
    }
    assert read == set() or size <= SMALL


def test_control_without_its_index_the_emails_would_be_read_whole() -> None:
    _, waiting, _ = emailed_line(20_000)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexname FROM pg_indexes WHERE tablename = 'pipeline_email'"
            " AND indexdef LIKE '%(application_id)%'"
        )
        (name,) = cursor.fetchone()
        with transaction.atomic():
            cursor.execute(f"DROP INDEX {name}")
            read = whole_tables_of_queries(lambda: read_newest_emails(waiting.id), LARGE)
            transaction.set_rollback(True)

    assert list(read.values()) == [{"pipeline_email"}]
