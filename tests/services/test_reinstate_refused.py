"""When a company cannot give a place back, and why."""

from __future__ import annotations

from uuid import uuid4

import pytest

from pipeline.domain.errors import (
    AlreadyApplied,
    ApplicationNotFound,
    IllegalMove,
    NotReinstatable,
)
from pipeline.domain.states import Outcome, ReinstatementReason
from pipeline.models import Application
from pipeline.privacy.erase import erase_person
from pipeline.services.jobs import close_job
from pipeline.services.leaving import reinstate, remove, withdraw
from pipeline.services.turns import acknowledge
from tests.services.test_reinstate import give_back, miss
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)


def test_who_has_missed_nothing_has_nothing_to_get_back() -> None:
    job_id = factories.job()
    _active, waiting = factories.applications(job_id, 2)

    with pytest.raises(NotReinstatable, match="missed no deadline"):
        give_back(waiting)


@pytest.mark.parametrize("ending", ["ACTIVE", "offered again", "WITHDRAWN", "REMOVED", "CLOSED"])
def test_it_is_refused_once_something_else_happened(ending: str) -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    person = factories.application(job_id)
    miss(job_id)
    if ending in ("ACTIVE", "offered again"):
        let_time_pass(job_id, factories.COOLDOWN)
        factories.settle_all()
    if ending == "ACTIVE":
        acknowledge(application_id=person.id, actor=factories.owner_of(person))
    elif ending == "WITHDRAWN":
        withdraw(application_id=person.id, actor=factories.owner_of(person))
    elif ending == "REMOVED":
        remove(application_id=person.id, outcome=Outcome.REMOVED, actor=factories.RECRUITER)
    elif ending == "CLOSED":
        close_job(job_id=job_id, actor=factories.RECRUITER)

    with pytest.raises(IllegalMove):
        give_back(person)


def test_who_never_proved_the_address_has_missed_nothing() -> None:
    job_id = factories.job()
    factories.application(job_id)
    stranger = factories.application(job_id, verified=False)

    with pytest.raises(IllegalMove):
        give_back(stranger)
    let_time_pass(job_id, 24 * 3_600)
    factories.settle_all()
    assert factories.status_of(stranger) == "LAPSED"
    with pytest.raises(IllegalMove):
        give_back(stranger)


def lapsed() -> Application:
    """An application that ended with its first miss."""
    job_id = factories.job(acknowledge_first_seat=True, max_decays=0)
    person = factories.application(job_id)
    miss(job_id)
    assert factories.status_of(person) == "LAPSED"
    return person


def test_another_live_application_of_the_person_stays_the_only_one() -> None:
    gone = lapsed()
    again = factories.application(gone.job_id, gone.applicant)

    with pytest.raises(AlreadyApplied):
        give_back(gone)

    withdraw(application_id=again.id, actor=factories.owner_of(again))
    with pytest.raises(NotReinstatable, match="applied to this job again"):
        give_back(gone)
    assert_line_is_sound(gone.job_id)


def test_a_stranger_who_used_the_address_meanwhile_takes_nothing_away() -> None:
    gone = lapsed()
    used = factories.application(gone.job_id, gone.applicant, verified=False)
    with pytest.raises(AlreadyApplied):
        give_back(gone)
    remove(application_id=used.id, outcome=Outcome.REMOVED, actor=factories.RECRUITER)

    give_back(gone)
    withdraw(application_id=gone.id, actor=factories.owner_of(gone))
    again = factories.application(gone.job_id, gone.applicant)

    assert (again.decay_count, again.eligible_at) == (0, None)
    assert_line_is_sound(gone.job_id)


def test_an_erased_person_gets_nothing_back() -> None:
    gone = lapsed()
    erase_person(applicant_id=gone.applicant_id)

    with pytest.raises(NotReinstatable, match="erased"):
        give_back(gone)


def test_an_unknown_application_is_not_found() -> None:
    with pytest.raises(ApplicationNotFound):
        reinstate(
            application_id=uuid4(),
            reason=ReinstatementReason.OUR_ERROR,
            actor=factories.RECRUITER,
        )
