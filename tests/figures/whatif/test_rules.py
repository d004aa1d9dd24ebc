"""Rules in which simulations once differed from the line, before they ran by its own."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from jobs.models import JobStatus
from jobs.policies import Policy
from pipeline.domain.states import SYSTEM, EventType
from pipeline.figures.whatif.run import read_what_if_log
from pipeline.figures.whatif.simulation import Change, Simulation
from pipeline.line import settle as line_settle
from pipeline.line.admission import admit
from pipeline.line.lock import History
from pipeline.line.moves import make_job_move
from pipeline.line.sources import Memory
from pipeline.line.write import write
from pipeline.models import Application
from pipeline.services.contests import contest, drop_contest
from pipeline.services.jobs import close_job
from pipeline.services.turns import acknowledge, extend_deadline, extend_offer
from tests.figures.whatif.test_simulate import logged, simulated
from tests.services.test_many_passes import line_of_passers
from tests.support import factories
from tests.support.applicants import leave
from tests.support.clock import let_time_pass
from tests.support.planned_seats import planned

pytestmark = pytest.mark.django_db(transaction=True)

DAY = timedelta(days=1)


def run_again(job: UUID, *, capacity: int | None = None) -> Simulation:
    """The job's past with other seats, until a day after its end."""
    log = read_what_if_log(job)
    run = Simulation(log, Change(log[0].at, {}, capacity))
    run.run(log[-1].at + DAY)
    return run


def story_of(person: Application, run: Simulation) -> list[str]:
    return [str(each.event) for each in run.events if each.application_id == person.id]


def test_one_change_passes_a_limited_number_of_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_settle, "MOST_PASSES", 3)
    job, seated, _ = line_of_passers()
    leave(seated)
    factories.application(job)
    factories.settle_all()

    assert simulated(job) == logged(job)


def test_under_other_rules_all_turns_are_passed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_settle, "MOST_PASSES", 3)
    job, seated, waiting = line_of_passers()
    leave(seated)

    run = run_again(job)

    assert [each.event for each in run.events].count("PASSED") == len(waiting) - 1
    assert story_of(waiting[-1], run)[:2] == ["APPLIED", "PROMOTED"]


def test_nobody_is_left_in_a_line_that_closes() -> None:
    """Both had a seat; with one, the second waits when the job closes."""
    job = factories.job(capacity=2)
    _, second = factories.applications(job, 2)
    close_job(job_id=job, actor=factories.RECRUITER)

    run = run_again(job, capacity=1)

    assert story_of(second, run) == ["APPLIED", "CLOSED_OUT"]


def test_no_deadline_is_extended_in_a_closed_job() -> None:
    """The first waits longer for a seat, and the extension would come after the job closed."""
    job = factories.job(capacity=2, acknowledge_first_seat=True)
    first, second = factories.applications(job, 2)
    acknowledge(application_id=first.id, actor=factories.owner_of(first))
    let_time_pass(job, 60)
    extend_deadline(application_id=second.id, seconds=60)
    let_time_pass(job, 60)
    leave(first)
    leave(second)
    let_time_pass(job, 30)
    close_job(job_id=job, actor=factories.RECRUITER)

    run = run_again(job, capacity=1)

    assert story_of(second, run) == ["APPLIED", "PROMOTED", "CLOSED_OUT"]


def test_every_extension_of_an_offer_is_given_again() -> None:
    job = factories.job(acknowledge_first_seat=True)
    person, _second = factories.applications(job, 2)
    for minutes in (10, 30):
        deadline = factories.fresh(person).acknowledge_by
        assert deadline is not None
        until = deadline + timedelta(minutes=minutes)
        extend_offer(application_id=person.id, acknowledge_by=until, actor=factories.RECRUITER)
        let_time_pass(job, 60)
    extend_deadline(application_id=person.id, seconds=60)
    let_time_pass(job, factories.WINDOW + 41 * 60 - 121)
    factories.settle_all()
    assert factories.status_of(person) == "PENDING_ACKNOWLEDGMENT"
    let_time_pass(job, 2)
    factories.settle_all()

    assert factories.event_names(job)[-2:] == ["DECAYED", "PROMOTED"]
    assert simulated(job) == logged(job)


def test_a_contest_that_is_dropped_settles_nothing() -> None:
    job = factories.job(capacity=2, acknowledge_first_seat=True, max_decays=0)
    first, second = factories.applications(job, 2)
    acknowledge(application_id=second.id, actor=factories.owner_of(second))
    let_time_pass(job, factories.WINDOW)
    factories.settle_all()
    contest(application_id=first.id, text="Why?", actor=factories.owner_of(first))
    factories.application(job)
    let_time_pass(job, factories.WINDOW)
    drop_contest(application_id=first.id, actor=factories.RECRUITER)
    factories.settle_all()

    assert simulated(job) == logged(job)


def test_planned_seats_open_at_their_time_however_late_the_worker_was() -> None:
    job = factories.job()
    factories.applications(job, 2)
    at = planned(job, 1).next_at
    let_time_pass(job, 9 * 86_400)
    factories.settle_all()
    changed = next(each for each in read_what_if_log(job) if each.event == "CAPACITY_CHANGED")

    [opened] = [each for each in run_again(job).events if each.event == "CAPACITY_CHANGED"]

    assert changed.at > changed.effective_at
    assert opened.at == changed.effective_at == at - timedelta(days=9)


def test_those_who_share_a_ticket_are_not_all_looked_at() -> None:
    """Everyone has missed as often, and nobody new has come: all stand at one ticket."""
    policy = Policy(**(Policy().values() | {"cooldown_seconds": 1, "max_decays": None}))
    at, line = timezone.now(), Memory()
    job = line.create(at)
    job.capacity, job.policy, job.status = 2, policy, JobStatus.OPEN
    make_job_move(job, EventType.JOB_OPENED, actor=SYSTEM)
    write(job)
    blank = History(None, None, None, 0, None, "", 0, None)
    for _ in range(100):
        job, who = line.lock(at), uuid4()
        admit(
            job,
            blank,
            actor=SYSTEM,
            verified=True,
            applicant_id=who,
            application_id=who,
            name="",
        )
        write(job)
    for row in list(line.rows.values()):
        line.put(row._replace(ticket=500 if row.status == "WAITLIST" else row.ticket))

    line.looks, job = 0, line.lock(at)
    job.capacity += 2
    found = line.next_in_line(job, passes=1)

    assert len(found.people) == line.looks == 2
    assert {each.ticket for each, _ in found.people} == {500}
