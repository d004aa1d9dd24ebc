"""A job's own states: every pair of state and verb."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest

from jobs.policies import Policy
from pipeline.domain.errors import IllegalJobMove, JobNotFound
from pipeline.services.jobs import Posting, close_job, create_job, open_job, pause_job
from pipeline.services.leaving import withdraw
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)

VERBS: dict[str, Callable[..., None]] = {"open": open_job, "pause": pause_job, "close": close_job}
TABLE = {
    ("DRAFT", "open"): ("OPEN", ["JOB_OPENED"]),
    ("DRAFT", "pause"): None,
    ("DRAFT", "close"): None,
    ("OPEN", "open"): ("OPEN", []),
    ("OPEN", "pause"): ("PAUSED", ["JOB_PAUSED"]),
    ("OPEN", "close"): ("CLOSED", ["JOB_CLOSED"]),
    ("PAUSED", "open"): ("OPEN", ["JOB_RESUMED"]),
    ("PAUSED", "pause"): ("PAUSED", []),
    ("PAUSED", "close"): ("CLOSED", ["JOB_CLOSED"]),
    ("CLOSED", "open"): None,
    ("CLOSED", "pause"): None,
    ("CLOSED", "close"): ("CLOSED", []),
}


def job_that_is(status: str) -> UUID:
    job_id = factories.job(open_now=status != "DRAFT")
    for verb in {"PAUSED": ["pause"], "CLOSED": ["close"]}.get(status, []):
        VERBS[verb](job_id=job_id, actor=factories.RECRUITER)
    return job_id


def test_the_table_names_every_pair() -> None:
    states = ("DRAFT", "OPEN", "PAUSED", "CLOSED")
    assert set(TABLE) == {(state, verb) for state in states for verb in VERBS}


@pytest.mark.parametrize(("status", "verb"), [pair for pair, end in TABLE.items() if end])
def test_a_legal_verb_leads_where_the_table_says(status: str, verb: str) -> None:
    job_id = job_that_is(status)
    seq = factories.row_of(job_id).seq

    VERBS[verb](job_id=job_id, actor=factories.RECRUITER)

    after = TABLE[status, verb]
    assert (factories.row_of(job_id).status, factories.event_names(job_id, after=seq)) == after
    assert_line_is_sound(job_id)


@pytest.mark.parametrize(("status", "verb"), [pair for pair, end in TABLE.items() if not end])
def test_an_illegal_verb_changes_nothing(status: str, verb: str) -> None:
    job_id = job_that_is(status)
    seq = factories.row_of(job_id).seq

    with pytest.raises(IllegalJobMove):
        VERBS[verb](job_id=job_id, actor=factories.RECRUITER)

    assert (factories.row_of(job_id).status, factories.row_of(job_id).seq) == (status, seq)
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("verb", VERBS)
def test_an_unknown_job_is_named_as_such(verb: str) -> None:
    with pytest.raises(JobNotFound):
        VERBS[verb](job_id=factories.applicant().id, actor=factories.RECRUITER)


def test_a_log_starts_with_the_creation() -> None:
    created, opened = factories.events(factories.job())

    assert (created.event, created.seq, created.to_status) == ("JOB_CREATED", 1, "DRAFT")
    assert (opened.event, opened.from_status, opened.to_status) == ("JOB_OPENED", "DRAFT", "OPEN")


def test_opened_means_first_opened_however_often_it_was_paused() -> None:
    job_id = factories.job()
    opened_at = factories.row_of(job_id).opened_at

    pause_job(job_id=job_id, actor=factories.RECRUITER)
    open_job(job_id=job_id, actor=factories.RECRUITER)

    assert factories.row_of(job_id).opened_at == opened_at


def test_a_paused_job_promotes_nobody_until_it_is_resumed() -> None:
    job_id = factories.job()
    holder, waiting = factories.applications(job_id, 2)
    pause_job(job_id=job_id, actor=factories.RECRUITER)
    withdraw(application_id=holder.id, actor=factories.owner_of(holder))
    factories.settle_all()
    assert factories.status_of(waiting) == "WAITLIST"

    open_job(job_id=job_id, actor=factories.RECRUITER)

    assert factories.status_of(waiting) == "PENDING_ACKNOWLEDGMENT"
    assert_line_is_sound(job_id)


def test_a_cooldown_that_ends_in_a_pause_is_noticed_after_it() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    person = factories.application(job_id)
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    pause_job(job_id=job_id, actor=factories.RECRUITER)
    open_job(job_id=job_id, actor=factories.RECRUITER)
    assert_line_is_sound(job_id)
    let_time_pass(job_id, factories.COOLDOWN)

    assert factories.settle_all() == 1

    assert factories.status_of(person) == "PENDING_ACKNOWLEDGMENT"


def test_a_job_whose_id_is_there_already_is_not_made_again() -> None:
    company, new_id = factories.company(), uuid4()
    how: Any = {
        "company_id": company.id,
        "posting": Posting("Engineer"),
        "capacity": 1,
        "policy": Policy(),
        "actor": factories.RECRUITER,
        "job_id": new_id,
    }

    assert [create_job(**how) for _ in range(2)] == [new_id, new_id]

    assert factories.event_names(new_id) == ["JOB_CREATED", "JOB_OPENED"]
