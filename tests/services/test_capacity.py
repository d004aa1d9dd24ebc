"""Capacity: never more seats held than there are, and a lowered job drains."""

from __future__ import annotations

from uuid import UUID

import pytest

from jobs.models import JobPosting
from pipeline.domain.errors import ExternalIdTaken, IllegalJobMove, StaleVersion
from pipeline.models import JobReference
from pipeline.services.jobs import JobChanges, Version, close_job, open_job, pause_job, update_job
from pipeline.services.leaving import withdraw
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)


def version_of(job_id: UUID) -> Version:
    return Version(factories.row_of(job_id).seq, JobPosting.objects.get(job_id=job_id).version)


def test_more_seats_go_to_the_next_in_line_at_once() -> None:
    job_id = factories.job(capacity=1)
    people = factories.applications(job_id, 4)

    factories.alter(job_id, capacity=3)

    assert factories.statuses(*people) == [
        "ACTIVE",
        "PENDING_ACKNOWLEDGMENT",
        "PENDING_ACKNOWLEDGMENT",
        "WAITLIST",
    ]
    assert_line_is_sound(job_id)


def test_each_promotion_of_a_raise_is_caused_by_it() -> None:
    job_id = factories.job(capacity=1)
    factories.applications(job_id, 3)

    factories.alter(job_id, capacity=3)

    raised, *promotions = factories.events(job_id)[-3:]
    assert raised.event == "CAPACITY_CHANGED"
    assert [p.cause_seq for p in promotions] == [raised.seq, raised.seq]


def test_fewer_seats_evict_nobody_and_the_job_drains() -> None:
    job_id = factories.job(capacity=3)
    *holders, waiting = factories.applications(job_id, 4)

    factories.alter(job_id, capacity=1)

    assert factories.statuses(*holders, waiting) == ["ACTIVE"] * 3 + ["WAITLIST"]
    assert_line_is_sound(job_id, most_seats=3)
    for most, holder in ((2, holders[0]), (1, holders[1])):
        withdraw(application_id=holder.id, actor=factories.owner_of(holder))
        assert factories.status_of(waiting) == "WAITLIST"
        assert_line_is_sound(job_id, most_seats=most)
    withdraw(application_id=holders[2].id, actor=factories.owner_of(holders[2]))
    assert factories.status_of(waiting) == "PENDING_ACKNOWLEDGMENT"
    assert_line_is_sound(job_id)


def test_while_a_lowering_drains_newcomers_wait() -> None:
    job_id = factories.job(capacity=2)
    holders = factories.applications(job_id, 2)
    factories.alter(job_id, capacity=1)
    withdraw(application_id=holders[0].id, actor=factories.owner_of(holders[0]))

    newcomer = factories.application(job_id)

    assert factories.status_of(newcomer) == "WAITLIST"
    assert_line_is_sound(job_id)


def test_in_a_drain_the_promotion_is_caused_by_the_miss_that_opened_the_seat() -> None:
    job_id = factories.job(capacity=3, acknowledge_first_seat=True)
    factories.applications(job_id, 4)
    factories.alter(job_id, capacity=1)
    seq = factories.row_of(job_id).seq
    let_time_pass(job_id, factories.WINDOW)

    factories.settle_all()

    *misses, promotion = factories.events(job_id, after=seq)
    assert [miss.event for miss in misses] == ["DECAYED"] * 3
    assert (promotion.event, promotion.cause_seq) == ("PROMOTED", misses[-1].seq)


def test_more_seats_promote_nobody_while_a_job_is_paused() -> None:
    job_id = factories.job(capacity=1)
    holder, waiting = factories.applications(job_id, 2)
    pause_job(job_id=job_id, actor=factories.RECRUITER)
    factories.alter(job_id, capacity=2)
    assert factories.statuses(holder, waiting) == ["ACTIVE", "WAITLIST"]

    open_job(job_id=job_id, actor=factories.RECRUITER)

    resumed, promotion = factories.events(job_id)[-2:]
    assert factories.statuses(holder, waiting) == ["ACTIVE", "PENDING_ACKNOWLEDGMENT"]
    assert (resumed.event, promotion.cause_seq) == ("JOB_RESUMED", resumed.seq)
    assert_line_is_sound(job_id)


def test_the_cause_of_a_promotion_does_not_depend_on_how_late_a_miss_was_settled() -> None:
    causes = []
    for settled_in_time in (True, False):
        job_id = factories.job(acknowledge_first_seat=True)
        factories.applications(job_id, 2)
        pause_job(job_id=job_id, actor=factories.RECRUITER)
        let_time_pass(job_id, factories.WINDOW)
        if settled_in_time:
            factories.settle_all()
        open_job(job_id=job_id, actor=factories.RECRUITER)
        causes.append(factories.events(job_id)[-1].cause_seq)

    assert causes[0] == causes[1]


def test_an_overdue_offer_is_settled_before_the_job_changes_and_by_the_old_policy() -> None:
    job_id = factories.job(acknowledge_first_seat=True, max_decays=3)
    missed, waiting = factories.applications(job_id, 2)
    let_time_pass(job_id, factories.WINDOW)

    factories.alter(job_id, capacity=2, policy={"max_decays": 0})

    assert factories.event_names(job_id)[-4:] == [
        "DECAYED",
        "PROMOTED",
        "POLICY_CHANGED",
        "CAPACITY_CHANGED",
    ]
    assert factories.statuses(missed, waiting) == ["WAITLIST", "PENDING_ACKNOWLEDGMENT"]
    assert_line_is_sound(job_id)


def test_a_change_to_what_already_is_leaves_no_trace() -> None:
    job_id = factories.job(capacity=2, penalty_places=1)
    seq = factories.row_of(job_id).seq

    factories.alter(job_id, capacity=2, policy={"penalty_places": 1})

    assert (factories.row_of(job_id).seq, factories.row_of(job_id).policy_version) == (seq, 1)
    assert_line_is_sound(job_id)


def test_new_texts_leave_the_line_alone() -> None:
    job_id = factories.job()
    let_time_pass(job_id, 10)
    before = factories.row_of(job_id)

    factories.alter(job_id, posting={"title": "Welder"})

    after = factories.row_of(job_id)
    assert (after.seq, after.last_event_at) == (before.seq, before.last_event_at)
    assert JobPosting.objects.get(job_id=job_id).title == "Welder"
    assert version_of(job_id).posting == 2
    assert_line_is_sound(job_id)


def test_a_raise_and_a_shorter_window_in_one_change_offer_the_seats_under_the_new_policy() -> None:
    job_id = factories.job(capacity=1)
    waiting = factories.applications(job_id, 2)[1]

    factories.alter(job_id, capacity=2, policy={"acknowledgment_window_seconds": 90})

    row = factories.fresh(waiting)
    assert (row.acknowledge_by - row.promoted_at).total_seconds() == 90
    assert factories.event_names(job_id)[-3:] == ["POLICY_CHANGED", "CAPACITY_CHANGED", "PROMOTED"]
    assert [event.policy_version for event in factories.events(job_id)[-3:]] == [2, 2, 2]


def test_a_change_of_what_somebody_has_not_seen_is_refused() -> None:
    job_id = factories.job(capacity=1)
    seen = version_of(job_id)
    factories.application(job_id)
    seq = factories.row_of(job_id).seq

    with pytest.raises(StaleVersion):
        update_job(
            job_id=job_id, changes=JobChanges(capacity=5), actor=factories.RECRUITER, seen=seen
        )

    assert (factories.row_of(job_id).seq, factories.row_of(job_id).capacity) == (seq, 1)
    alteration = JobChanges(capacity=5)
    update_job(
        job_id=job_id, changes=alteration, actor=factories.RECRUITER, seen=version_of(job_id)
    )
    assert factories.row_of(job_id).capacity == 5


@pytest.mark.parametrize("what", [{"capacity": 5}, {"policy": {"penalty_places": 9}}])
def test_a_closed_job_keeps_its_capacity_and_policy(what: dict[str, object]) -> None:
    job_id = factories.job()
    close_job(job_id=job_id, actor=factories.RECRUITER)

    with pytest.raises(IllegalJobMove):
        factories.alter(job_id, **what)

    assert (factories.row_of(job_id).capacity, factories.row_of(job_id).policy_version) == (1, 1)


def test_a_policy_out_of_range_changes_nothing() -> None:
    job_id = factories.job()
    seq = factories.row_of(job_id).seq

    with pytest.raises(ValueError, match="penalty_places"):
        factories.alter(job_id, policy={"penalty_places": 1_001}, capacity=4)

    assert (factories.row_of(job_id).seq, factories.row_of(job_id).capacity) == (seq, 1)


def test_the_companys_own_id_is_changed_with_the_posting() -> None:
    company = factories.company()
    job_id = factories.job(company_id=company.id)
    changes = JobChanges(reference={"external_id": "crm-7"})

    update_job(job_id=job_id, changes=changes, actor=factories.RECRUITER)

    assert JobReference.objects.get(job_id=job_id).external_id == "crm-7"
    assert version_of(job_id).posting == 2
    with pytest.raises(ExternalIdTaken):
        update_job(
            job_id=factories.job(company_id=company.id), changes=changes, actor=factories.RECRUITER
        )
