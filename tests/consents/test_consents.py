"""Notice and consents: versions that never change, agreed to as they were shown."""

from __future__ import annotations

import json
from threading import Thread
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import ProgrammingError, connection
from django.test import Client

from jobs.companies import name_controller
from jobs.models import Company
from pipeline.consents.agreements import agree
from pipeline.consents.versions import (
    CONSENT,
    NOTICE,
    Versions,
    Wanted,
    publish,
    shown_by,
)
from pipeline.domain.errors import ConsentMissing, ConsentsChanged
from pipeline.models import Agreement, Application, ConsentVersion
from pipeline.pages.consents import shown_value
from pipeline.privacy.erase import erase_person
from pipeline.selectors.jobs import read_job
from tests.support import factories
from tests.support.applicants import applicant_browser
from tests.support.callers import Caller, code_of, signed_in
from tests.support.outbox import code_to
from tests.support.pages import page_of, text_of
from tests.support.round_trips import statements_in, trace_of

pytestmark = pytest.mark.django_db(transaction=True)

READ = Wanted(NOTICE, "We keep what you send.", True)
CHECKS = Wanted(CONSENT, "You may call my referees.", True)
POOL = Wanted(CONSENT, "Tell me about later jobs.", False)


def shown(company: Company, *wanted: Wanted) -> Versions:
    """Have a company show these texts, and return the versions."""
    seen = [each.id for each in shown_by(fresh(company))]
    return publish(company_id=company.id, wanted=wanted, seen=seen, by=None)


def fresh(company: Company) -> Company:
    return Company.objects.get(id=company.id)


@pytest.fixture
def job(company: Company) -> UUID:
    return factories.job(company_id=company.id, capacity=9)


def sent(job: UUID, *ticked: ConsentVersion, **more: Any) -> dict[str, Any]:
    """The form of a job's page, with these boxes ticked."""
    boxes = {f"c_{each.id.hex}": "on" for each in ticked}
    return {"name": "Ann", "shown_consents": shown_value(read_job(job)), **boxes, **more}


def agreed(application: Application) -> dict[str, bool]:
    rows = Agreement.objects.filter(application=application).select_related("version")
    return {row.version.text: row.agreed for row in rows}


def test_a_text_that_stays_keeps_its_version_and_another_one_gets_the_next(
    company: Company,
) -> None:
    notice, consent = shown(company, READ, POOL)
    same = [READ._replace(item=notice.item), POOL._replace(item=consent.item, is_required=True)]

    kept, stricter = shown(company, *same)

    assert kept == notice
    assert (stricter.item, stricter.number, consent.number) == (consent.item, 2, 1)
    assert shown_by(fresh(company)) == (kept, stricter)
    assert shown(company) == ()
    assert ConsentVersion.objects.count() == 3


def test_a_version_is_never_changed_and_none_that_was_shown_is_deleted(
    company: Company, job: UUID
) -> None:
    [consent] = shown(company, POOL)
    factories.application(job, companions=agree([consent.id], [consent.id]))

    with pytest.raises(ProgrammingError, match="Cannot update"):
        ConsentVersion.objects.filter(id=consent.id).update(text="Something else")
    with pytest.raises(Exception, match="protected"):
        ConsentVersion.objects.filter(id=consent.id).delete()


def test_two_editors_do_not_overwrite_each_other(company: Company) -> None:
    publish(company_id=company.id, wanted=[READ], seen=[], by=None)

    with pytest.raises(ConsentsChanged):
        publish(company_id=company.id, wanted=[POOL], seen=[], by=None)


def test_what_is_shown_is_kept_with_the_answer_to_each(company: Company, job: UUID) -> None:
    notice, checks, pool = shown(company, READ, CHECKS, POOL)
    person = factories.applicant()

    applicant_browser(person).post(f"/jobs/{job}/apply/", sent(job, checks))

    made = Application.objects.get(applicant=person)
    assert agreed(made) == {notice.text: True, checks.text: True, pool.text: False}
    assert Agreement.objects.first().at == made.applied_at


def test_nobody_applies_without_what_is_required_and_nothing_is_lost(
    company: Company, job: UUID
) -> None:
    shown(company, CHECKS)

    answer = applicant_browser(factories.applicant()).post(
        f"/jobs/{job}/apply/", sent(job, source="fair")
    )

    text = answer.content.decode()
    assert answer.status_code == 422
    assert "Tick this box to apply." in text
    assert 'value="Ann"' in text
    assert 'name="source" value="fair"' in text
    assert not Application.objects.exists()


def test_who_was_shown_an_earlier_version_is_asked_again_with_nothing_lost(
    company: Company, job: UUID
) -> None:
    first, pool = shown(company, CHECKS, POOL)
    old = sent(job, first, pool)
    other = CHECKS._replace(text="Other words.", item=first.item)
    new, _same = shown(company, other, POOL._replace(item=pool.item))
    browser = applicant_browser(factories.applicant())

    refused = browser.post(f"/jobs/{job}/apply/", old)

    text = refused.content.decode()
    assert refused.status_code == 422
    assert "has changed its privacy notice" in text_of(refused)
    assert 'value="Ann"' in text
    assert f'name="c_{new.id.hex}"' in text
    assert not Application.objects.exists()
    browser.post(f"/jobs/{job}/apply/", sent(job, new, pool))
    assert agreed(Application.objects.get()) == {new.text: True, pool.text: True}


@pytest.mark.usefixtures("mail_at_once")
def test_a_stranger_agrees_before_the_code(company: Company, job: UUID, visitor: Client) -> None:
    [checks] = shown(company, CHECKS)
    form = sent(job, checks, email="ann@example.org", utm_source="board")

    visitor.post(f"/jobs/{job}/apply/", form)
    visitor.post("/code/", {"code": code_to("ann@example.org")})

    made = Application.objects.get()
    assert made.is_verified
    assert agreed(made) == {checks.text: True}
    assert made.came_from.source == "board"


def test_a_notice_published_while_people_apply_leaves_nobody_with_a_text_they_did_not_see(
    company: Company, job: UUID
) -> None:
    """Each application names what its page showed, whichever of the two comes first."""
    [before] = shown(company, CHECKS)
    people = [factories.applicant() for _ in range(6)]
    form, answers = sent(job, before), []

    def applying(person: Any) -> None:
        answers.append(applicant_browser(person).post(f"/jobs/{job}/apply/", form).status_code)
        connection.close()

    def publishing() -> None:
        shown(company, CHECKS._replace(text="New words.", item=before.item))
        connection.close()

    threads = [Thread(target=applying, args=(person,)) for person in people]
    threads.insert(3, Thread(target=publishing))
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)

    assert set(answers) <= {302, 422}
    assert len(answers) == 6
    assert set(Agreement.objects.values_list("version_id", flat=True)) <= {before.id}
    assert Agreement.objects.count() == answers.count(302) == Application.objects.count()


def test_agreeing_costs_no_further_statement(company: Company, job: UUID) -> None:
    versions = shown(company, READ, CHECKS, POOL)
    ids = [each.id for each in versions]

    def count(companions: list[Any]) -> int:
        people = [factories.applicant() for _ in range(3)]
        for person in people[:2]:
            factories.application(job, person, companions=companions)
        wire = connection.connection.pgconn
        apply_third = lambda: factories.application(job, people[2], companions=companions)  # noqa: E731
        return len(statements_in(trace_of(apply_third, wire)))

    connection.ensure_connection()
    assert count([]) == count(agree(ids, ids))


def test_a_program_sends_the_ids_of_versions(acme: Caller, company: Company, job: UUID) -> None:
    name = {"legal_name": "Acme GmbH", "contact": "d@acme.example"}
    name_controller(company_id=company.id, **name, by=None)
    notice, checks, pool = shown(company, READ, CHECKS, POOL)
    path = f"/jobs/{job}/applications"
    bo, ed = signed_in(factories.applicant()), signed_in(factories.applicant())

    told = bo.get(f"/jobs/{job}/privacy").json()
    missing = bo.post(path, {"consents": [str(notice.id)]})
    unknown = bo.post(path, {"consents": [str(uuid4())]})
    made = bo.post(path, {"consents": [str(notice.id), str(checks.id)]})

    assert told["controller"] == {"name": name["legal_name"], "contact": name["contact"]}
    assert [(each["id"], each["required"]) for each in told["consents"]] == [
        (str(notice.id), True),
        (str(checks.id), True),
        (str(pool.id), False),
    ]
    assert (told["keep_days"], told["legal_hold"]) == (730, False)
    assert code_of(missing) == (422, "CONSENT_MISSING")
    assert [each["pointer"] for each in missing.json()["errors"]] == [f"/consents/{checks.id}"]
    assert code_of(unknown) == (409, "CONSENTS_CHANGED")
    assert made.status_code == 201
    row = Application.objects.get(id=made.json()["id"])
    assert agreed(row) == {notice.text: True, checks.text: True, pool.text: False}
    assert ed.post(path, {"consents": ["x"]}).status_code == 400


def test_a_company_that_submits_a_person_need_not_ask_them_here(
    acme: Caller, company: Company, job: UUID
) -> None:
    notice, checks = shown(company, READ, CHECKS)
    path = f"/jobs/{job}/applications"

    first = acme.post(path, {"name": "A", "email": "a@example.org"})
    told = {"name": "B", "email": "b@example.org", "consents": [str(checks.id)]}
    second = acme.post(path, told)

    assert (first.status_code, second.status_code) == (201, 201)
    assert [row.version for row in Agreement.objects.all()] == [checks]
    assert notice.is_required


def test_somebody_elses_version_is_none(company: Company, job: UUID) -> None:
    [theirs] = shown(factories.company(), CHECKS)

    with pytest.raises(ConsentsChanged):
        agree(fresh(company).shown_consents, [theirs.id])


def test_a_missing_required_consent_names_it(company: Company) -> None:
    notice, checks = shown(company, READ, CHECKS)

    with pytest.raises(ConsentMissing) as refused:
        agree([notice.id, checks.id], [notice.id])

    assert refused.value.facts["missing"] == [checks.id]


def test_a_person_reads_what_they_agreed_to_and_takes_it_back(company: Company, job: UUID) -> None:
    checks, pool = shown(company, CHECKS, POOL)
    person = factories.applicant()
    browser = applicant_browser(person)
    made = factories.application(
        job, person, companions=agree([checks.id, pool.id], [checks.id, pool.id])
    )
    here = f"/me/applications/{made.id}/privacy/"

    page = page_of(browser, here)
    optional = Agreement.objects.get(version=pool)
    required = Agreement.objects.get(version=checks)
    for each in (optional, required):
        browser.post(f"{here}{each.id}/take-back/")

    assert checks.text in page
    assert page.count("take-back/") == 1
    optional.refresh_from_db()
    required.refresh_from_db()
    assert optional.withdrawn_at is not None
    assert required.withdrawn_at is None
    assert "You took this back" in page_of(browser, here)
    stranger = applicant_browser(factories.applicant())
    assert stranger.get(here).status_code == 404


def test_it_is_in_the_persons_data_and_erased_with_it(company: Company, job: UUID) -> None:
    name_controller(company_id=company.id, legal_name="Acme GmbH", contact="", by=None)
    [pool] = shown(company, POOL)
    person = factories.applicant()
    factories.application(job, person, companions=agree([pool.id], []))

    kept = json.loads(applicant_browser(person).get("/me/data/download/").content)
    erase_person(applicant_id=person.id)

    [mine] = kept["applications"]
    assert mine["responsible"] == {"name": "Acme GmbH", "contact": ""}
    assert (mine["agreements"][0]["text"], mine["agreements"][0]["agreed"]) == (pool.text, False)
    assert not Agreement.objects.exists()
    assert ConsentVersion.objects.get() == pool
