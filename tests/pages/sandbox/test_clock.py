"""Pages of test mode: the sandbox is made, marked everywhere, and its clock is moved."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from uuid_utils.compat import uuid7

from jobs.models import ApiKey, Company, Membership, Role
from jobs.sandboxes import find_sandbox
from pipeline.models import ClockAdvance
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.pages import follow, page_of, text_of
from tests.support.sandboxes import DAY, HOUR, sandbox

BANNER = "Nothing here is live"


def entered(company: Company, role: Role = Role.OWNER) -> Client:
    """A browser of a member who is in test mode."""
    browser = browser_of(member_of(company, role))
    browser.post("/company/switch/", {"company": str(sandbox(company).id)})
    return browser


def form(**fields: Any) -> dict[str, Any]:
    return {"advance_id": str(uuid7()), "step": str(HOUR)} | fields


def test_an_owner_creates_the_sandbox_and_is_in_test_mode(owner: Client, company: Company) -> None:
    about = page_of(owner, "/company/test/")
    assert "Create the sandbox" in about
    assert BANNER not in about

    page = follow(owner, "/company/test/create/", {"company_id": str(company.id)})

    found = find_sandbox(company.id)
    assert found
    assert found.name == "Acme (test)"
    assert BANNER in page
    assert "Your sandbox is ready" in page
    assert not Membership.objects.filter(company=found).exists()
    assert Company.objects.filter(sandbox_of=company).count() == 1


def test_only_an_owner_creates_it(recruiter: Client, company: Company) -> None:
    assert "An owner can create it" in page_of(recruiter, "/company/test/")

    assert recruiter.post("/company/test/create/").status_code == 403

    assert find_sandbox(company.id) is None


def test_every_page_of_the_sandbox_says_so_and_leads_back(company: Company) -> None:
    browser = entered(company)
    job_id = factories.job(company_id=sandbox(company).id)

    pages = ["/company/", "/company/people/", "/company/keys/", f"/company/jobs/{job_id}/"]
    pages += [f"/company/jobs/{job_id}/timeline/", f"/jobs/{job_id}/", "/company/test/emails/"]
    for path in pages:
        assert BANNER in page_of(browser, path), path
    page = follow(browser, "/company/switch/", {"company": str(company.id)})
    assert BANNER not in page


def test_live_pages_list_nothing_of_the_sandbox(owner: Client, company: Company) -> None:
    factories.job(company_id=sandbox(company).id)

    assert "Engineer" not in page_of(owner, "/company/")
    assert "Engineer" not in page_of(Client(), "/")


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ({"step": str(HOUR)}, HOUR),
        ({"step": str(7 * DAY)}, 7 * DAY),
        ({"step": "other", "hours": "30"}, 30 * HOUR),
    ],
)
def test_the_clock_moves_by_the_chosen_step(
    fields: dict[str, str], seconds: int, company: Company
) -> None:
    browser, sent = entered(company, Role.RECRUITER), form(**fields)

    page = follow(browser, "/company/test/clock/", sent)
    again = follow(browser, "/company/test/clock/", sent)

    assert "The clock was moved forward by" in page
    assert "ahead of the live clock" in again
    assert list(ClockAdvance.objects.values_list("seconds", flat=True)) == [seconds]


def test_a_form_sent_again_tells_the_step_that_was_made(company: Company) -> None:
    browser, sent = entered(company), form(step=str(HOUR))
    follow(browser, "/company/test/clock/", sent)

    again = follow(browser, "/company/test/clock/", sent | {"step": str(7 * DAY)})

    assert "The clock was moved forward by 1 hour." in again
    assert "by 7 days" not in again


def test_an_id_that_another_sandbox_used_moves_this_clock(company: Company) -> None:
    sent, other = form(), factories.company(name="Other")
    follow(entered(other), "/company/test/clock/", sent)

    follow(entered(company), "/company/test/clock/", sent)

    moved = ClockAdvance.objects.values_list("company_id", flat=True)
    assert set(moved) == {sandbox(other).id, sandbox(company).id}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"step": "other"}, "Enter a number of hours from 1 to 9,600."),
        ({"step": "other", "hours": "9601"}, "Enter 9600 or less."),
        ({"step": "60"}, "Choose one of the options."),
        ({"advance_id": "x"}, "UUID"),
    ],
)
def test_a_wrong_step_is_explained(fields: dict[str, str], said: str, company: Company) -> None:
    browser = entered(company)

    answer = browser.post("/company/test/clock/", form(**fields))

    assert answer.status_code == 422
    assert said in text_of(answer)
    assert not ClockAdvance.objects.exists()


def test_a_clock_at_its_end_says_so(company: Company) -> None:
    browser = entered(company)
    Company.objects.filter(sandbox_of=company).update(clock_offset_seconds=3_660 * DAY)

    answer = browser.post("/company/test/clock/", form())

    assert answer.status_code == 409
    assert "at most 3,660 days ahead" in text_of(answer)


def test_a_viewer_sees_the_clock_and_cannot_move_it(company: Company) -> None:
    browser = entered(company, Role.VIEWER)

    assert "Recruiters and owners can move it" in page_of(browser, "/company/test/")
    assert browser.post("/company/test/clock/", form()).status_code == 403


def test_a_live_company_has_no_clock_to_move(owner: Client, company: Company) -> None:
    sandbox(company)

    answer = owner.post("/company/test/clock/", form())

    assert answer.status_code == 404
    assert not ClockAdvance.objects.exists()


def test_a_page_of_the_sandbox_tells_times_by_its_clock(company: Company) -> None:
    browser, company_of_test = entered(company), sandbox(company)
    job_id = factories.job(company_id=company_of_test.id)
    factories.application(job_id, actor=factories.RECRUITER)
    follow(browser, "/company/test/clock/", form(step=str(DAY)))

    page = page_of(browser, f"/company/jobs/{job_id}/")

    assert "in review for 1 day" in page.replace("</time>", "").replace(">1 day", "1 day") or (
        "1 day" in page
    )
    assert "data-lasting" not in page


def test_keys_made_in_test_mode_are_test_keys(company: Company) -> None:
    browser = entered(company)
    browser.session["account_authentication_methods"] = []
    fields = {"key_id": str(uuid7()), "name": "CI", "scopes": ["read"], "tasks": []}

    answer = browser.post("/company/keys/", fields)

    if answer.status_code == 201:
        assert "nilk_test_" in answer.content.decode()
        assert ApiKey.objects.get().company_id == sandbox(company).id


def test_the_team_is_that_of_the_live_company(company: Company) -> None:
    browser = entered(company)

    page = follow(browser, "/company/team/", {"email": "new@example.org", "role": "OWNER"})

    assert "A sandbox has the same team as its company" in page
    assert Membership.objects.count() == 1
    assert ">Team<" not in page
