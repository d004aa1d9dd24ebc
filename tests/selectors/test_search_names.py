"""Search for people and jobs, however a name was typed."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.db import connection

from jobs.models import Company, JobPosting
from pipeline.maintenance import name_index
from pipeline.models import Application, NameWord
from pipeline.privacy.erase import erase_person
from pipeline.selectors.jobs import read_company_jobs, read_open_jobs
from pipeline.selectors.people import search_names
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)

PERSIAN = "\u0639\u0644\u06cc\u200c\u0631\u0636\u0627"
SEARCHES = [
    ("Zo\u00eb Marchand", "zoe"),
    ("Zoe Marchand", "zo\u00eb"),
    ("Zoe\u0301 Marchand", "ZO\u00c9"),
    ("Nguy\u1ec5n Th\u1ecb", "nguyen th"),
    ("M\u00fcller", "muller"),
    ("Sean O\u2019Neil", "oneil"),
    ("Sean ONeil", "o'neil"),
    ("Anne-Marie Li", "marie"),
    ("Anne-Marie Li", "anne-mar"),
    ("Stra\u00dfer", "strasser"),
    ("Strasser", "stra\u00dfer"),
    ("S\u00f8ren \u0141ukasz", "soren lukasz"),
    ("Bj\u00f6rn \u0130nan", "bjorn inan"),
    (PERSIAN, PERSIAN.replace("\u200c", "")),
    (PERSIAN.replace("\u200c", ""), PERSIAN),
    ("\u674e\u5c0f\u9f8d", "\u5c0f\u9f8d"),
    ("\u5c71\u7530\u3000\u592a\u90ce", "\u592a\u90ce"),
]


@pytest.mark.parametrize(("name", "search"), SEARCHES)
def test_a_person_is_found_however_the_name_is_typed(
    company: Company, name: str, search: str
) -> None:
    job = factories.job(company_id=company.id)
    other = factories.application(job, factories.applicant(name="Otto Other"))
    person = factories.application(job, factories.applicant(name=name))
    name_index.update()

    found = search_names(company.id, search, limit=5).rows

    assert [row.application.id for row in found] == [person.id]
    assert other.id != person.id


def test_a_job_is_found_however_its_title_is_typed(company: Company) -> None:
    job = factories.job(company_id=company.id)
    JobPosting.objects.filter(job_id=job).update(
        title="Caf\u00e9 manager", location="Gro\u00dfstadt"
    )

    for search in ("cafe", "CAFE\u0301", "grossstadt", "manager"):
        assert [row.id for row in read_open_jobs(search=search, after=None, limit=5).rows] == [job]
        theirs = read_company_jobs(company.id, status=None, search=search, after=None, limit=5)
        assert [row.id for row in theirs.rows] == [job]
    assert not read_open_jobs(search="100%", after=None, limit=5).rows


def test_words_of_the_earlier_rule_are_replaced_and_none_outlives_an_erasure(
    company: Company,
) -> None:

    migration = import_module("pipeline.migrations.0039_folded_names")
    job = factories.job(company_id=company.id)
    person = factories.application(job, factories.applicant(name="Zo\u00eb O\u2019Neil"))
    with connection.cursor() as cursor:
        cursor.execute(migration.AS_TYPED)
        assert set(NameWord.objects.values_list("word", flat=True)) == {"zo\u00eb", "o\u2019neil"}

        cursor.execute(migration.FOLDED)

    assert set(NameWord.objects.values_list("word", flat=True)) == {"zoe", "oneil"}
    erase_person(applicant_id=person.applicant_id)
    kept = NameWord.objects.filter(application_id=person.id).values_list("word", flat=True)
    assert not {"zoe", "oneil"} & set(kept)
    assert Application.objects.filter(id=person.id).exists()
