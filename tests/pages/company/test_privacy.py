"""The page of a company's part in the law, and what people read of it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Company, Retention
from jobs.retention import Period, period_of
from pipeline.consents.versions import shown_by
from pipeline.models import ConsentVersion
from pipeline.privacy.retention import _read_due, set_period
from pipeline.selectors.jobs import read_job
from pipeline.services.leaving import withdraw
from tests.support import factories
from tests.support.applicants import applicant_browser
from tests.support.clock import let_time_pass
from tests.support.pages import page_of, text_of

pytestmark = pytest.mark.django_db(transaction=True)

HERE = "/company/privacy/"
DAY = 86_400


def fresh(company: Company) -> Company:
    return Company.objects.get(id=company.id)


def texts(company: Company, **given: Any) -> dict[str, Any]:
    seen = " ".join(each.id.hex for each in shown_by(fresh(company)))
    return {"section": "texts", "seen": seen, "notice": ""} | given


def test_an_owner_says_who_is_responsible_and_how_long_data_is_kept(
    owner: Client, company: Company
) -> None:
    job = factories.job(company_id=company.id)
    named = {"legal_name": "Acme GmbH", "privacy_contact": "d@acme.example"}
    given = {"section": "controller"} | named

    owner.post(HERE, given | {"keep_days": "90"}, follow=True)

    page = text_of(Client().get(f"/jobs/{job}/"))
    assert "Acme GmbH erases it 90 days after the end." in page
    assert "d@acme.example" in page
    refused = owner.post(HERE, given | {"keep_days": "5"})
    assert (refused.status_code, fresh(company).keep_days) == (422, 90)


def test_an_owner_publishes_a_notice_and_consents_one_after_the_other(
    owner: Client, company: Company
) -> None:
    job = factories.job(company_id=company.id)
    owner.post(HERE, texts(company, notice="We keep it.", consent_0="Call my referees."))
    again = texts(company, notice="We keep it.", consent_0="Call my referees.", consent_1="Pool.")
    owner.post(HERE, again | {"consent_0_required": "on"})

    notice, required, optional = shown_by(fresh(company))
    assert [each.number for each in (notice, required, optional)] == [1, 2, 1]
    assert (required.is_required, optional.is_required) == (True, False)
    page = page_of(Client(), f"/jobs/{job}/")
    assert "Privacy notice of" in page
    assert f'name="c_{required.id.hex}"' in page
    owner.post(HERE, texts(company))
    assert shown_by(fresh(company)) == ()
    assert "Earlier versions" in page_of(owner, HERE)


def test_who_edits_texts_that_have_changed_meanwhile_overwrites_nothing(
    owner: Client, company: Company
) -> None:
    stale = texts(company, notice="Mine.")
    owner.post(HERE, texts(company, notice="Theirs."))

    first = owner.post(HERE, stale)
    again = owner.post(HERE, stale)

    for refused in (first, again):
        assert refused.status_code == 422
        assert "Someone else has published" in text_of(refused)
        assert "Mine." in refused.content.decode()
    assert [each.text for each in shown_by(fresh(company))] == ["Theirs."]


@pytest.mark.parametrize("section", ["controller", "texts", "equality"])
def test_only_owners_change_it_and_all_members_read_it(
    section: str, viewer: Client, company: Company
) -> None:
    refused = viewer.post(HERE, texts(company, notice="X") | {"section": section})

    assert refused.status_code == 403
    assert not ConsentVersion.objects.exists()
    assert "Only an owner can change it." in page_of(viewer, HERE)


def test_a_jobs_own_period_goes_before_the_companys(company: Company) -> None:
    job, other = factories.job(company_id=company.id), factories.job(company_id=company.id)
    Company.objects.filter(id=company.id).update(keep_days=60)
    set_period(job_id=other, keep_days=400, legal_hold=True)

    assert period_of(read_job(job)) == Period(60, legal_hold=False)
    assert period_of(read_job(other)) == Period(400, legal_hold=True)
    assert period_of(read_job(factories.job())).days == Retention.USUAL_DAYS


def test_what_people_read_is_what_happens(company: Company) -> None:
    Company.objects.filter(id=company.id).update(keep_days=60)
    job, own = factories.job(company_id=company.id), factories.job(company_id=company.id)
    set_period(job_id=own, keep_days=400, legal_hold=False)
    ended = [factories.application(each) for each in (job, own, factories.job())]
    for each in ended:
        withdraw(application_id=each.id, actor=factories.owner_of(each))
        let_time_pass(each.job_id, 59 * DAY)
    assert _read_due() == []

    for each in ended:
        let_time_pass(each.job_id, 2 * DAY)

    assert [row.application_id for row in _read_due()] == [ended[0].id]


def test_a_longer_period_of_the_company_keeps_data_longer(company: Company) -> None:
    Company.objects.filter(id=company.id).update(keep_days=1_000)
    made = factories.application(job := factories.job(company_id=company.id))
    withdraw(application_id=made.id, actor=factories.owner_of(made))
    let_time_pass(job, 900 * DAY)

    assert _read_due() == []


def test_a_person_reads_until_when_their_data_is_kept(company: Company) -> None:
    job, person = factories.job(company_id=company.id), factories.applicant()
    made, browser = factories.application(job, person), applicant_browser(person)
    here = f"/me/applications/{made.id}/"

    running, detail = text_of(browser.get(here)), text_of(browser.get(f"{here}privacy/"))
    withdraw(application_id=made.id, actor=factories.owner_of(made))
    ended = page_of(browser, f"{here}privacy/")
    set_period(job_id=job, keep_days=730, legal_hold=True)

    assert "erased 730 days after your application has ended" in running
    assert "730 days after your application has ended" in detail
    assert "<time" in ended
    assert "legal reason" in page_of(browser, f"{here}privacy/")


def test_a_job_of_another_company_shows_none_of_it(owner: Client, company: Company) -> None:
    owner.post(HERE, texts(company, notice="We keep it."))
    other: UUID = factories.job()

    assert "We keep it." not in page_of(Client(), f"/jobs/{other}/")
