"""Where people come from: cleaned, kept with the application in no further statement, erased."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection

from jobs.models import Company
from pipeline.models import Application, ApplicationSource, Event
from pipeline.privacy.erase import erase_person
from pipeline.services.joining import apply
from pipeline.sources.origin import DIRECT, Origin, link_to
from tests.files.imports.files import imported
from tests.support import factories
from tests.support.applicants import applicant_browser
from tests.support.callers import Caller, code_of, signed_in
from tests.support.round_trips import statements_in, trace_of

pytestmark = pytest.mark.django_db(transaction=True)

FROM_A_LETTER = Origin.read({"source": "Newsletter", "utm_campaign": "spring"})


@pytest.mark.parametrize(
    ("given", "source"),
    [
        ({}, DIRECT),
        ({"source": "LinkedIn"}, "linkedin"),
        ({"utm_source": "Indeed"}, "indeed"),
        ({"source": " A\u202eb\n  c\0 "}, "ab c"),
        ({"source": "x" * 300}, "x" * 100),
        ({"source": "\u0130" * 100}, "i\u0307" * 50),
        ({"source": ["no", "text"]}, DIRECT),
    ],
)
def test_a_source_is_one_clean_word_of_the_company(given: dict[str, Any], source: str) -> None:
    assert Origin.read(given).source == source


def test_a_link_carries_its_names_and_gives_them_back() -> None:
    link = link_to("https://jobs.example/jobs/1/", FROM_A_LETTER)

    assert link == "https://jobs.example/jobs/1/?source=newsletter&utm_campaign=spring"
    assert link_to("https://jobs.example/", Origin()) == "https://jobs.example/"
    assert Origin.read(FROM_A_LETTER.values) == FROM_A_LETTER


def test_it_is_kept_with_the_application_and_not_in_the_log() -> None:
    job = factories.job(capacity=2)

    known = factories.application(job, companions=[FROM_A_LETTER])
    factories.application(job, companions=[Origin()])

    [row] = ApplicationSource.objects.all()
    assert (row.application_id, row.source, row.utm_campaign) == (known.id, "newsletter", "spring")
    assert "newsletter" not in json.dumps([event.data for event in Event.objects.all()])


def test_it_costs_no_further_statement() -> None:
    job = factories.job(capacity=9)

    def applying(**how: Any) -> Callable[[], Application]:
        person = factories.applicant()
        actor = factories.as_applicant(person.id)
        return partial(apply, job_id=job, applicant_id=person.id, name="Ann", actor=actor, **how)

    connection.ensure_connection()
    counts = []
    for how in ({}, {"companions": [Origin()]}, {"companions": [FROM_A_LETTER]}):
        for _ in range(2):
            applying(**how)()
        counts.append(len(statements_in(trace_of(applying(**how), connection.connection.pgconn))))

    assert counts[0] == counts[1] == counts[2]


def test_an_application_that_is_taken_over_keeps_where_it_came_from() -> None:
    job, person = factories.job(), factories.applicant()
    actor = factories.as_applicant(person.id)
    how: dict[str, Any] = {"job_id": job, "applicant_id": person.id, "name": "A", "actor": actor}

    first = apply(**how, verified=False, companions=[FROM_A_LETTER])
    again = apply(**how, companions=[Origin(source="other")])

    assert again.id == first.id
    assert ApplicationSource.objects.get().source == "newsletter"


def test_it_is_in_the_persons_data_and_erased_with_it() -> None:
    person = factories.applicant()
    factories.application(factories.job(), person, companions=[FROM_A_LETTER])

    kept = json.loads(applicant_browser(person).get("/me/data/download/").content)
    erase_person(applicant_id=person.id)

    [mine] = kept["applications"]
    assert mine["came_from"] == {"source": "newsletter", "utm_campaign": "spring"}
    row = ApplicationSource.objects.get()
    assert not any(getattr(row, name) for name in FROM_A_LETTER.values)


def test_a_file_of_people_says_where_each_came_from() -> None:
    job = factories.job(capacity=5)

    imported(job, b"name,email,Source\nAna,ana@example.org,Job Fair\nBea,bea@example.org,\n")

    assert list(ApplicationSource.objects.values_list("source", flat=True)) == ["job fair"]
    assert Application.objects.count() == 2


def test_a_program_says_it_and_the_company_reads_it(acme: Caller, company: Company) -> None:
    anna = signed_in(factories.applicant())
    job = factories.job(company_id=company.id, capacity=3)
    path = f"/jobs/{job}/applications"
    sent = {"source": "Agency", "utm": {"medium": "email", "source": "crm"}}

    made = acme.post(path, {"name": "Bo", "email": "bo@example.org", **sent})
    own = anna.post(path, {"utm": {"source": "Indeed"}})

    assert (made.json()["source"], own.json()["source"]) == ("agency", None)
    assert acme.get(f"/applications/{own.json()['id']}").json()["source"] == "indeed"
    listed = acme.get(path).json()["data"]
    assert [each["source"] for each in listed] == ["indeed", "agency"]
    row = ApplicationSource.objects.get(application_id=made.json()["id"])
    assert (row.utm_source, row.utm_medium) == ("crm", "email")
    too_long = acme.post(path, {"name": "C", "email": "c@example.org", "source": "x" * 101})
    assert code_of(too_long) == (400, "VALIDATION_ERROR")
