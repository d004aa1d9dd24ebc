"""Messages in a browser: written, read, marked, and sent to several people with a stop."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Route, expect

from pipeline.correspondence.threads import Side, count_unread
from pipeline.models import ApplicationMessage, BulkMessage, MessageTemplate
from tests.browser.buttons import shows
from tests.browser.helpers import sign_in_applicant, usable_by_everybody
from tests.browser.pointer import Hands
from tests.browser.site import OpenPage, Site
from tests.browser.world import World
from tests.support import factories
from tests.support.correspondence import from_applicant, from_company

pytestmark = pytest.mark.slow


def test_a_template_is_added_used_and_deleted(owner: Hands, world: World) -> None:
    owner.page.goto("/company/message-templates/")
    owner.page.get_by_label("Name", exact=True).fill("Invitation")
    owner.page.get_by_label("Text", exact=True).fill("Dear {name}, could you visit us?")
    owner.press("Add template")
    shows(owner.page, "You can start messages from it.")
    address = reverse("message_template", args=[MessageTemplate.objects.get().id])
    owner.page.goto(address)
    usable_by_everybody(owner.page, "message_template")

    owner.page.goto(reverse("application_messages", args=[world.reviewed.id]))
    owner.press("Use this template")
    text = f"Dear {world.reviewed.name}, could you visit us?"
    expect(owner.page.get_by_label("Message", exact=True)).to_have_value(text)
    owner.press("Send message")
    shows(owner.page, "Sent.")
    assert ApplicationMessage.objects.get().text == text

    owner.page.goto(address)
    owner.press("Delete template")
    shows(owner.page, "The template is deleted.")


def test_an_applicants_message_is_read_and_marked(owner: Hands, world: World) -> None:
    from_applicant(world.reviewed, "May I bring a friend?")
    owner.page.goto(f"/company/jobs/{world.reviewed.job_id}/")
    expect(owner.page.get_by_role("link", name="Messages 1 unread")).to_be_visible()

    owner.page.goto(reverse("application_messages", args=[world.reviewed.id]))
    owner.press("Mark as read")

    expect(owner.page.get_by_role("button", name="Mark as read")).to_have_count(0)
    assert count_unread([world.reviewed.id], reader=Side.COMPANY) == 0


@pytest.mark.parametrize("javascript", [True, False], ids=["scripted", "plain"])
def test_an_applicant_reads_and_answers(
    browser_page: OpenPage, site: Site, world: World, javascript: bool
) -> None:
    from_company(world.my_place, "When could you start?")
    page = browser_page("phone", javascript=javascript)
    sign_in_applicant(page.context, site.url, world.applicant)
    page.goto("/me/")
    page.get_by_role("link", name="1 new message from").click()
    if not javascript:
        page.get_by_role("button", name="Mark as read").click()
    expect(page.get_by_role("button", name="Mark as read")).to_have_count(0)
    assert count_unread([world.my_place.id], reader=Side.APPLICANT) == 0

    page.get_by_label("Message", exact=True).fill("On Monday.")
    page.get_by_role("button", name="Send to the company").click()

    shows(page, "Sent. The company sees it")
    shows(page, "On Monday.")


def test_the_focus_stays_with_the_messages_when_they_are_marked(
    browser_page: OpenPage, site: Site, world: World
) -> None:
    from_company(world.my_place, "When could you start?")
    page = browser_page("phone")
    sign_in_applicant(page.context, site.url, world.applicant)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/messages/read/", hold)
    page.goto(reverse("my_messages", args=[world.my_place.id]))
    page.get_by_role("button", name="Mark as read").focus()

    held[0].continue_()

    expect(page.get_by_role("button", name="Mark as read")).to_have_count(0)
    assert page.evaluate("document.activeElement.id") == "live"


def test_several_people_are_written_to_and_it_is_stopped(owner: Hands, world: World) -> None:
    owner.page.goto(reverse("job_messages", args=[world.job]))
    owner.follow("Write to several people")
    owner.page.get_by_label("To", exact=True).select_option("WAITLIST")
    owner.page.get_by_label("Message", exact=True).fill("Dear {name}, we need a few more days.")
    owner.press("See who gets it")
    usable_by_everybody(owner.page, "bulk_preview")
    owner.page.get_by_role("button", name="Send to").click()

    bulk = BulkMessage.objects.get()
    owner.page.wait_for_url(f"**{reverse('bulk_message', args=[world.job, bulk.id])}")
    usable_by_everybody(owner.page, "bulk_message")
    owner.press("Stop: send no more")

    shows(owner.page, "Stopped.")


def test_a_person_agrees_to_hear_of_jobs_is_told_and_stops_it(
    owner: Hands, browser_page: OpenPage, site: Site, world: World
) -> None:
    owner.page.goto(reverse("company_privacy"))
    owner.fill("Months in the talent pool", "12")
    owner.press("Save the months")
    shows(owner.page, "Saved. People who apply from now on are asked.")
    page = browser_page("phone")
    sign_in_applicant(page.context, site.url, world.applicant)
    me = Hands(page, "mouse")
    page.goto(reverse("my_privacy", args=[world.my_place.id]))
    me.press("Yes, tell me about other jobs")
    shows(page, "You have agreed.")
    usable_by_everybody(page, "my_privacy_in_pool")

    owner.page.goto(reverse("talent_pool"))
    shows(owner.page, "1 person")
    usable_by_everybody(owner.page, "talent_pool_filled")
    job = factories.job(company_id=world.company.id)
    owner.follow("Tell them of a job")
    owner.page.get_by_label("Tell them of the job").select_option(str(job))
    owner.fill("Message", "Dear {name}, this may be for you.")
    owner.press("See who gets it")
    usable_by_everybody(owner.page, "pool_preview")
    owner.press("Send to 1 person")
    shows(owner.page, "People in the talent pool")

    me.press("Stop emails about other jobs")
    shows(page, "You have taken this consent back.")
    owner.page.goto(reverse("talent_pool"))
    shows(owner.page, "Nobody is in it yet")
