"""A company's own ids under concurrency: one object gets each, and nobody waits in a circle."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, OperationalError, connection

from applicants.models import ERASED_NAME
from jobs.models import Company
from pipeline.domain.errors import ExternalIdTaken, PersonErased
from pipeline.line.handover import Turn
from pipeline.models import Application, ApplicationReference, JobReference
from pipeline.services import joining as module
from pipeline.services.joining import Request, change_application_reference, write_reference
from tests.support import factories
from tests.support.callers import NEW_JOB, Caller, key_of
from tests.support.together import (
    PATIENCE_SECONDS,
    kinds,
    together,
    wait_until_somebody_waits_for_a_lock,
)

pytestmark = pytest.mark.django_db(transaction=True)

OWN = {"external_id": "crm-7"}
MODELS = {"applicationreference": ApplicationReference, "jobreference": JobReference}


@pytest.fixture
def without_index(request: pytest.FixtureRequest) -> Iterator[None]:
    """Drop the index that keeps ids unique: the control."""
    table = request.param
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX one_{table}_per_id")
        yield
        MODELS[table].objects.all().delete()
        cursor.execute(
            f"CREATE UNIQUE INDEX one_{table}_per_id ON pipeline_{table} (company_id, external_id)"
        )


def submissions(company: Company, *, to_one_job: bool) -> list[Callable[[], Any]]:
    """Two people, each submitted with the same id."""
    token = key_of(company.id).token
    jobs = [factories.job(company_id=company.id) for _ in range(2)]

    def submit(number: int) -> Any:
        body = OWN | {"name": "P", "email": f"p{number}@example.org"}
        job = jobs[0 if to_one_job else number]
        return Caller(token).post(f"/jobs/{job}/applications", body)

    return [lambda: submit(0), lambda: submit(1)]


def new_jobs(company: Company) -> list[Callable[[], Any]]:
    token = key_of(company.id).token
    return [lambda: Caller(token).post("/jobs", NEW_JOB | OWN)] * 2


RACES: dict[str, Callable[[Company], list[Callable[[], Any]]]] = {
    "to one job": lambda company: submissions(company, to_one_job=True),
    "to two jobs": lambda company: submissions(company, to_one_job=False),
    "of new jobs": new_jobs,
}


@pytest.mark.parametrize("race", RACES)
def test_of_two_at_once_one_gets_the_id_and_the_other_a_409_that_names_it(
    company: Company, race: str
) -> None:
    answers = together(RACES[race](company))

    made, refused = sorted(answers, key=lambda answer: answer.status_code)
    assert (made.status_code, refused.status_code) == (201, 409)
    assert refused.json()["code"] == "EXTERNAL_ID_TAKEN"
    assert refused.json()["existing_id"] == made.json()["id"]


@pytest.mark.parametrize(
    ("race", "without_index"),
    [("to two jobs", "applicationreference"), ("of new jobs", "jobreference")],
    indirect=["without_index"],
)
def test_without_the_index_both_would_get_it(
    company: Company, race: str, without_index: None
) -> None:
    answers = together(RACES[race](company))

    assert [answer.status_code for answer in answers] == [201, 201]


def test_of_two_changes_at_once_one_is_refused(company: Company) -> None:
    job_id = factories.job(company_id=company.id)
    rows = factories.applications(job_id, 2)

    def attach(application_id: UUID) -> None:
        change_application_reference(
            company_id=company.id, application_id=application_id, changes=OWN
        )

    answers = together([lambda row=row: attach(row.id) for row in rows])  # type: ignore[misc]

    assert kinds(answers) == [ExternalIdTaken.__name__, "NoneType"]


@pytest.mark.parametrize("ordered", [True, False])
def test_two_batches_with_the_same_ids_do_not_wait_for_each_other(
    company: Company, ordered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the order they do, until the database ends one of them: the control."""
    jobs = [factories.job(company_id=company.id) for _ in range(2)]
    both, wrote = threading.Barrier(2), set[int]()

    def write(row: Any, named: Any) -> None:
        write_reference(row, named)
        if not ordered and threading.get_ident() not in wrote:
            wrote.add(threading.get_ident())
            both.wait(PATIENCE_SECONDS)
        elif ordered and not wrote:
            wrote.add(threading.get_ident())
            assert together([wait_until_somebody_waits_for_a_lock]) == [None]

    monkeypatch.setattr(module, "write_reference", write)
    if not ordered:
        monkeypatch.setattr(module, "lock_external_ids", lambda _ids: None)

    def submit(job_id: UUID, names: str) -> list[str]:
        by = factories.RECRUITER
        turns = [
            # Other people at each job, or their rows would be waited for.
            Turn(
                Request(f"{uuid4()}@example.org", name, by, True, None, {"external_id": name}, None)
            )
            for name in names
        ]
        module._apply_all(job_id, turns)
        return [type(turn.error).__name__ for turn in turns]

    answers = together([lambda: submit(jobs[0], "ab"), lambda: submit(jobs[1], "ba")])

    if ordered:
        assert sorted(answers) == [["ExternalIdTaken"] * 2, ["NoneType"] * 2]
    else:
        assert [isinstance(answer, OperationalError) for answer in answers].count(True) == 1


def test_no_change_reads_nothing_and_an_erased_person_gets_no_reference() -> None:
    row = factories.application(factories.job())
    company_id = row.job.company_id

    change_application_reference(company_id=company_id, application_id=uuid4(), changes={})
    Application.objects.filter(id=row.id).update(name=ERASED_NAME)
    with pytest.raises(PersonErased):
        change_application_reference(company_id=company_id, application_id=row.id, changes=OWN)

    assert not ApplicationReference.objects.exists()


def test_what_the_database_refuses_for_another_reason_is_not_called_a_taken_id() -> None:
    row = factories.application(factories.job())
    own = ApplicationReference(application_id=row.id, company_id=None, **OWN)  # type: ignore[misc]

    with pytest.raises(IntegrityError):
        write_reference(own, OWN)
