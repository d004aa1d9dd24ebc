"""An application as one page: its file beside the decision, its keys, and what is typed stays."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from pipeline.domain.states import Status
from pipeline.models import Application, ApplicationNote, Attachment
from pipeline.review.scores import CriterionWords, set_criteria
from tests.browser.helpers import axe, no_sideways_scroll, shot, sign_in_staff
from tests.browser.pointer import Hands
from tests.browser.site import OpenPage, Site
from tests.browser.test_attachments import attached
from tests.browser.world import World

pytestmark = pytest.mark.slow


@pytest.fixture
def held(world: World) -> list[Application]:
    """The people in review, in the order of their seats; the first has a CV."""
    set_criteria(job_id=world.job, wanted=[CriterionWords("Craft", "")])
    rows = Application.objects.filter(job_id=world.job, status=Status.ACTIVE)
    found = list(rows.order_by("status_since", "id"))
    file = attached(world.my_place, "PDF")  # added while one waits
    Attachment.objects.filter(id=file.id).update(application=found[0])
    return found


def left_of(page: Page, selector: str) -> float:
    """Return where a part of the page begins."""
    box = page.locator(selector).bounding_box()
    assert box
    return box["x"]


@pytest.mark.in_turns(4)
@pytest.mark.parametrize(
    ("width", "dark"), [(1280, False), (1280, True), (390, False), (320, False)]
)
def test_the_file_stands_beside_the_decision_or_above_it(
    browser_page: OpenPage,
    site: Site,
    world: World,
    held: list[Application],
    width: int,
    dark: bool,
) -> None:
    page = browser_page(dark=dark)
    sign_in_staff(page.context, site.url, world.owner)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"/company/applications/{held[0].id}/")

    expect(page.locator(".attachment-pages canvas")).to_have_count(2)
    places = [left_of(page, part) for part in (".review-about", ".review-file", ".decide")]
    assert len(set(places)) == (3 if width > 1_100 else 1)
    axe(page)
    no_sideways_scroll(page)
    shot(page, f"application-{width}{'-dark' if dark else ''}")
    if width > 1_100:
        expect(page.get_by_role("button", name=f"Hire {held[0].name}")).to_be_in_viewport()
    else:
        bar = page.get_by_role("link", name="Decide…")
        expect(bar).to_be_in_viewport()
        bar.click()
        expect(page.locator("#decide-title")).to_be_in_viewport()


def test_a_decision_is_made_without_javascript(
    browser_page: OpenPage, site: Site, world: World, held: list[Application]
) -> None:
    page = browser_page("phone", javascript=False)
    sign_in_staff(page.context, site.url, world.owner)
    page.goto(f"/company/applications/{held[0].id}/")

    page.get_by_role("link", name="Decide…").click()
    page.get_by_role("button", name=f"Reject {held[0].name}").click()

    expect(page.locator("#main")).to_contain_text("rejected")
    assert Application.objects.get(id=held[0].id).outcome == "REJECTED"


def test_keys_lead_to_the_next_person_and_to_the_parts_but_decide_nothing(
    owner: Hands, held: list[Application]
) -> None:
    page = owner.page
    page.goto(f"/company/applications/{held[0].id}/")
    name = held[0].name
    hire = page.get_by_role("button", name=f"Hire {name}").first

    page.keyboard.press("h")
    expect(hire).to_be_focused()
    page.keyboard.press("r")
    expect(page.get_by_role("button", name=f"Reject {name}")).to_be_focused()
    page.keyboard.press("s")
    expect(page.get_by_role("group", name="Craft").get_by_label("1")).to_be_focused()
    page.keyboard.press("n")
    expect(page.get_by_label("New note")).to_be_focused()
    page.get_by_label("New note").blur()
    assert Application.objects.get(id=held[0].id).status == Status.ACTIVE

    page.keyboard.press("j")
    expect(page).to_have_url(re.compile(str(held[1].id)))
    expect(page.get_by_text(f"2 of {len(held)} in review")).to_be_visible()
    page.keyboard.press("k")
    expect(page).to_have_url(re.compile(str(held[0].id)))

    page.get_by_role("group", name="Craft").get_by_label("3").check()
    page.keyboard.press("j")  # the score is not saved: the page stays
    page.evaluate("localStorage.setItem('keys-off', '1')")
    page.keyboard.press("h")
    expect(hire).not_to_be_focused()
    expect(page).to_have_url(re.compile(str(held[0].id)))


def test_what_is_typed_and_the_file_survive_a_live_update(
    owner: Hands, world: World, held: list[Application]
) -> None:
    page = owner.page
    page.goto(f"/company/applications/{held[0].id}/")
    expect(page.locator(".attachment-pages canvas")).to_have_count(2)
    page.get_by_label("New note").fill("Asked for a call.")
    page.get_by_role("group", name="Craft").get_by_label("3").check()
    page.get_by_label("Reason").select_option("NOT_A_MATCH")
    page.evaluate("document.activeElement.blur()")
    ApplicationNote.objects.create(
        application=held[0], author=world.owner, text="Written by a colleague."
    )

    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.evaluate("dispatchEvent(new Event('clock-jump'))")

    expect(page.get_by_text("Written by a colleague.")).to_be_visible()
    expect(page.get_by_label("New note")).to_have_value("Asked for a call.")
    expect(page.get_by_role("group", name="Craft").get_by_label("3")).to_be_checked()
    expect(page.get_by_label("Reason")).to_have_value("NOT_A_MATCH")
    expect(page.locator(".attachment-pages canvas")).to_have_count(2)


def test_a_phone_shows_no_keys_and_the_decision_covers_the_bar_that_leads_to_it(
    browser_page: OpenPage, site: Site, world: World, held: list[Application]
) -> None:
    page = browser_page("phone", has_touch=True, is_mobile=True)
    sign_in_staff(page.context, site.url, world.owner)
    page.goto(f"/company/applications/{held[0].id}/")
    over_the_bar = """() => {
        const bar = document.querySelector(".review-bar").getBoundingClientRect();
        const over = document.elementFromPoint(bar.x + bar.width / 2, bar.y + bar.height / 2);
        return over?.closest(".review-bar, .decide")?.classList.contains("decide");
    }"""

    expect(page.locator(".key-hint:visible")).to_have_count(0)
    bar = page.get_by_role("link", name="Decide…")
    expect(bar).to_be_in_viewport()
    assert page.evaluate(over_the_bar) is False
    bar.click()
    expect(page.locator("#decide-title")).to_be_in_viewport()
    assert page.evaluate(over_the_bar) is True


def test_the_button_that_goes_on_with_the_next_person_has_one_line(
    owner: Hands, held: list[Application]
) -> None:
    owner.page.set_viewport_size({"width": 1280, "height": 800})
    owner.page.goto(f"/company/applications/{held[0].id}/")
    button = owner.page.get_by_role("button", name="Reject and next")

    lines = button.evaluate(
        "(button) => { const words = document.createRange(); words.selectNodeContents(button);"
        " return new Set([...words.getClientRects()].map((line) => line.top)).size; }"
    )

    assert lines == 1


def test_saved_scores_are_confirmed_where_the_page_opens(
    owner: Hands, held: list[Application]
) -> None:
    page = owner.page
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"/company/applications/{held[0].id}/")

    page.get_by_role("group", name="Craft").get_by_label("3").check()
    page.get_by_role("button", name="Save my scores").click()

    expect(page.get_by_text("Your scores are saved.")).to_be_in_viewport()
