"""Every text column is classified, and what is said of each personal one is true."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from applicants.models import Applicant
from jobs.models import Company
from pipeline.privacy import erase
from pipeline.privacy.erase import PLACES, erase_person
from tasks.models import Schedule, Task
from tasks.scheduling import schedules
from tests.files.imports.files import stored, unread
from tests.privacy.text_columns import CODES, HASHES, OF_COMPANIES, PERSONAL
from tests.support import background_tasks, factories
from tests.support.applicants import applicant_browser
from tests.support.environment import ROOT
from tests.support.pages import page_of
from tests.support.push import Browser

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = ["text", "character varying", "jsonb", "json", "bytea", "ARRAY", "character", "inet", "xml"]
EMAIL = "zelda.quill@example.org"


def columns() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name || '.' || column_name FROM information_schema.columns"
            " WHERE table_schema = 'public' AND data_type = ANY(%s)",
            [TEXT],
        )
        return {row[0] for row in cursor.fetchall()}


def test_every_text_column_is_classified_once() -> None:
    kinds = [
        set(PERSONAL),
        HASHES,
        OF_COMPANIES,
        CODES,
    ]

    assert set().union(*kinds) == columns()
    assert sum(map(len, kinds)) == len(columns())


def test_the_page_about_privacy_names_every_personal_column() -> None:
    page = (ROOT / "docs" / "privacy.md").read_text()

    assert [name for name in PERSONAL if f"`{name}`" not in page] == []


def test_background_work_is_searched_in_every_column_that_may_hold_an_address() -> None:
    searched = {f"{table}.{name}" for table, names in PLACES.items() for name in names}

    assert searched == {name for name in PERSONAL if name.startswith("tasks_")}


def test_an_address_that_a_company_wrote_into_its_work_goes(company: Company) -> None:
    zelda = factories.applicant(email=EMAIL)
    mine = background_tasks.started(
        company, payload={"seconds": 1, "label": f"for {EMAIL.upper()}"}
    )
    longer = background_tasks.started(company, payload={"seconds": 1, "label": f"x{EMAIL}"})
    background_tasks.move(mine, errors=[{"message": f"no {EMAIL}, no"}], idempotency_key=EMAIL)
    schedules.create(
        name=f"About {EMAIL}", cron="0 9 * * 1", type_key="demo.sleep", owner_id=company.id
    )

    erase_person(applicant_id=zelda.id)

    row = background_tasks.row_of(mine)
    assert row.payload["label"] == "for erased"
    assert row.errors == [{"message": "no erased, no"}]
    assert row.idempotency_key == "erased"
    assert Schedule.objects.get().name == "About erased"
    assert Task.objects.get(id=longer).payload["label"] == f"x{EMAIL}"


def test_the_downloaded_file_holds_every_part_that_the_registry_names(
    applicant: Applicant, applicant_page: Client, push_on: None
) -> None:
    factories.application(factories.job(), applicant)
    Browser().added_for(applicant, "https://push.example/secret")

    kept = json.loads(applicant_page.get("/me/data/download/").content)

    for name, column in PERSONAL.items():
        first, _, second = column.shown.partition(".")
        if column.whose == "applicant" and not first.startswith(("no", "not")):
            assert first in kept, name
            part: Any = kept[first]
            held = part[0] if isinstance(part, list) and part else part
            assert not second or second in held, name


def test_the_downloaded_file_holds_imported_rows() -> None:
    rows = f"name,email\nZelda Q,{EMAIL}\nSomebody Else,x{EMAIL}\n".encode()
    stored(factories.job(), rows)
    browser = applicant_browser(factories.applicant(email=EMAIL))

    kept = json.loads(browser.get("/me/data/download/").content)

    assert kept["imports"] == [{"name": "Zelda Q", "email": EMAIL}]
    assert kept["imported_files_not_searched"] == 0


def test_the_downloaded_file_holds_rows_of_files_that_wait_or_says_how_many_it_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unread(factories.job(), f"name,email\nZelda Q,{EMAIL.title()}\nElse,x{EMAIL}\n".encode())
    unread(factories.job(), f'name,email\nZ,{EMAIL}\n"broken'.encode())
    browser = applicant_browser(factories.applicant(email=EMAIL))

    kept = json.loads(browser.get("/me/data/download/").content)
    monkeypatch.setattr(erase, "MOST_UNREAD_BYTES", 60)
    less = json.loads(browser.get("/me/data/download/").content)

    own = [{"name": "Z", "email": EMAIL}, {"name": "Zelda Q", "email": EMAIL}]
    assert (kept["imports"], kept["imported_files_not_searched"]) == (own, 0)
    assert (less["imports"], less["imported_files_not_searched"]) == (own[:1], 1)


def test_the_page_links_to_what_is_kept_and_why(applicant_page: Client) -> None:
    assert 'href="/privacy/"' in applicant_page.get("/me/data/").content.decode()
    page = page_of(Client(), "/privacy/")
    assert "730 days after the application has ended" in page
    assert "30 to 3,650 days" in page
