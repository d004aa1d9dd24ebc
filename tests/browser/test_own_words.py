"""A company's own words in a browser: written, tried and taken back; its sender; a rejection."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from pipeline.domain.states import Reason
from pipeline.models import CompanyText, DecisionText, Letterhead
from pipeline.texts.kinds import KINDS, sentence_kind
from pipeline.texts.words import save_text
from tests.browser.buttons import shows
from tests.browser.helpers import sign_in_applicant, sign_in_staff
from tests.browser.mails import code_in, last_mail
from tests.browser.site import OpenPage, Site
from tests.browser.world import World

pytestmark = pytest.mark.slow


@pytest.fixture(params=[True, False], ids=["scripted", "plain"])
def page(browser_page: OpenPage, site: Site, world: World, request: pytest.FixtureRequest) -> Page:
    """Return a page of the owner, with scripts and without."""
    found = browser_page(javascript=request.param)
    sign_in_staff(found.context, site.url, world.owner)
    return found


def test_a_company_writes_its_own_words_and_signs_with_its_name(
    page: Page, site: Site, world: World
) -> None:
    page.goto("/company/emails/")
    page.get_by_role("link", name="Seat offered").click()
    page.get_by_label("Opening").fill("Moin {name}!")
    page.get_by_role("button", name="Preview").click()
    shows(page, "Preview, not saved")
    with page.context.expect_page() as opened:
        page.get_by_role("button", name="See it as HTML").click()
    expect(opened.value.get_by_text("Moin ")).to_be_visible()
    opened.value.close()
    page.get_by_role("button", name="Send me a test").click()
    shows(page, "A test is on its way to")
    page.get_by_role("button", name="Save").click()
    shows(page, "Saved. Emails have these words from now on.")
    assert CompanyText.objects.latest("version").parts == {"opening": "Moin {name}!"}
    page.get_by_role("button", name="Back to our words").click()
    shows(page, "These are our words.")

    page.goto("/company/emails/sender/")
    page.get_by_label("Sender name").fill("The Harbour")
    page.get_by_role("button", name="Save").click()
    shows(page, "Saved. Emails have these names from now on.")
    page.get_by_label("Reply address").fill("crew@harbour.example")
    page.get_by_role("button", name="Email a code").click()
    shows(page, "We’ve emailed a code to crew@harbour.example")
    code = code_in(last_mail(site.mails, "crew@harbour.example"))
    page.get_by_label("Code from the email").fill(code)
    page.get_by_role("button", name="Use this address").click()
    shows(page, "Answers to your emails go to crew@harbour.example now.")
    letterhead = Letterhead.objects.get(company=world.company)
    assert (letterhead.sender_name, letterhead.reply_address) == (
        "The Harbour",
        "crew@harbour.example",
    )


def test_a_rejected_person_reads_a_human_sentence(
    page: Page, browser_page: OpenPage, site: Site, world: World
) -> None:
    save_text(
        company_id=world.company.id,
        kind=KINDS[sentence_kind(Reason.NOT_A_MATCH)],
        parts={"sentence": "We looked for a rigger."},
        seen=0,
        by=None,
    )
    person = world.reviewed
    page.goto(f"/company/applications/{person.id}/decide/")
    page.get_by_label("Reason").select_option("NOT_A_MATCH")
    page.get_by_text("Write to them, add a note, or remove").click()
    page.get_by_role("button", name="Insert your sentence for this reason").click()
    text = page.get_by_label("To the applicant")
    expect(text).to_have_value("We looked for a rigger.")
    expect(text).to_be_focused()
    text.fill("We looked for a rigger. Ask us in May.")
    page.get_by_role("button", name=f"Reject {person.name}").click()
    shows(page, "rejected")

    assert DecisionText.objects.get().text == "We looked for a rigger. Ask us in May."
    theirs = browser_page()
    sign_in_applicant(theirs.context, site.url, person.applicant)
    theirs.goto(f"/me/applications/{person.id}/")
    shows(theirs, "Ask us in May.")
