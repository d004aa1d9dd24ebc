"""Talent pool: agreed to freely, and ended by time, by the person or with the data."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError
from django.test import Client
from django.utils import timezone

from jobs.models import Activity, Company, Role
from pipeline.consents import pool
from pipeline.consents.agreements import agree, leave_pool, months_after
from pipeline.consents.versions import CONSENT, Wanted, pool_of, publish, shown_by
from pipeline.domain.errors import ConsentsChanged
from pipeline.models import Agreement, Application, ConsentVersion, Event
from pipeline.pages.consents import shown_value
from pipeline.privacy.erase import erase_person
from pipeline.selectors.jobs import read_job
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.applicants import applicant_browser
from tests.support.callers import Caller, signed_in
from tests.support.invariants import assert_line_is_sound
from tests.support.pages import follow, page_of, text_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def asking(company: Company) -> Company:
    """The company, which asks people whether they want to be in its pool for a year."""
    pool.set_months(company_id=company.id, months=12, by=None)
    return Company.objects.get(id=company.id)


@pytest.fixture
def job(asking: Company) -> UUID:
    return factories.job(company_id=asking.id, capacity=9)


def pooled(job: UUID, name: str = "Ana Li", person: Any = None, **more: Any) -> Application:
    """Apply, and agree to be in the pool."""
    ids = [each.id for each in shown_by(read_job(job).company)]
    person = person or factories.applicant(name=name)
    return factories.application(job, person, companions=agree(ids, ids), **more)


def names(company: Company, **chosen: Any) -> list[str]:
    return [each.application.name for each in pool.read_members(company, **chosen)]


def form_of(job: UUID, **more: Any) -> dict[str, Any]:
    return {"name": "Ana Li", "shown_consents": shown_value(read_job(job)), **more}


def box_of(company: Company) -> str:
    version = pool_of(company)
    assert version is not None
    return f"c_{version.id.hex}"


def test_the_box_is_not_ticked_and_nobody_has_to(asking: Company, job: UUID) -> None:
    browser = applicant_browser(factories.applicant())

    page = page_of(browser, f"/jobs/{job}/")
    browser.post(f"/jobs/{job}/apply/", form_of(job))

    box = page[page.index(f'name="{box_of(asking)}"') :].partition(">")[0]
    assert "checked" not in box
    assert "required" not in box
    assert "about its other jobs. That ends after 12 months" in page
    assert Application.objects.count() == 1
    assert names(asking) == []


def test_whoever_ticks_it_is_in_the_pool_until_a_time(asking: Company, job: UUID) -> None:
    browser = applicant_browser(factories.applicant())

    browser.post(f"/jobs/{job}/apply/", form_of(job, **{box_of(asking): "on"}))

    [row] = pool.read_members(asking)
    assert row.application.name == "Ana Li"
    assert row.ends_at == months_after(row.at, 12)
    assert not pool.read_members(factories.company()).exists()


def test_who_was_shown_other_months_is_asked_again(asking: Company, job: UUID) -> None:
    old = form_of(job, **{box_of(asking): "on"})
    pool.set_months(company_id=asking.id, months=24, by=None)

    answer = applicant_browser(factories.applicant()).post(f"/jobs/{job}/apply/", old)

    assert answer.status_code == 422
    assert "ends after 24 months" in text_of(answer)
    assert not Application.objects.exists()


def test_a_program_agrees_with_the_id_of_the_version(asking: Company, job: UUID) -> None:
    ana = signed_in(factories.applicant())

    [told] = ana.get(f"/jobs/{job}/privacy").json()["consents"]
    ana.post(f"/jobs/{job}/applications", {"consents": [told["id"]]})

    assert (told["kind"], told["required"]) == ("POOL", False)
    assert "12 months" in told["text"]
    assert pool.read_members(asking).count() == 1


def test_an_address_that_nobody_proved_is_in_no_pool(asking: Company, job: UUID) -> None:
    pooled(job, verified=False)

    assert names(asking) == []


def test_a_person_agrees_later_and_stops_at_once(asking: Company, job: UUID) -> None:
    person = factories.applicant(name="Ana Li")
    made = factories.application(job, person)
    browser, here = applicant_browser(person), f"/me/applications/{made.id}/privacy/"
    version = pool_of(asking)
    assert version is not None
    assert "Hear about other jobs" in page_of(browser, f"/me/applications/{made.id}/")
    assert "Yes, tell me about other jobs" in page_of(browser, here)

    page = follow(browser, f"{here}other-jobs/", {"version": str(version.id)})

    assert "You have agreed." in page
    assert names(asking) == ["Ana Li"]
    [row] = Agreement.objects.all()
    follow(browser, f"{here}{row.id}/take-back/", {})
    assert names(asking) == []
    stranger = applicant_browser(factories.applicant())
    assert stranger.post(f"{here}other-jobs/", {"version": str(version.id)}).status_code == 404


@pytest.mark.parametrize("version", ["", "x", "00000000-0000-0000-0000-000000000000"])
def test_nobody_agrees_to_what_they_did_not_see(asking: Company, job: UUID, version: str) -> None:
    person = factories.applicant()
    made = factories.application(job, person)
    here = f"/me/applications/{made.id}/privacy/other-jobs/"

    page = follow(applicant_browser(person), here, {"version": version})

    assert "The company asks otherwise now." in page
    assert not Agreement.objects.exists()


def test_one_press_leaves_with_every_application_at_that_company_alone(
    asking: Company, job: UUID
) -> None:
    person, other = factories.applicant(name="Ana Li"), factories.company()
    pool.set_months(company_id=other.id, months=1, by=None)
    first = pooled(job, person=person)
    pooled(factories.job(company_id=asking.id), person=person)
    pooled(factories.job(company_id=other.id), person=person)

    assert names(asking) == ["Ana Li"]
    assert leave_pool(first.id)
    assert not leave_pool(first.id)

    assert names(asking) == []
    assert names(Company.objects.get(id=other.id)) == ["Ana Li"]


def test_it_ends_by_itself(asking: Company, job: UUID) -> None:
    pooled(job)
    assert names(asking) == ["Ana Li"]

    Agreement.objects.update(ends_at=timezone.now() - timedelta(seconds=1))

    assert names(asking) == []


@pytest.mark.parametrize(
    ("at", "months", "ends"),
    [
        ((2026, 1, 31), 1, (2026, 2, 28)),
        ((2026, 11, 30), 3, (2027, 2, 28)),
        ((2026, 11, 28), 24, (2028, 11, 28)),
        ((2028, 2, 29), 12, (2029, 2, 28)),
        ((2026, 12, 1), 1, (2027, 1, 1)),
    ],
)
def test_months_end_on_the_same_day_or_the_last(at: Any, months: int, ends: Any) -> None:
    begin, end = (datetime(*each, 9, 5, tzinfo=UTC) for each in (at, ends))

    assert months_after(begin, months) == end


def test_without_it_people_are_not_asked_and_who_agreed_stays(asking: Company, job: UUID) -> None:
    pooled(job)

    pool.set_months(company_id=asking.id, months=None, by=None)

    assert pool_of(Company.objects.get(id=asking.id)) is None
    assert names(asking) == ["Ana Li"]
    page = page_of(applicant_browser(factories.applicant()), f"/jobs/{job}/")
    assert "about its other jobs" not in page


def test_months_are_at_most_two_years_and_agreeing_is_free(asking: Company) -> None:
    wanted = {"company": asking, "item": asking.id, "number": 1, "kind": "POOL", "text": ""}
    for wrong in ({"months": 25}, {"months": None}, {"months": 1, "is_required": True}):
        with pytest.raises(IntegrityError):
            ConsentVersion.objects.create(**({"is_required": False} | wanted | wrong))


def test_publishing_texts_keeps_the_pool_and_the_other_way_round(
    asking: Company, company: Company
) -> None:
    owner = member_of(company, Role.OWNER)
    browser, seen = browser_of(owner), " ".join(each.id.hex for each in shown_by(asking))

    browser.post("/company/privacy/", {"section": "texts", "seen": seen, "consent_0": "Call me."})
    browser.post("/company/privacy/", {"section": "pool", "months": "6"})

    shown = shown_by(Company.objects.get(id=company.id))
    assert [(each.kind, each.text, each.months) for each in shown] == [
        ("CONSENT", "Call me.", None),
        ("POOL", "", 6),
    ]
    assert [each.number for each in shown] == [1, 2]
    assert browser.post("/company/privacy/", {"section": "pool", "months": "25"}).status_code == 422
    viewer = browser_of(member_of(company, Role.RECRUITER))
    assert viewer.post("/company/privacy/", {"section": "pool", "months": "1"}).status_code == 403
    acts = Activity.objects.filter(kind="consents.published", actor_id=owner.id)
    assert acts.count() == 2


def test_two_owners_do_not_overwrite_each_other(
    asking: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = shown_by(asking)
    publish(
        company_id=asking.id,
        wanted=[Wanted(CONSENT, "Call me.", is_required=False)],
        seen=[each.id for each in earlier],
        by=None,
    )
    monkeypatch.setattr(pool, "shown_by", lambda _company: earlier)

    with pytest.raises(ConsentsChanged):
        pool.set_months(company_id=asking.id, months=1, by=None)


def test_the_team_reads_who_is_in_it_since_when_and_for_which_job(
    asking: Company, job: UUID
) -> None:
    other = factories.job(company_id=asking.id)
    pooled(job)
    pooled(other, "Bo Berg")
    pooled(factories.job(company_id=asking.id), "Cy Okafor", verified=False)
    viewer: Client = browser_of(member_of(asking, Role.VIEWER))

    everyone = text_of(viewer.get("/company/talent-pool/"))
    of_job = text_of(viewer.get(f"/company/talent-pool/?job={other}"))
    found = text_of(viewer.get("/company/talent-pool/?q=ana"))
    by_address = viewer.get("/company/talent-pool/?q=nobody@example.org")

    assert "2 people" in everyone
    assert "Cy Okafor" not in everyone
    assert ("Bo Berg" in of_job, "Ana Li" in of_job) == (True, False)
    assert "agreed" in of_job
    assert ("Ana Li" in found, "Bo Berg" in found) == (True, False)
    assert "Nobody found" in text_of(by_address)
    stranger = browser_of(member_of(factories.company()))
    assert "Ana Li" not in text_of(stranger.get("/company/talent-pool/"))
    assert stranger.get(f"/company/talent-pool/?job={other}").context["chosen"].job is None


def test_the_list_is_read_page_by_page(asking: Company, job: UUID, monkeypatch: Any) -> None:
    monkeypatch.setattr("pipeline.pages.correspondence.talent_pool.MEMBERS_SHOWN", 1)
    pooled(job)
    pooled(job, "Bo Berg")
    viewer = browser_of(member_of(asking, Role.VIEWER))

    first = viewer.get("/company/talent-pool/")
    second = viewer.get(first.context["next_url"])

    assert "Bo Berg" in text_of(first)
    assert "Ana Li" in text_of(second)
    assert "next_url" not in second.context


def test_it_is_in_the_persons_data_and_goes_with_it(asking: Company, job: UUID) -> None:
    made = pooled(job)

    kept = json.loads(applicant_browser(made.applicant).get("/me/data/download/").content)
    erase_person(applicant_id=made.applicant_id)

    [agreed] = kept["applications"][0]["agreements"]
    assert (agreed["kind"], agreed["agreed"]) == ("POOL", True)
    assert "12 months" in agreed["text"]
    assert agreed["ends_at"] is not None
    assert names(asking) == []
    assert not Agreement.objects.exists()


def test_it_changes_nothing_of_the_line(asking: Company, acme: Caller) -> None:
    job = factories.job(company_id=asking.id, capacity=1)
    made = [pooled(job, f"P {number}") for number in range(3)]
    events = Event.objects.filter(job_id=job).count()
    order = [each["id"] for each in acme.get(f"/jobs/{job}/queue").json()["data"]]

    leave_pool(made[1].id)
    version = pool_of(asking)
    assert version is not None
    pool.join(application_id=made[1].id, company=asking, version_id=version.id)

    assert Event.objects.filter(job_id=job).count() == events
    assert [each["id"] for each in acme.get(f"/jobs/{job}/queue").json()["data"]] == order
    assert_line_is_sound(job)
