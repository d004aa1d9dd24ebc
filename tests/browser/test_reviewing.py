"""Setting up a review, and giving scores beside the decision, in a browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from jobs.models import Company, JobPosting, Role
from pipeline.domain.states import Status
from pipeline.models import Application, NoteMention, RotaMember, Score
from pipeline.review.scores import CriterionWords, Mark, give, set_criteria
from pipeline.selectors.scores import read_criteria
from tests.browser.buttons import shows
from tests.browser.helpers import sign_in_staff
from tests.browser.pointer import Hands
from tests.browser.site import OpenPage, Site
from tests.browser.test_deciding import look_at, pages  # noqa: F401  a fixture
from tests.browser.world import World
from tests.support.accounts import member_of

pytestmark = pytest.mark.slow


def test_a_review_is_set_up(owner: Hands, pages: list[Page], world: World) -> None:  # noqa: F811
    here = f"/company/jobs/{world.job}/review/"
    owner.page.goto(here)

    owner.fill("Decide within", "3")
    owner.fill("Criterion", "Craft")
    owner.page.get_by_role("heading", name="Rota").click()
    owner.page.get_by_role("checkbox", name=world.owner.email).check()
    owner.page.get_by_label("Tell me about reviews").select_option("NEVER")
    owner.press("Save")
    shows(owner.page, "Saved.")
    owner.page.goto("/company/working-hours/")
    owner.page.get_by_label("Monday").check()
    owner.press("Save")

    shows(owner.page, "Saved. Ages and targets")
    assert JobPosting.objects.get(job_id=world.job).review_target_seconds == 3 * 86_400
    assert [row.label for row in read_criteria(world.job)] == ["Craft"]
    assert RotaMember.objects.get().user == world.owner
    assert Company.objects.get(id=world.owner.memberships.get().company_id).working_hours
    look_at(pages, here, "review-settings")
    look_at(pages, "/company/working-hours/", "working-hours")
    look_at(pages, f"/company/jobs/{world.job}/", "board-with-target")


def test_a_name_that_is_typed_in_a_note_is_ticked(owner: Hands, world: World) -> None:
    colleague = member_of(
        world.owner.memberships.get().company, Role.RECRUITER, email="kim@northwind.example"
    )
    owner.page.goto(f"/company/applications/{world.waiting.id}/")

    owner.page.get_by_label("New note").press_sequentially("Please look, @kim.")
    expect(owner.page.get_by_label("@kim@northwind.example")).to_be_checked()
    owner.press("Add note")

    shows(owner.page, "Please look, @kim.")
    assert NoteMention.objects.get().user == colleague


@pytest.mark.parametrize("javascript", [True, False], ids=["scripted", "plain"])
def test_a_reviewer_gives_scores_and_goes_to_the_next_person(
    browser_page: OpenPage,
    site: Site,
    pages: list[Page],  # noqa: F811
    world: World,
    javascript: bool,
) -> None:
    held = Application.objects.filter(job_id=world.job, status=Status.ACTIVE)
    person, after = held.order_by("status_since", "id")[:2]
    set_criteria(job_id=world.job, wanted=[CriterionWords("Craft", "Has worked with wood.")])
    colleague = member_of(world.owner.memberships.get().company, Role.RECRUITER)
    marks = {row.id: Mark(4, "Built a dinghy.") for row in read_criteria(world.job)}
    give(application_id=person.id, reviewer_id=colleague.id, marks=marks)
    page = browser_page(javascript=javascript)
    sign_in_staff(page.context, site.url, world.owner)
    here = f"/company/applications/{person.id}/"
    page.goto(here)

    expect(page.get_by_text("Built a dinghy.")).to_have_count(0)
    page.get_by_role("group", name="Craft").get_by_label("3").check()
    page.get_by_label("Why").fill("Careful with tools.")
    page.get_by_role("button", name="Save my scores").click()
    shows(page, "Your scores are saved.")
    expect(page.get_by_role("row", name=re.compile("Craft"))).to_contain_text("3.5")
    page.get_by_text("Each reviewer’s scores").click()
    shows(page, "Built a dinghy.")

    assert Score.objects.count() == 2
    if javascript:
        page.locator("body").press("j")
        expect(page).to_have_url(re.compile(str(after.id)))
        look_at(pages, here, "application-scores")
