"""The page of a signed receipt, its file, the log without names, and the public keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from pipeline.domain.errors import LogReadersBusy, ReceiptNotReady
from pipeline.pages.applicant import data
from tests.support import factories
from tests.support.applicants import applicant_browser, mine, owner_signed_in
from tests.support.lottery import draw, lottery
from tests.support.pages import text_of
from tests.support.receipts import Folder

pytestmark = pytest.mark.django_db(transaction=True)

PAGES = ["signed-receipt/", "receipt.json", "log.jsonl"]


@pytest.fixture
def application() -> Any:
    return factories.applications(factories.job(), 3)[1]


@pytest.fixture
def browser(application: Any) -> Client:
    return owner_signed_in(application)


def content(answer: Any) -> str:
    """Return the whole text of a file."""
    parts = answer.streaming_content if answer.streaming else [answer.content]
    return b"".join(parts).decode()


def test_the_page_shows_the_receipt_and_leads_to_the_files(
    browser: Client, application: Any
) -> None:
    page = browser.get(mine(application, "signed-receipt/"))

    text = text_of(page)
    assert "1 of 2" in text
    assert "ticket 1, tie" in text
    for link in (mine(application, "receipt.json"), mine(application, "log.jsonl?after=0")):
        assert link in page.content.decode()
    assert mine(application, "signed-receipt/") in browser.get(mine(application)).content.decode()


def test_what_is_downloaded_is_verified_by_the_program(
    browser: Client, application: Any, tmp_path: Path
) -> None:
    folder = Folder(tmp_path)
    keys = Client().get("/.well-known/next-in-line-keys.json")
    (tmp_path / "keys.json").write_text(content(keys))
    receipt = json.loads(content(browser.get(mine(application, "receipt.json"))))
    log = content(browser.get(mine(application, "log.jsonl"))).splitlines()

    code, said = folder.verify(receipt, log=[json.loads(line) for line in log])

    assert code == 0, said
    assert keys["Cache-Control"] == "public, max-age=3600"


def test_a_long_log_is_downloaded_in_parts(
    browser: Client, application: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "MOST_ROWS", 2)
    whole = content(browser.get(mine(application, "log.jsonl"))).count("\n")

    page = browser.get(mine(application, "signed-receipt/")).content.decode()
    parts = [after for after in range(0, 10, 2) if f"log.jsonl?after={after}" in page]
    rows = [
        json.loads(line)["seq"]
        for after in parts
        for line in content(browser.get(mine(application, f"log.jsonl?after={after}"))).splitlines()
    ]

    assert whole == 2
    assert rows == list(range(1, factories.row_of(application.job_id).seq + 1))


@pytest.mark.parametrize("after", ["x", "-1", "9" * 30, "٣"])
def test_a_part_that_is_no_number_is_the_first(
    browser: Client, application: Any, after: str
) -> None:
    answer = browser.get(mine(application, "log.jsonl"), {"after": after})

    assert json.loads(content(answer).splitlines()[0])["seq"] == 1


@pytest.mark.parametrize(
    "refusal", [ReceiptNotReady(done=5, events=9), LogReadersBusy()], ids=lambda each: str(each)[:9]
)
@pytest.mark.parametrize("path", PAGES[:2])
def test_it_says_to_ask_again_while_a_receipt_is_not_ready(
    browser: Client,
    application: Any,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    refusal: Exception,
) -> None:
    def not_ready(*_: object) -> None:
        raise refusal

    monkeypatch.setattr(data, "issue_receipt", not_ready)

    answer = browser.get(mine(application, path))

    assert answer.status_code == 503
    assert "Ask for it again" in text_of(answer)


@pytest.mark.parametrize("path", PAGES)
def test_nobody_gets_another_persons_receipt(application: Any, path: str) -> None:
    stranger = applicant_browser(factories.applicant())

    assert stranger.get(mine(application, path)).status_code == 404
    assert Client().get(mine(application, path)).status_code == 302


def test_a_draw_between_the_reads_of_the_page_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = lottery()
    me, *_ = factories.applications(job_id, 2)
    read = data.read_job
    monkeypatch.setattr(data, "read_job", lambda asked: (draw(job_id), read(asked))[1])

    page = owner_signed_in(me).get(mine(me, "signed-receipt/"))

    assert page.status_code == 200
    assert page.context["card"].headline == "You are in the draw."
    assert page.context["card"].title
