"""Search for people and jobs, however a name was typed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.db import connection

from applicants.texts import folded_name
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
    ("\uae40\ucca0\uc218", "\ucca0\uc218"),
    ("Sean O\u00b4Neil", "oneil"),
    ("Robert \u201cBob\u201d (Smith)", "bob smith"),
    ("\u041c\u0430\u0440\u2019\u044f\u043d\u0430", "\u043c\u0430\u0440\u044f\u043d\u0430"),
    ("\u0398\u0395\u039f\u03a3", "\u03b8\u03b5\u03bf\u03c2"),
    (
        "\u0639\u0644\u064a \u0643\u0631\u064a\u0645\u064a",
        "\u0639\u0644\u06cc \u06a9\u0631\u06cc\u0645\u06cc",
    ),
    (
        "\u0641\u0627\u0637\u0645\u0629 \u0623\u062d\u0645\u062f",
        "\u0641\u0627\u0637\u0645\u0647 \u0627\u062d\u0645\u062f",
    ),
    ("\u05e9\u05c2\u05b8\u05e8\u05b8\u05d4", "\u05e9\u05e8\u05d4"),
    ("Bo \u202egnieR", "gnier"),
]
FOLDED = [each for pair in SEARCHES for each in pair] + [
    "Hans-J\u00f6rg \u00d8deg\u00e5rd \u00de\u00f3r \u00c6gir \u01a9x",
    "\u0410\u043d\u043d\u0430 \u0401\u0436\u0438\u043a\u043e\u0432\u0430 \u04a2\u04b1\u0440",
    "\u1e9eEN \u0130stanbul I\u011fd\u0131r",
    "\u0915\u0940\u0930\u094d\u0924\u093f",
    "\uff2f\uff07\uff2e\uff45\uff49\uff4c",
    "\u304c\u304f\uff76\uff9e\uff78",
    "\U0001f469\u200d\U0001f373 Chef",
    "Gal\u00b7la \u01cc \ufb01n",
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


@pytest.mark.parametrize("text", FOLDED)
def test_python_and_the_database_read_a_name_in_the_same_way(text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pipeline_folded(%s)", [text])

        assert cursor.fetchone()[0] == folded_name(text)


@pytest.fixture
def english_database() -> Iterator[dict[str, Any]]:
    """Return how to connect to a database whose locale knows only English letters."""
    name = f"english_{uuid4().hex[:12]}"
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER libc"
            " LC_COLLATE 'C' LC_CTYPE 'C'"
        )
    at = {
        key: connection.settings_dict[key.upper()] for key in ("host", "port", "user", "password")
    }
    yield {key: value for key, value in at.items() if value} | {"dbname": name}
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {name}")


def test_capitals_are_found_in_a_database_whose_locale_knows_only_english(
    english_database: dict[str, Any],
) -> None:
    migration = import_module("pipeline.migrations.0055_names_of_all_scripts")
    capitals = (
        "\u0416\u0410\u041d \u0398\u0395\u039f \u00d8DE \u0531\u0532 \u0404\u0406\u0407\u0490"
    )

    with psycopg.connect(**english_database, autocommit=True) as session:
        lowered = session.execute("SELECT lower(%s)", [capitals]).fetchone()
        session.execute(migration.FOLDED)
        folded = session.execute("SELECT pipeline_folded(%s)", [capitals]).fetchone()

    assert lowered != (capitals.lower(),)
    assert folded == (folded_name(capitals),)


def test_the_words_of_names_that_are_read_anew_are_replaced_once(company: Company) -> None:
    migration = import_module("pipeline.migrations.0055_names_of_all_scripts")
    job = factories.job(company_id=company.id)
    names = ("\u0641\u0627\u0637\u0645\u0629 (Fatima)", "Ana Li", "\uae40\ucca0\uc218")
    people = [factories.application(job, factories.applicant(name=name)) for name in names]

    def words_of(person: Application) -> list[str]:
        theirs = NameWord.objects.filter(application_id=person.id)
        return sorted(theirs.values_list("word", flat=True))

    with connection.cursor() as cursor:
        name_index.update()
        now = [words_of(person) for person in people]
        cursor.execute(migration.EARLIER + migration.AGAIN)
        before = [words_of(person) for person in people]
        for _ in range(2):
            cursor.execute(migration.FOLDED + migration.AGAIN)

    assert before[0] == ["(fatima)", "\u0641\u0627\u0637\u0645\u0629"]
    assert before[2] == ["\uae40\ucca0\uc218"]
    assert [words_of(person) for person in people] == now
    assert now[:2] == [["fatima", "\u0641\u0627\u0637\u0645\u0647"], ["ana", "li"]]
    assert len(now[2]) == 3


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
