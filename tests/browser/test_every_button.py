"""Buttons for running a company's jobs, pressed in a browser, and the resulting pages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from allauth.mfa.models import Authenticator
from playwright.sync_api import Page, expect

from applicants.models import Applicant
from jobs.models import ApiKey, JobPosting, Membership, Retention, Role
from pipeline.form.versions import questions_of
from pipeline.models import Application, Email, FurtherQuestion, PlannedSeats
from tests.browser.buttons import shows
from tests.browser.helpers import axe, sign_in_applicant, usable_by_everybody
from tests.browser.mails import last_mail
from tests.browser.pointer import Hands
from tests.browser.site import OpenPage, Site
from tests.browser.world import World
from tests.support import factories

# In each run, `tests/pages` sends what each of these buttons sends.
pytestmark = [pytest.mark.slow, pytest.mark.in_turns(3)]


def test_a_draft_is_opened(owner: Hands, world: World) -> None:
    owner.page.goto(f"/company/jobs/{world.draft}/")

    owner.press("Open job")

    shows(owner.page, "The job is open. People can apply.")
    assert factories.row_of(world.draft).status == "OPEN"


def test_a_draft_is_deleted(owner: Hands, world: World) -> None:
    owner.page.goto(f"/company/jobs/{world.draft}/")

    owner.follow("Delete draft…")
    owner.press("Delete draft")

    shows(owner.page, "is deleted.")
    assert not JobPosting.objects.filter(job_id=world.draft).exists()


def test_seats_are_changed(owner: Hands, world: World) -> None:
    owner.page.goto(f"/company/jobs/{world.job}/capacity/")

    owner.fill("Seats", "11")
    owner.press("Preview the change")
    owner.press("Change to 11 seats")

    shows(owner.page, "The job now has 11 seats.")
    assert factories.row_of(world.job).capacity == 11


def test_seats_are_planned_and_cancelled(owner: Hands, world: World) -> None:
    owner.page.goto(f"/company/jobs/{world.job}/planned-seats/")
    day = datetime.now(UTC).date() + timedelta(days=10)

    owner.fill("How many seats", "2")
    owner.fill("On", day.isoformat())
    owner.press("Plan these seats")

    shows(owner.page, "2 seats open")
    assert PlannedSeats.objects.get(job_id=world.job).seats == 2
    owner.press("Cancel plan 1")
    shows(owner.page, "No seats are planned.")
    assert not PlannedSeats.objects.filter(job_id=world.job).exists()


def test_positions_and_a_closing_date_are_saved(owner: Hands, world: World) -> None:
    owner.page.goto(f"/company/jobs/{world.job}/positions/")
    day = datetime.now(UTC).date() + timedelta(days=10)

    owner.fill("Positions to fill", "3")
    owner.fill("Closes on", day.isoformat())
    owner.press("Save positions and dates")

    shows(owner.page, "1 of 3 positions are filled.")
    shows(owner.page, "This job closes on")
    job = factories.row_of(world.job)
    assert (job.positions_to_fill, bool(job.closes_at)) == (3, True)


def test_settings_are_saved(owner: Hands, world: World) -> None:
    owner.page.goto(f"/company/jobs/{world.job}/settings/")

    owner.fill("Title", "Payments engineer")
    owner.fill("Places lost after a miss", "2")
    owner.press("Save")

    expect(owner.page.get_by_role("heading", level=1)).to_have_text("Payments engineer")
    shows(owner.page, "After a second miss, behind the next 4 people to join")
    assert factories.row_of(world.job).penalty_places == 2


def test_retention_is_saved(owner: Hands, world: World) -> None:
    owner.page.goto(f"/company/jobs/{world.job}/settings/")

    owner.fill("Days to keep personal data", "90")
    owner.press("Save retention")

    shows(owner.page, "The change takes effect tonight.")
    assert Retention.objects.get(job_id=world.job).keep_days == 90


def test_a_second_step_is_required_and_made_optional(owner: Hands, world: World) -> None:
    Authenticator.objects.create(user=world.owner, type="totp", data={"secret": "x"})
    owner.page.goto("/company/team/")

    owner.press("Require it")
    shows(owner.page, "Two-step verification is now required.")
    owner.press("Make it optional")

    shows(owner.page, "Two-step verification is now optional for each member.")


@pytest.mark.parametrize(
    ("button", "outcome"),
    [("Reject", "REJECTED"), ("Remove", "REMOVED")],
)
def test_people_are_decided_on(owner: Hands, world: World, button: str, outcome: str) -> None:
    owner.page.goto(f"/company/applications/{world.waiting.id}/decide/")
    owner.page.get_by_text("Write to them, add a note, or remove").click()

    owner.press(button)

    shows(owner.page, world.waiting.name)
    assert factories.status_of(world.waiting) == outcome


def test_a_place_is_given_back(owner: Hands, world: World) -> None:
    owner.page.goto(f"/company/applications/{world.missed.id}/")

    owner.follow("Give the place back…")
    owner.page.get_by_label("An accommodation for the applicant").check()
    owner.press("Give the place back")

    shows(owner.page, f"{world.missed.name} has their place back")
    assert factories.event_names(world.job)[-1] in ("REINSTATED", "PROMOTED")


def test_a_person_is_moved_to_the_front(owner: Hands, world: World) -> None:
    owner.page.goto(f"/company/applications/{world.last_in_line.id}/")

    owner.follow("Move to the front…")
    owner.page.get_by_label("Another reason").check()
    owner.fill("A sentence for the people passed", "A pilot with the city.")
    owner.press("Move to the front")

    shows(owner.page, "is first in line now")
    assert factories.event_names(world.job)[-1] == "MOVED_AHEAD"


def test_a_seat_is_reserved_stated_and_confirmed(
    owner: Hands, site: Site, world: World, browser_page: OpenPage
) -> None:
    owner.page.goto(f"/company/jobs/{world.paused}/reserved-seats/")
    owner.fill("Reserved seats", "1")
    owner.page.get_by_label("People who work for the company already").check()
    owner.press("Save reserved seats")
    shows(owner.page, "Reserved seats are saved.")

    mine = browser_page()
    sign_in_applicant(mine.context, site.url, world.applicant)
    mine.goto(f"{site.url}/me/applications/{world.my_place.id}/")
    mine.get_by_text("Do you belong to this group?").click()
    mine.get_by_role("button", name="I belong to this group").click()
    shows(mine, "You have said that you belong to this group.")

    owner.page.goto(f"/company/applications/{world.my_place.id}/")
    owner.press("Confirm: can take a reserved seat")
    shows(owner.page, "Confirmed. The person can take a reserved seat.")
    assert factories.event_names(world.paused)[-1] == "GROUP_NOTED"


def test_the_team_grows_changes_and_shrinks(owner: Hands, site: Site, world: World) -> None:
    owner.page.goto("/company/team/")
    owner.fill("Email address", "new@example.org")
    owner.press("Add to team")
    shows(owner.page, "new@example.org")
    assert last_mail(site.mails, "new@example.org", saying="Northwind Labs")

    added = Membership.objects.get(user__email="new@example.org")
    owner.choose("Role of new@example.org", "Viewer")
    owner.press("Save new@example.org")
    shows(owner.page, "new@example.org is now viewer.")
    owner.follow("Remove… new@example.org")
    owner.page.locator("#main details summary").click()
    owner.press("Remove new@example.org")

    expect(owner.page).to_have_url(f"{site.url}/company/team/#out")
    assert not Membership.objects.filter(id=added.id).exists()


def test_keys_are_made_and_revoked(owner: Hands, world: World) -> None:
    owner.page.goto("/company/keys/")
    owner.fill("Name", "Reports")
    owner.press("Create key")
    shows(owner.page, "Copy the key now")
    key = owner.page.get_by_label("Reports").input_value()
    assert key.startswith("nilk_")

    owner.follow("Done")
    owner.follow("Revoke Reports")
    owner.press("Revoke key")

    shows(owner.page, "Revoked")
    assert ApiKey.objects.get(name="Reports").revoked_at


def test_a_log_is_verified_from_the_system_page(owner: Hands, world: World) -> None:
    owner.page.goto("/company/system/")

    owner.press("Verify Data scientist")

    shows(owner.page, "none altered or missing")


def test_somebody_acts_for_another_company(owner: Hands, world: World) -> None:
    other = factories.company(name="Southwind")
    Membership.objects.create(company=other, user=world.owner, role=Role.VIEWER)
    owner.page.goto("/company/")

    owner.page.locator(".who summary").click()
    owner.press("Switch to Southwind")

    expect(owner.page.locator(".who-name")).to_have_text("Southwind")


def test_a_member_chooses_their_emails(owner: Hands, world: World) -> None:
    owner.page.goto("/account/")

    owner.page.get_by_label("Every morning").uncheck()
    owner.press("Save the emails of Northwind Labs")

    shows(owner.page, "Emails about Northwind Labs: saved.")
    chosen = Membership.objects.get(user=world.owner)
    assert (chosen.digest, chosen.alerts) == (False, True)


def test_an_email_is_sent_again(owner: Hands, site: Site, world: World) -> None:
    about = world.offered
    seq = factories.events(about.job_id)[-1].seq
    Email.objects.create(id=uuid4(), application=about, seq=seq, kind="APPLIED", state="SENT")
    owner.page.goto(f"/company/applications/{about.id}/")
    axe(owner.page)

    owner.page.get_by_text("History and emails").click()
    owner.press("Send again: Application received")

    shows(owner.page, "The email is on its way again.")
    assert last_mail(site.mails, Applicant.objects.get(id=about.applicant_id).email)


def test_a_template_is_kept_used_renamed_and_deleted(owner: Hands, world: World) -> None:
    owner.page.goto(f"/company/jobs/{world.job}/settings/")
    owner.follow("Save as a template")
    owner.fill("Name", "Payments team")
    owner.press("Save as a template")
    shows(owner.page, "“Payments team” is saved")

    owner.follow("Payments team")
    owner.fill("Name", "Payments")
    owner.press("Save name")
    shows(owner.page, "Name saved.")
    owner.follow("Create a job from Payments")
    expect(owner.page.get_by_label("Title")).to_have_value("Backend engineer, payments")
    owner.press("Save as draft")
    shows(owner.page, "It is a draft")

    owner.page.goto("/company/job-templates/")
    owner.page.get_by_role("link", name="Payments", exact=True).click()
    owner.follow("Delete…")
    owner.press("Delete template")
    shows(owner.page, "“Payments” is deleted.")


def test_a_form_is_built_answered_and_asked_further(owner: Hands, world: World) -> None:
    owner.page.goto(f"/company/jobs/{world.draft}/form/")
    for label in ("Town", "Years"):
        owner.follow("Short text" if label == "Town" else "Number")
        owner.fill("Question", label)
        owner.press("Save the question")
    owner.press("Move up: Years")
    owner.follow("Years")
    owner.fill("Question", "Your age")
    owner.press("Save the question")
    owner.press("Remove: Town")
    shows(owner.page, "Published when the job opens")
    owner.page.goto(f"/company/jobs/{world.draft}/")
    owner.press("Open job")
    shows(owner.page, "The job is open")
    (asked,) = questions_of(world.draft, 1)
    assert (asked.key, asked.label) == ("years", "Your age")

    owner.page.goto(f"/company/applications/{world.reviewed.id}/question/")
    owner.fill("Question", "When can you start?")
    owner.press("Ask this question")
    shows(owner.page, "When can you start?")
    owner.press("Withdraw the question")
    shows(owner.page, "Withdrawn")


def test_answers_are_changed_and_a_question_is_answered(
    page: Page, site: Site, world: World
) -> None:
    sign_in_applicant(page.context, site.url, world.applicant)
    me = Hands(page, "mouse")
    me.page.goto(f"/me/applications/{world.my_place.id}/answers/")
    me.fill("Town", "Rostock")
    me.press("Save my answers")
    shows(me.page, "Rostock")

    me.page.goto(f"/me/applications/{world.questioned.id}/question/")
    me.fill("When can you start?", "In May")
    me.press("Send my answer")
    shows(me.page, "Your answer is sent.")
    assert FurtherQuestion.objects.get(application=world.questioned).answer == "In May"


def test_a_company_publishes_its_notice_and_a_person_takes_a_consent_back(
    owner: Hands, page: Page, site: Site, world: World
) -> None:
    owner.page.goto("/company/privacy/")
    owner.fill("Legal name", "Harbour GmbH")
    owner.press("Save")
    shows(owner.page, "Saved.")
    owner.fill("Privacy notice", "We keep what you send.")
    owner.fill("People agree to", "Tell me about later jobs.")
    owner.press("Publish")
    shows(owner.page, "Published.")
    usable_by_everybody(owner.page, "company-privacy-filled")
    newcomer = factories.applicant(email="new@example.org", name="Nele New")

    sign_in_applicant(page.context, site.url, newcomer)
    me = Hands(page, "mouse")
    page.goto(f"/jobs/{world.job}/?source=fair")
    shows(page, "Harbour GmbH erases it 730 days after the end.")
    usable_by_everybody(page, "opening-with-consents")
    page.get_by_label("Yes", exact=True).check()
    me.fill("Town", "Kiel")
    page.get_by_label("Tell me about later jobs.").check()
    page.get_by_role("button", name="Apply to").click()
    shows(page, "You have applied.")
    application = Application.objects.get(applicant=newcomer)
    assert application.came_from.source == "fair"
    page.goto(f"/me/applications/{application.id}/privacy/")
    me.press("Take back")
    shows(page, "You have taken this consent back.")
    usable_by_everybody(page, "my-privacy-filled")
