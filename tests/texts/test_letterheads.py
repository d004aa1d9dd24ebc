"""Whose name a company's emails have, and where answers go."""

from __future__ import annotations

import re
from email import message_from_bytes, policy
from typing import Any

import pytest
from django.core import mail

from applicants import mail as sending
from jobs.models import Company
from pipeline.models import Letterhead
from pipeline.texts import letterheads
from pipeline.texts.letterheads import StaleLetterhead, UnusableSender, from_header, sign
from tests.support import factories
from tests.support.task_runs import run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)
SITE = "no-reply@line.example"


@pytest.fixture(autouse=True)
def site(settings: Any) -> None:
    settings.DEFAULT_FROM_EMAIL = f"Next in Line <{SITE}>"


@pytest.fixture
def company() -> Company:
    return factories.company(name="Harbour Works")


def named(company: Company, **names: str) -> Company:
    given = {"sender_name": ""} | names
    by = factories.UserFactory.create().id
    seen = letterheads.read(company.id).version
    letterheads.save(company_id=company.id, seen=seen, by=by, **given)
    return Company.objects.select_related("letterhead").get(id=company.id)


def parsed_from(company: Company) -> tuple[str, str]:
    """The sender as a mail program reads it."""
    message = sending.compose(to="a@b.example", subject="x", text="x", email_id=company.id)
    sign(message, company)
    whole = message_from_bytes(message.message().as_bytes(), policy=policy.default)
    [address] = whole["From"].addresses
    return address.display_name, address.addr_spec


def test_a_company_signs_with_its_name_at_the_address_of_the_site(company: Company) -> None:
    assert parsed_from(company) == ("Harbour Works via Next in Line", SITE)
    assert parsed_from(named(company, sender_name="Werft Süd, „Crew“")) == (
        "Werft Süd, „Crew“ via Next in Line",
        SITE,
    )


def test_a_site_without_a_name_leaves_the_companys_alone(company: Company, settings: Any) -> None:
    settings.DEFAULT_FROM_EMAIL = SITE

    assert parsed_from(company) == ("Harbour Works", SITE)


@pytest.mark.parametrize(
    "name", ["boss@bank.example", "Log in: https://bank.example", "www.bank", "Bank.com"]
)
def test_no_name_looks_like_an_address(company: Company, name: str) -> None:
    with pytest.raises(UnusableSender):
        named(company, sender_name=name)

    company.name = name
    assert from_header(company) == f"Next in Line <{SITE}>"


def test_no_name_breaks_the_header(company: Company) -> None:
    company.name = 'Acme\r\nBcc: all <x>, "y'

    message = sending.compose(to="a@b.example", subject="x", text="x", email_id=company.id)
    sign(message, company)

    whole = message_from_bytes(message.message().as_bytes(), policy=policy.default)
    assert whole["Bcc"] is None
    assert [each.addr_spec for each in whole["From"].addresses] == [SITE]


def test_names_that_someone_else_has_changed_are_not_overwritten(company: Company) -> None:
    named(company, sender_name="The Harbour")
    by = factories.UserFactory.create().id

    with pytest.raises(StaleLetterhead):
        letterheads.save(company_id=company.id, sender_name="X", seen=0, by=by)

    assert Letterhead.objects.get().sender_name == "The Harbour"


def test_answers_go_to_an_address_only_after_a_code_sent_there(company: Company) -> None:
    by = factories.UserFactory.create().id
    address = "crew@harbour.example"
    letterheads.ask_for_proof(company=company, address=address, by=by, network="192.0.2.0/24")
    run_due_tasks()

    [email] = mail.outbox
    assert email.to == [address]
    assert "Harbour Works wants applicants’ answers" in str(email.body)
    assert "/company/emails/sender/" in str(email.body)
    code = re.search(r"\d{8}", str(email.body))
    assert code is not None
    assert not letterheads.read(company.id).reply_address
    stranger = factories.UserFactory.create().id
    of = {"company_id": company.id, "address": address}
    assert letterheads.prove(**of, code=code[0], by=stranger) is None
    assert letterheads.prove(**of, code="00000000", by=by) is False
    assert letterheads.prove(**of, code=code[0], by=by) is True
    message = sending.compose(to="a@b.example", subject="x", text="x", email_id=company.id)
    sign(message, Company.objects.get(id=company.id))
    assert message.reply_to == [address]


def test_an_email_that_has_a_reply_address_keeps_it(company: Company) -> None:
    by = factories.UserFactory.create().id
    letterheads.set_reply_address(company_id=company.id, address="crew@harbour.example", by=by)
    message = sending.compose(to="a@b.example", subject="x", text="x", email_id=company.id)
    message.reply_to = ["thread@line.example"]

    sign(message, Company.objects.get(id=company.id))

    assert message.reply_to == ["thread@line.example"]
