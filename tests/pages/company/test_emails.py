"""Settings, Emails: a company's own words, tried before they are saved, and its sender."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest
from django.core import mail
from django.test import Client

from jobs.models import Company, User
from pipeline.domain.states import Outcome
from pipeline.models import CompanyText, DecisionText, Letterhead
from pipeline.texts.kinds import KINDS
from pipeline.texts.words import save_text
from tests.support.applicants import applicant_browser, decide, mine, named
from tests.support.pages import follow, page_of, text_of
from tests.support.task_runs import run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)

HERE, SENDER = "/company/emails/", "/company/emails/sender/"
OFFER = "/company/emails/offer/"


def write(company: Company, kind: str, **parts: str) -> None:
    save_text(company_id=company.id, kind=KINDS[kind], parts=parts, seen=0, by=None)


def sent(*, do: str = "save", version: int = 0, **parts: str) -> dict[str, Any]:
    return {"do": do, "version": version, "subject": "", "opening": "", "closing": "", **parts}


def test_a_recruiter_writes_a_text_and_goes_back_to_ours(recruiter: Client, job: UUID) -> None:
    assert "Your words" not in page_of(recruiter, HERE)

    page = follow(recruiter, OFFER, sent(opening="Moin {name}!\nIt is {deadline}."))

    assert "Saved. Emails have these words from now on." in page
    person = named(job, "Ana Li").name.split()[0]
    assert "Your words" in page_of(recruiter, HERE)
    page = page_of(recruiter, OFFER)
    assert re.search(r"Moin \w+ \w+!", page)
    assert person
    assert "Back to our words" in page
    page = follow(recruiter, OFFER, {"do": "reset"})
    assert "These are our words." in page
    assert [row.parts for row in CompanyText.objects.order_by("version")] == [
        {"opening": "Moin {name}!\nIt is {deadline}."},
        {},
    ]


def test_a_preview_has_the_names_of_an_application_and_links_that_lead_nowhere(
    recruiter: Client, job: UUID, company: Company
) -> None:
    answer = recruiter.post(OFFER, sent(do="preview", opening="For {name} as {job}: {company}"))

    assert answer.status_code == 200
    names = "|".join(("Ana Li", "Bo Berg", "Cy Okafor", "Dee Rao", "Eli Sato"))
    assert re.search(f"For ({names}) as Engineer: {company.name}", text_of(answer))
    assert "Preview, not saved" in text_of(answer)
    assert "/confirm/" not in answer.content.decode()
    assert not CompanyText.objects.exists()


def test_a_company_without_applications_sees_made_up_names(
    recruiter: Client, company: Company
) -> None:
    answer = recruiter.post(OFFER, sent(do="preview", opening="For {name} at {company}"))

    assert f"For Ana Li at {company.name}" in text_of(answer)


def test_a_preview_as_html_is_escaped_and_loads_nothing(recruiter: Client, job: UUID) -> None:
    answer = recruiter.post(f"{OFFER}html/", sent(opening="<script>alert(1)</script>"))

    assert "&lt;script&gt;" in answer.content.decode()
    assert "default-src 'none'" in answer["Content-Security-Policy"]


def test_a_test_goes_to_the_member_alone_as_it_was_typed(
    recruiter: Client, company: Company, job: UUID, settings: Any
) -> None:
    settings.DEFAULT_FROM_EMAIL = "Next in Line <no-reply@line.example>"

    page = text_of(recruiter.post(OFFER, sent(do="test", subject="For {job}", closing="Bye.")))
    run_due_tasks("email.private")

    address = User.objects.get(memberships__company=company, memberships__role="RECRUITER").email
    assert f"A test is on its way to {address}." in page
    [email] = [each for each in mail.outbox if each.subject.startswith("Test: ")]
    assert (email.to, email.subject) == ([address], "Test: For Engineer")
    assert email.from_email == f"{company.name} via Next in Line <no-reply@line.example>"
    assert "Bye." in str(email.body)
    assert email.alternatives
    assert not CompanyText.objects.exists()


def test_too_many_tests_are_refused(recruiter: Client, monkeypatch: Any) -> None:
    from pipeline.pages.company import emails
    from pipeline.web.rate_limit import Rate

    monkeypatch.setattr(emails, "TESTS", Rate(1, 3_600))

    pages = [text_of(recruiter.post(OFFER, sent(do="test"))) for _ in range(2)]

    assert ["Too many tests." in page for page in pages] == [False, True]


def test_an_unknown_field_is_refused_with_its_place_and_what_was_typed_stays(
    recruiter: Client,
) -> None:
    answer = recruiter.post(OFFER, sent(opening="Hello\n{nme}", closing="Bye"))

    assert answer.status_code == 422
    page = text_of(answer)
    assert "Line 2, character 1: {nme} is not a field here. Use {name}." in page
    assert "Hello {nme}" in page
    assert not CompanyText.objects.exists()


def test_a_line_break_in_a_subject_is_refused(recruiter: Client) -> None:
    answer = recruiter.post(OFFER, sent(subject="Hi\r\nBcc: all@example.org"))

    assert answer.status_code == 422
    assert not CompanyText.objects.exists()


def test_the_second_of_two_editors_sees_both_texts_and_saves_on_purpose(
    owner: Client, recruiter: Client
) -> None:
    follow(owner, OFFER, sent(opening="The owner’s words"))

    answer = recruiter.post(OFFER, sent(opening="The recruiter’s words"))

    assert answer.status_code == 409
    page = text_of(answer)
    assert "Someone else changed this while you were editing." in page
    assert "The owner’s words" in page
    assert "The recruiter’s words" in page
    version = re.search(r'name="version" value="(\d+)"', answer.content.decode())
    assert version is not None
    follow(recruiter, OFFER, sent(version=int(version[1]), opening="The recruiter’s words"))
    assert CompanyText.objects.latest("version").parts == {"opening": "The recruiter’s words"}


def test_a_viewer_reads_but_does_not_write(viewer: Client) -> None:
    for path in (HERE, SENDER, OFFER):
        page_of(viewer, path)

    assert viewer.post(OFFER, sent(opening="x")).status_code == 403
    assert viewer.post(SENDER, {"do": "save", "sender_name": "x"}).status_code == 403


def test_only_an_owner_changes_the_sender(owner: Client, recruiter: Client) -> None:
    assert recruiter.post(SENDER, {"do": "save", "sender_name": "Boss"}).status_code == 403

    page = follow(owner, SENDER, {"do": "save", "version": 0, "sender_name": "The Harbour"})

    assert "Saved. Emails have these names from now on." in page
    assert "The Harbour via Next in Line" in page_of(owner, HERE)
    stale = owner.post(SENDER, {"do": "save", "version": 0, "sender_name": "Another"})
    assert stale.status_code == 409
    assert "The Harbour" in text_of(stale)
    assert 'value="Another"' in stale.content.decode()
    wrong = owner.post(SENDER, {"do": "save", "version": 1, "sender_name": "a@b.example"})
    assert (wrong.status_code, Letterhead.objects.get().sender_name) == (422, "The Harbour")


def test_a_reply_address_is_proved_before_it_is_used(owner: Client) -> None:
    address = "crew@harbour.example"
    asked = text_of(owner.post(SENDER, {"do": "ask", "address": address}))
    run_due_tasks("email.private")

    assert f"We’ve emailed a code to {address}" in asked
    code = re.search(r"\d{8}", str(mail.outbox[-1].body))
    assert code is not None
    wrong = owner.post(SENDER, {"do": "prove", "address": address, "code": "00000000"})
    assert (wrong.status_code, Letterhead.objects.count()) == (422, 0)
    other = {"do": "prove", "address": "boss@bank.example", "code": code[0]}
    assert owner.post(SENDER, other).status_code == 422
    page = follow(owner, SENDER, {"do": "prove", "address": address, "code": code[0]})
    assert f"Answers to your emails go to {address} now." in page
    follow(owner, SENDER, {"do": "forget"})
    assert Letterhead.objects.get().reply_address == ""


def test_a_text_that_does_not_exist_is_not_found(owner: Client) -> None:
    assert owner.get("/company/emails/nothing/").status_code == 404


# Sentences with a decision.


def test_the_sentence_for_a_reason_is_put_into_the_form_and_changed_before_it_goes(
    recruiter: Client, company: Company, job: UUID
) -> None:
    write(company, "WITH_NOT_A_MATCH", sentence="We looked for a rigger, {name}.")
    ana = named(job, "Ana Li")
    path = f"/company/applications/{ana.id}/decide/"
    assert "Insert your sentence for this reason" in page_of(recruiter, path)

    filled = recruiter.post(
        path, {"fill": "1", "reason": "NOT_A_MATCH", "note": "Kept", "text": ""}
    )

    assert filled.status_code == 200
    assert "We looked for a rigger, {name}.</textarea>" in filled.content.decode()
    assert "Kept</textarea>" in filled.content.decode()
    text = "We looked for a rigger, {name}. Ask us in May."
    given = {"outcome": "REJECTED", "reason": "NOT_A_MATCH", "text": text}
    follow(recruiter, path, given)
    assert DecisionText.objects.get().text == "We looked for a rigger, Ana Li. Ask us in May."
    assert "Ask us in May." in page_of(recruiter, f"/company/applications/{ana.id}/")
    page = page_of(applicant_browser(ana.applicant), mine(ana))
    assert f"{company.name} wrote to you:" in page
    assert "We looked for a rigger, Ana Li. Ask us in May." in page


def test_the_next_person_begins_with_the_sentence_of_the_reason(
    recruiter: Client, company: Company, job: UUID
) -> None:
    write(company, "WITH_OTHER", sentence="Sorry.")
    path = f"/company/applications/{named(job, 'Ana Li').id}/decide/?reason=OTHER"

    assert "Sorry.</textarea>" in page_of(recruiter, path)


def test_nobody_who_is_hired_reads_a_sentence(recruiter: Client, job: UUID) -> None:
    path = f"/company/applications/{named(job, 'Ana Li').id}/decide/"

    follow(recruiter, path, {"outcome": "HIRED", "reason": "OTHER", "text": "Sorry."})

    assert named(job, "Ana Li").outcome == "HIRED"
    assert not DecisionText.objects.exists()


def test_a_sentence_with_an_unknown_field_is_refused_and_stays(
    recruiter: Client, job: UUID
) -> None:
    path = f"/company/applications/{named(job, 'Ana Li').id}/decide/"

    answer = recruiter.post(path, {"outcome": "REJECTED", "text": "Dear {nme}"})

    assert answer.status_code == 422
    assert "{nme} is not a field here. Use {name}." in text_of(answer)
    assert "Dear {nme}</textarea>" in answer.content.decode()


def test_several_people_read_it_each_with_their_name(
    recruiter: Client, company: Company, job: UUID
) -> None:
    write(company, "WITH_OTHER", sentence="Sorry, {name}.")
    people = [named(job, name) for name in ("Dee Rao", "Eli Sato")]
    path, who = f"/company/jobs/{job}/decide/", ",".join(str(each.id) for each in people)

    filled = recruiter.post(path, {"who": who, "fill": "1", "reason": "OTHER"})
    follow(recruiter, path, {"who": who, "outcome": "REJECTED", "text": "Sorry, {name}."})

    assert "Sorry, {name}.</textarea>" in filled.content.decode()
    texts = DecisionText.objects.order_by("text").values_list("text", flat=True)
    assert list(texts) == ["Sorry, Dee Rao.", "Sorry, Eli Sato."]


def test_what_a_company_wrote_is_text_and_never_html(company: Company, job: UUID) -> None:
    ana = named(job, "Ana Li")
    decide(ana, Outcome.REJECTED, text="<b>No</b> https://x.example")

    page = page_of(applicant_browser(ana.applicant), mine(ana))

    assert "&lt;b&gt;No&lt;/b&gt; https://x.example" in page
    assert 'href="https://x.example' not in page
