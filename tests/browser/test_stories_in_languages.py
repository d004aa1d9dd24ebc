"""An applicant with a phone who reads Arabic, German or Chinese: from the public page to the end.

Every page and email on the way is in their language alone, can be used by everybody, and fits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.message import EmailMessage
from uuid import UUID

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from applicants.models import Applicant
from jobs.models import Company, JobPosting
from pipeline.models import Application
from tests.browser.helpers import axe, no_sideways_scroll, shot
from tests.browser.mails import code_in, last_mail, letters_to, link_in
from tests.browser.site import OpenPage, Site
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.decay_worker import DecayProcess
from tests.support.english_words import english_in, english_on
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.slow

WIDTHS = (390, 320)
COMPANY, JOB, OTHER_JOB = "Harbour Street", "Ship’s carpenter", "Cook (nights)"


@dataclass
class Reader:
    """Somebody with a phone. `known`: what they and the company wrote, which nobody translates."""

    page: Page
    language: str
    name: str
    address: str

    def known(self) -> list[str]:
        """Return what stands on a page as somebody wrote it; each word of the zone's name, too."""
        return [COMPANY, JOB, OTHER_JOB, self.name, self.address]

    def look(self, name: str) -> None:
        """Fail if the page has an English word, a fault, or is wider than the phone."""
        page = self.page
        assert page.locator("html").get_attribute("lang") == self.language, name
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            no_sideways_scroll(page)
            shot(page, f"{self.language}-{name}-{width}")
        page.evaluate("scrollTo(0, 0)")  # no link half under the bar that stays on top
        axe(page)
        left = english_on(page.content(), self.language, self.known())
        left += [text for text, _words in english_in([page.title()], self.language, self.known())]
        assert left == [], f"{name}:\n" + "\n".join(left)

    def visit(self, address: str, name: str) -> None:
        """Open a page and look at it."""
        self.page.goto(address)
        self.look(name)

    def press(self, form: str) -> None:
        """Send a form of the page, whose address ends like that, by its first button."""
        self.page.locator(f"#main form[action$='{form}'] button.btn").first.click()


STORIES = [
    ("ar", "ar-EG", "ليلى حدّاد"),
    ("de", "de-DE", "Jörg Weiß"),
    ("zh-hans", "zh-CN", "王小明"),
]


@pytest.fixture
def company(site: Site) -> Company:
    return factories.company(name=COMPANY)


@pytest.mark.parametrize(("language", "locale", "name"), STORIES, ids=[one[0] for one in STORIES])
def test_someone_confirms_a_seat_misses_another_and_erases_the_account(
    browser_page: OpenPage,
    site: Site,
    company: Company,
    decay_worker: DecayProcess,
    expected_problems: list[str],
    language: str,
    locale: str,
    name: str,
) -> None:
    expected_problems.append("422")  # nothing was entered, or a wrong code, or no tick
    page = browser_page("phone", locale=locale, is_mobile=True, has_touch=True)
    they = Reader(page, language, name, f"reader.{language[:2]}@example.org")
    jobs = [_job(company, title) for title in (JOB, OTHER_JOB)]
    factories.application(jobs[1])

    _applies(they, site, jobs[0])
    _confirms(they, jobs[0])
    _waits(they, jobs[1])
    _misses(they, site, jobs[1])
    _erases(they)

    assert not Applicant.objects.filter(email=they.address).exists()
    _emails_are_translated(they, site)
    for job in jobs:
        assert_line_is_sound(job)


def _job(company: Company, title: str) -> UUID:
    job = factories.job(company_id=company.id, acknowledge_first_seat=True)
    JobPosting.objects.filter(job_id=job).update(title=title)
    return job


def _applies(they: Reader, site: Site, job: UUID) -> None:
    page = they.page
    they.visit("/", "openings")
    page.locator(f"#main a[href^='/jobs/{job}/']").first.click()
    they.look("opening")
    they.visit(reverse("job_facts", kwargs={"job_id": job}), "facts")
    page.go_back()
    they.press(reverse("apply", kwargs={"job_id": job}))
    they.look("nothing entered")
    page.locator("#main [name=name]").fill(they.name)
    page.locator("#main [name=email]").fill(they.address)
    they.press(reverse("apply", kwargs={"job_id": job}))
    page.wait_for_url("**/code/**")
    they.look("enter code")
    page.locator("#main [name=code]").fill("12")
    they.press(reverse("enter_code"))
    they.look("wrong code")
    page.locator("#main [name=code]").fill(code_in(last_mail(site.mails, they.address)))
    they.press(reverse("enter_code"))
    page.wait_for_url("**/me/applications/**")
    they.look("offered")


def _confirms(they: Reader, job: UUID) -> None:
    they.page.locator("#main button.primary").first.click()
    own = Application.objects.get(job_id=job, applicant__email=they.address)
    expect(they.page.locator("#main .deadline")).to_have_count(0)
    assert factories.status_of(own) == "ACTIVE"
    they.look("seat")
    for name in ("withdraw_mine", "my_receipt", "my_places", "my_privacy"):
        they.visit(reverse(name, kwargs={"application_id": own.id}), name)


def _waits(they: Reader, job: UUID) -> None:
    they.page.goto(reverse("opening", kwargs={"job_id": job}))
    they.press(reverse("apply", kwargs={"job_id": job}))
    they.page.wait_for_url("**/me/applications/**")
    they.look("waiting")
    own = Application.objects.get(job_id=job, applicant__email=they.address)
    for name in ("defer_mine", "preaccept_mine", "pass_mine", "my_places"):
        they.visit(reverse(name, kwargs={"application_id": own.id}), f"{name} of a wait")
    they.visit(reverse("dashboard"), "dashboard")


def _misses(they: Reader, site: Site, job: UUID) -> None:
    let_time_pass(job, factories.WINDOW + 1)  # then the first in the seat has missed it
    link = link_in(_offer_of(they, site, OTHER_JOB), "/confirm/")
    they.visit(link, "confirm")
    own = Application.objects.get(job_id=job, applicant__email=they.address)
    let_time_pass(job, factories.WINDOW + 1)
    for _ in range(300):
        if factories.fresh(own).decay_count:
            break
        they.page.wait_for_timeout(100)
    assert factories.fresh(own).decay_count == 1
    they.visit(link, "confirm too late")
    they.visit(reverse("my_application", kwargs={"application_id": own.id}), "missed")
    they.visit(reverse("dashboard"), "dashboard after a miss")


def _offer_of(they: Reader, site: Site, title: str) -> str:
    """Wait for the email that offers them a seat of a job; return its text."""
    for _ in range(600):
        for letter in letters_to(site.mails, they.address):
            body = letter.get_body(("plain",))
            text = str(body.get_content()) if body else ""
            if "/confirm/" in text and title in f"{letter['Subject']} {text}":
                return text
        they.page.wait_for_timeout(100)
    said = [str(letter["Subject"]) for letter in letters_to(site.mails, they.address)]
    raise AssertionError(f"no offer of {title} in {said}")


def _erases(they: Reader) -> None:
    page = they.page
    for name in ("my_data", "my_devices", "privacy"):
        they.visit(reverse(name), name)
    they.visit(reverse("erase_me"), "erase")
    page.locator("#main button.danger").click()
    they.look("erase without a tick")
    page.locator("#main input[type=checkbox]").check()
    page.locator("#main button.danger").click()
    page.wait_for_url(lambda url: "erase" not in url)
    they.look("erased")


def _emails_are_translated(they: Reader, site: Site) -> None:
    letters = letters_to(site.mails, they.address)
    left = [text for letter in letters for text in _english_of(letter, they)]

    assert len(letters) > 5
    assert left == [], "\n".join(left)


def _english_of(letter: EmailMessage, they: Reader) -> list[str]:
    """Return what is English in an email: headers that people read, texts, an invitation."""
    sender, subject = letter["From"].addresses[0].display_name, str(letter["Subject"])
    lines, left = [sender, subject], []
    for part in letter.walk():
        if part.get_content_type() == "text/html":
            assert f'lang="{they.language}"' in part.get_content(), subject
            left += english_on(part.get_content(), they.language, they.known())
        elif part.get_content_type() == "text/plain":
            lines += part.get_content().splitlines()
        elif part.get_content_type() == "text/calendar":
            calendar = part.get_content().replace("\r\n", "\n").replace("\n ", "")
            lines += re.findall(r"^(?:SUMMARY|DESCRIPTION|LOCATION)[^:]*:(.*)", calendar, re.M)
    left += [text for text, _words in english_in(lines, they.language, they.known())]
    return [f"{subject}: {text}" for text in left]
