"""Deciding on several people in a browser: ticked, undone, carried out; notes beside it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from jobs.models import Company, Role
from pipeline.domain.states import Outcome
from pipeline.models import ApplicationNote, PendingDecision
from pipeline.review import decisions
from pipeline.review.decisions import TASK
from tests.browser.buttons import shows
from tests.browser.helpers import axe, no_sideways_scroll, shot, sign_in_staff
from tests.browser.pointer import Hands
from tests.browser.site import OpenPage, Site
from tests.browser.world import World
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.task_runs import let_tasks_wait, run_due_tasks

pytestmark = [pytest.mark.slow, pytest.mark.in_turns(2)]


@pytest.fixture
def pages(browser_page: OpenPage, site: Site, world: World) -> list[Page]:
    """Return pages of the owner: wide and light, wide and dark, narrow."""
    found = [browser_page(), browser_page(dark=True), browser_page("narrow")]
    for page in found:
        sign_in_staff(page.context, site.url, world.owner)
    return found


def look_at(pages: list[Page], address: str, name: str) -> None:
    """Look at an address in light, in dark and on the narrowest phone."""
    for page, kind in zip(pages, ("light", "dark", "narrow"), strict=True):
        page.goto(address)
        if kind == "narrow":
            no_sideways_scroll(page)
        else:
            axe(page)
        shot(page, f"{name}-{kind}")


@pytest.mark.parametrize("javascript", [True, False], ids=["scripted", "plain"])
def test_several_people_are_decided_on_and_it_is_undone(
    browser_page: OpenPage, site: Site, world: World, javascript: bool
) -> None:
    page = browser_page(javascript=javascript)
    sign_in_staff(page.context, site.url, world.owner)
    page.goto(f"/company/jobs/{world.job}/")
    boxes = page.locator("#waitlist .tick")
    boxes.nth(0).check()
    boxes.nth(1).check()

    page.get_by_role("button", name="Decide on the ticked people").click()
    shows(page, "Decide on 2 people")
    page.get_by_role("button", name="Reject 2 people").click()

    decision = PendingDecision.objects.get()
    assert decision.finished_at is not None  # tests do not wait ten seconds
    shows(page, "2 people rejected.")


def test_the_pages_of_a_decision_can_be_used_by_everybody(
    pages: list[Page], world: World, settings: Any
) -> None:
    settings.DECISION_UNDO_SECONDS = 3_600

    decision = decisions.make(
        decision_id=world.waiting.id,
        job_id=world.job,
        application_ids=[world.waiting.id],
        outcome="REJECTED",  # type: ignore[arg-type]
        actor=world.actor,
    )
    board = f"/company/jobs/{world.job}/"

    look_at(pages, board, "board-decision")
    look_at(pages, f"{board}decisions/{decision.id}/", "decision")
    look_at(pages, f"/company/applications/{world.waiting.id}/", "application-decision")
    page = pages[0]
    page.goto(board)
    page.get_by_role("button", name=f"Undo: Reject {world.waiting.name}").click()

    shows(page, "The decision was undone.")
    expect(page.locator(".decision-notice")).to_have_count(0)
    let_tasks_wait(3_600)
    run_due_tasks(TASK)
    decisions.carry_out(decision.id)
    assert factories.status_of(world.waiting) == "WAITLIST"


def test_after_a_decision_the_keyboard_is_at_undo(owner: Hands, world: World) -> None:
    Company.objects.filter(id=world.company.id).update(undo_removal_seconds=300)
    page, person = owner.page, world.reviewed
    page.goto(f"/company/applications/{person.id}/decide/")
    page.get_by_label("Reason").select_option(label="Not a match")
    page.keyboard.press("Escape")
    page.get_by_role("button", name=f"Reject {person.name}").press("Enter")

    notice = page.locator(".decision-notice")
    expect(notice).to_be_focused()
    expect(notice).to_contain_text("Reason: not a match")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(notice.get_by_role("button")).to_be_focused()
    page.keyboard.press("u")

    shows(page, "The decision was undone.")
    assert factories.status_of(person) == "ACTIVE"


@pytest.mark.parametrize("javascript", [True, False], ids=["scripted", "plain"])
def test_decisions_are_undone_where_people_are(
    browser_page: OpenPage, site: Site, world: World, javascript: bool
) -> None:
    Company.objects.filter(id=world.company.id).update(undo_removal_seconds=300)
    page = browser_page(javascript=javascript)
    sign_in_staff(page.context, site.url, world.owner)
    person, board = world.reviewed, f"/company/jobs/{world.job}/"
    here = f"/company/applications/{person.id}/"
    for address in (here, board, f"{board}decisions/"):
        page.goto(f"{here}decide/")
        page.get_by_role("button", name=f"Reject {person.name}").click()
        shows(page, "unless undone")

        page.goto(address)
        shows(page, "The seat is free at")
        page.get_by_role("button", name=f"Undo: Reject {person.name}").click()

        shows(page, "The decision was undone.")
        assert page.url.endswith(address)
    assert factories.status_of(person) == "ACTIVE"


def test_the_time_to_undo_is_chosen_and_a_person_gets_more_time(
    owner: Hands, pages: list[Page], world: World
) -> None:
    page, person = owner.page, world.offered
    page.goto("/company/time-to-undo/")
    owner.fill("Undo a rejection or removal for", "20")
    owner.press("Save")
    shows(page, "A rejection or removal takes effect after 20 minutes")
    look_at(pages, "/company/time-to-undo/", "undo-time")
    decisions.make(
        decision_id=world.reviewed.id,
        job_id=world.job,
        application_ids=[world.reviewed.id],
        outcome=Outcome.REJECTED,
        actor=world.actor,
    )
    look_at(pages, f"/company/jobs/{world.job}/decisions/", "decisions")

    here = f"/company/applications/{person.id}/"
    before = factories.fresh(person).acknowledge_by
    page.goto(here)
    owner.follow("Give more time")
    look_at(pages, f"{here}extend/", "extend")
    owner.press("Give more time")

    shows(page, "We email them the new deadline.")
    assert before is not None
    assert factories.fresh(person).acknowledge_by == before + timedelta(days=1)


def test_notes_tags_and_links_are_added(owner: Hands, pages: list[Page], world: World) -> None:
    here = f"/company/applications/{world.waiting.id}/"
    owner.page.goto(here)

    owner.fill("New note", "Asked for a call on Tuesday.")
    owner.press("Add note")
    owner.page.get_by_text("Assignee, tags and links").click()
    owner.fill("New tag", "Night shift")
    owner.press("Add tag")
    shows(owner.page, "night shift")
    owner.page.get_by_label("Assigned to").select_option(label=world.owner.email)
    owner.press("Assign")

    shows(owner.page, "Asked for a call on Tuesday.")
    assert ApplicationNote.objects.get().author_id == world.owner.id
    look_at(pages, here, "application-notes")


def test_keys_lead_to_people_and_pages(owner: Hands, world: World) -> None:
    page = owner.page
    page.goto("/company/")

    page.keyboard.press("Control+k")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("searchbox").fill("sched")
    expect(dialog.get_by_role("link", name="Schedules")).to_be_visible()
    axe(page)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("link", name="Find")).to_be_focused()

    page.goto(f"/company/jobs/{world.job}/")
    page.keyboard.press("j")
    page.keyboard.press("j")
    second = page.locator("main [data-key] .who-link").nth(1)
    expect(second).to_be_focused()
    page.keyboard.press("x")
    expect(page.locator(".tick:checked")).to_have_count(1)
    page.keyboard.press("?")
    page.wait_for_url("**/company/shortcuts/")
    page.get_by_role("button", name="Turn single keys off").click()
    page.goto("/company/")
    page.keyboard.press("?")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert page.url.endswith("/company/")


def test_a_view_is_saved(owner: Hands, world: World) -> None:
    owner.page.goto(f"/company/jobs/{world.job}/applications/?misses=1")

    owner.fill("Name of the view", "With a miss")
    owner.press("Save this view")

    shows(owner.page, "Saved as “With a miss”. Only you see it.")
    owner.page.get_by_role("link", name="With a miss").click()
    expect(owner.page.locator("main [data-key]")).to_have_count(1)


def test_keys_lose_no_note_and_lead_nowhere_forbidden(
    browser_page: OpenPage, site: Site, world: World, owner: Hands
) -> None:
    page = owner.page
    page.goto(f"/company/applications/{world.waiting.id}/decide/")
    page.get_by_text("Write to them, add a note, or remove").click()
    here, note = page.url, page.locator("#id_note")
    key = "j" if page.locator('[data-go="next"]').count() else "k"
    opened: list[str] = []
    page.on("request", lambda each: each.is_navigation_request() and opened.append(each.url))
    note.fill("Asked for a call.")
    note.blur()
    page.keyboard.press(key)
    expect(note).to_have_value("Asked for a call.")
    note.fill("")
    note.blur()
    page.keyboard.press(key)
    expect(page).not_to_have_url(here)
    assert len(opened) == 1  # only after the note was empty

    page.context.clear_cookies()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_contain_text("You are signed out. Reload the page")

    theirs = browser_page()
    sign_in_staff(theirs.context, site.url, member_of(world.company, Role.VIEWER))
    theirs.goto("/company/")
    theirs.keyboard.press("c")
    theirs.keyboard.press("?")  # a later key, so that the first has had its effect
    theirs.wait_for_url("**/company/shortcuts/")
    expect(theirs.get_by_text("Create a job, if your role allows it")).to_be_visible()
    theirs.keyboard.press("c")
    theirs.keyboard.press("g")
    theirs.keyboard.press("p")
    theirs.wait_for_url("**/company/people/")


def test_filters_are_folded_only_on_a_narrow_screen_and_only_until_they_are_set(
    browser_page: OpenPage, site: Site, world: World
) -> None:
    page, here = (
        browser_page("narrow", javascript=False),
        f"/company/jobs/{world.job}/applications/",
    )
    sign_in_staff(page.context, site.url, world.owner)
    misses = page.get_by_label("Misses, at least")

    page.goto(here)
    expect(misses).not_to_be_visible()
    page.get_by_text("Choose filters").click()
    misses.fill("1")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(misses).to_be_visible()

    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(here)
    expect(misses).not_to_be_visible()
    page.get_by_text("Choose filters").click()
    misses.fill("1")
    misses.press("Enter")
    expect(page).to_have_url(re.compile("misses=1"))
