"""The page on which an applicant checks a receipt."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from pipeline.domain.errors import VerifierBusy
from pipeline.pages.applicant import data
from tests.support import factories
from tests.support.applicants import applicant_browser, mine, owner_signed_in
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def application() -> Any:
    job = factories.job()
    return factories.application(job, factories.applicant(name="Ana"))


@pytest.fixture
def browser(application: Any) -> Client:
    return owner_signed_in(application)


def check(browser: Client, application: Any, **noted: object) -> Any:
    return browser.post(f"{mine(application)}receipt/", noted)


def noted_on_page(browser: Client, application: Any) -> dict[str, object]:
    """Return the receipt that the application's page shows."""
    shown = re.search(r"Event (\d+) Hash (\w{64})", text_of(browser.get(mine(application))))
    assert shown
    return {"seq": shown[1], "hash": shown[2]}


def test_a_receipt_stays_good_while_the_line_goes_on(browser: Client, application: Any) -> None:
    noted = noted_on_page(browser, application)
    factories.applications(application.job_id, 2)

    answer = check(browser, application, **noted)

    assert answer.status_code == 200
    assert "Nothing up to your receipt has been altered." in text_of(answer)


def test_another_hash_does_not_match(browser: Client, application: Any) -> None:
    noted = noted_on_page(browser, application) | {"hash": "a" * 64}

    assert "does not match your receipt" in text_of(check(browser, application, **noted))


def test_a_damaged_history_names_nobody(browser: Client, application: Any) -> None:
    factories.application(application.job_id, factories.applicant(name="Zelda Quist"))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(
            "UPDATE pipeline_event SET actor_kind = 'SYSTEM' WHERE job_id = %s AND seq = 2",
            [application.job_id],
        )

    page = check(browser, application)

    assert "This line’s history is damaged" in text_of(page)
    assert "Zelda" not in page.content.decode()


@pytest.mark.parametrize("noted", [{"seq": 4}, {"hash": "a" * 64}, {"seq": "x", "hash": "xyz"}])
def test_half_a_receipt_is_refused(
    browser: Client, application: Any, noted: dict[str, object]
) -> None:
    assert check(browser, application, **noted).status_code == 422


def test_it_says_to_come_back_while_others_verify(
    browser: Client, application: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object, **__: object) -> None:
        raise VerifierBusy

    monkeypatch.setattr(data, "verify_job", busy)

    assert check(browser, application).status_code == 503


def test_nobody_checks_another_persons_line(application: Any) -> None:
    stranger = applicant_browser(factories.applicant())

    assert check(stranger, application).status_code == 404
    assert Client().get(f"{mine(application)}receipt/").status_code == 302
