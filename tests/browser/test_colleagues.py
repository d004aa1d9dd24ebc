"""Colleagues with one job, invitation links and the page of what the team did, in a browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from jobs.models import JobMember, JobRole, Membership
from tests.browser.buttons import shows
from tests.browser.helpers import axe, no_sideways_scroll, shot, sign_in_staff
from tests.browser.pointer import Hands
from tests.browser.site import OpenPage, Site
from tests.browser.world import World
from tests.support import factories
from tests.support.accounts import job_member_of

pytestmark = pytest.mark.slow


def look_at(page: Page, name: str) -> None:
    axe(page)
    no_sideways_scroll(page)
    shot(page, name)


def test_a_colleague_gets_one_job_and_loses_it(owner: Hands, world: World) -> None:
    owner.page.goto(f"/company/jobs/{world.job}/access/")
    owner.fill("Email address", "ida@example.org")
    owner.press("Give access")
    shows(owner.page, "ida@example.org now has access to this job.")
    look_at(owner.page, "job-access")

    owner.page.goto("/company/activity/")
    owner.page.get_by_label("Kind").select_option("TEAM")
    owner.press("Filter")
    shows(owner.page, "Gave ida@example.org a role on a job: Interviewer")
    look_at(owner.page, "activity")

    owner.page.goto(f"/company/jobs/{world.job}/access/")
    owner.press("Remove ida@example.org")
    shows(owner.page, "Nobody yet.")
    assert not JobMember.objects.exists()


def test_a_link_is_made_used_and_withdrawn(
    owner: Hands, browser_page: OpenPage, site: Site, world: World
) -> None:
    owner.page.goto(f"/company/team/links/?job={world.job}")
    owner.fill("People who can use it", "2")
    owner.press("Make link")
    shows(owner.page, "Copy the link now")
    link = owner.page.locator("#link").input_value()
    look_at(owner.page, "invitation-link")

    page, colleague = browser_page(), factories.UserFactory.create(password=None)
    page.goto("/join/" + link.rpartition("/join/")[2])
    expect(page.get_by_label("Your email address")).to_be_visible()
    look_at(page, "join")
    sign_in_staff(page.context, site.url, colleague)
    page.reload()
    Hands(page, "mouse").press("Join the team")
    shows(page, "Your jobs")
    assert Membership.objects.get(user=colleague).job_members.get().role == JobRole.INTERVIEWER

    owner.follow("Done")
    look_at(owner.page, "invitation-links")
    owner.press("Withdraw Interviewer")
    shows(owner.page, "The link no longer works.")


@pytest.mark.parametrize("size", ["desktop", "narrow"])
def test_an_interviewer_reads_and_scores_the_people_in_seats(
    browser_page: OpenPage, site: Site, world: World, size: str
) -> None:
    page = browser_page(size, dark=size == "narrow")
    interviewer = job_member_of(world.company, world.job, JobRole.INTERVIEWER)
    sign_in_staff(page.context, site.url, interviewer)

    page.goto("/company/")
    look_at(page, f"single-jobs-{size}")
    page.goto(f"/company/jobs/{world.job}/")
    look_at(page, f"single-job-{size}")
    page.locator("main li a").first.click()
    look_at(page, f"interview-{size}")
