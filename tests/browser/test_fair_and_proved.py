"""A whole story of fairness: receipts prove a miss and a place given back, other rules are tried on
the past, and a log that the owner of the database rewrote is found out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from jobs.models import Company
from pipeline.audit.verify import verify_job
from pipeline.models import Application, Event
from tests.browser.buttons import shows
from tests.browser.helpers import axe, shot, sign_in_applicant, sign_in_staff
from tests.browser.pointer import Hands
from tests.browser.site import OpenPage, Site
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.applicants import leave
from tests.support.receipts import VERIFIER, rewrite_log
from tests.support.task_workers import TaskWorker
from tests.support.waiting import eventually
from tests.support.weeks import two_weeks

pytestmark = [pytest.mark.slow, pytest.mark.in_turns(2)]

SHORTEST_WINDOW = 60  # a receipt is bound to real times, so the deadline really passes


class Keeper:
    """An applicant with a browser, and a folder in which everything is kept."""

    def __init__(self, page: Page, application: Application, folder: Path) -> None:
        self.hands, self._folder = Hands(page, "mouse"), folder
        self.application = application
        self._page, self._mine = page, f"/me/applications/{application.id}/"
        self._receipts: list[Path] = []

    def save_receipt(self) -> None:
        """Get a signed receipt and save it, with the site's keys."""
        self._page.goto(self._mine)
        shot(self._page, f"mine-{len(self._receipts)}")
        self.hands.follow("Get a signed receipt")
        shot(self._page, f"receipt-{len(self._receipts)}")
        axe(self._page)
        self._receipts.append(self._download("Download the receipt"))
        keys = self._page.get_by_role("link", name="Public keys").get_attribute("href")
        (self._folder / "keys.json").write_bytes(self._page.request.get(str(keys)).body())

    def verify(self) -> tuple[int, str]:
        """Save the log as it is now, and run the program; return its exit code and its words."""
        self._page.goto(self._mine)
        self.hands.follow("Get a signed receipt")
        log = self._download("Download the log of this line")
        command = [sys.executable, VERIFIER, "--keys", self._folder / "keys.json", *self._receipts]
        done = subprocess.run(
            [*command, "--log", log], capture_output=True, text=True, check=False, timeout=60
        )
        return done.returncode, done.stdout + done.stderr

    def _download(self, link: str) -> Path:
        with self._page.expect_download() as told:
            self.hands.follow(link)
        path = self._folder / told.value.suggested_filename
        told.value.save_as(path)
        return path


@pytest.fixture
def me(site: Site, browser_page: OpenPage, company: Company, tmp_path: Path) -> Keeper:
    """An applicant who waits first for the only seat, with someone behind."""
    job = factories.job(
        company_id=company.id, acknowledgment_window_seconds=SHORTEST_WINDOW, penalty_places=0
    )
    seated, mine, _behind = factories.applications(job, 3)
    page = browser_page("phone")
    sign_in_applicant(page.context, site.url, mine.applicant)
    keeper = Keeper(page, mine, tmp_path)
    keeper.save_receipt()
    leave(seated)
    return keeper


@pytest.fixture
def owner(page: Page, site: Site, company: Company) -> Hands:
    sign_in_staff(page.context, site.url, member_of(company))
    return Hands(page, "mouse")


@pytest.fixture
def worker(site: Site, tmp_path: Path) -> Iterator[TaskWorker]:
    process = TaskWorker(site.environment, tmp_path / "worker.log", "--slots", "1")
    yield process
    process.end()


def try_a_window_of_two_days(owner: Hands, company: Company) -> None:
    """Ask on the page what a window of two days would have done, and look at the picture."""
    page = owner.page
    page.goto(f"/company/jobs/{two_weeks(company)}/what-if/")
    page.get_by_label("Hours to confirm a seat").fill("48")
    owner.press("Replay with these rules")
    expect(page.get_by_role("heading", name="What other rules would have done")).to_be_visible()
    shows(page, "Tried: 2 d to confirm.")
    for picture in ("Seat hours lost 24 as it was", "Seat hours lost, by the time to confirm"):
        expect(page.get_by_role("img", name=picture)).to_be_visible()
    axe(page)
    shot(page, "what-if-two-days")


def give_the_place_back(owner: Hands, application: Application) -> None:
    owner.page.goto(f"/company/applications/{application.id}/")
    owner.follow("Give the place back…")
    owner.page.get_by_label("An error on the company’s side").check()
    owner.press("Give the place back")
    shows(owner.page, "has their place back")


@pytest.mark.usefixtures("decay_worker", "worker")
def test_a_miss_and_a_place_given_back_are_proved_and_a_rewritten_log_is_found_out(
    me: Keeper, owner: Hands, company: Company
) -> None:
    try_a_window_of_two_days(owner, company)  # while the deadline passes
    mine = me.application
    eventually(lambda: factories.fresh(mine).decay_count, SHORTEST_WINDOW + 30)
    me.save_receipt()
    give_the_place_back(owner, mine)
    me.save_receipt()

    code, said = me.verify()

    seqs = dict(Event.objects.filter(application_id=mine.id).values_list("event", "seq"))
    assert code == 0, said
    assert f"event {seqs['DECAYED']}: you missed a deadline (DECAYED)" in said
    assert f"event {seqs['REINSTATED']}: your former place was given back" in said
    assert "your place never got worse but by the named events" in said

    rewrite_log(mine.job_id, seqs["DECAYED"], actor_kind="COMPANY")  # and every hash behind it
    code, said = me.verify()

    assert verify_job(mine.job_id).is_sound  # the database alone does not show it
    assert code == 1
    assert "the log was rewritten" in said
