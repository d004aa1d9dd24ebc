"""The form on pages: built by the company, answered by people, read beside the application."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from jobs.models import Company, Job, JobStatus, Role
from pipeline.attachments.kinds import NAMES as FILE_KINDS
from pipeline.form.questions import Kind
from pipeline.form.versions import publish, questions_of, read_draft
from pipeline.maintenance import name_index
from pipeline.models import Application, Attachment, FormRefusals, FurtherQuestion, GivenAnswers
from pipeline.notifications.applicants import Cause, send_email
from pipeline.selectors.jobs import read_job
from pipeline.services.job_templates import keep_template
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.applicants import applicant_browser
from tests.support.clock import database_now, let_time_pass
from tests.support.documents import PDF, TXT
from tests.support.documents import attachment_folder as attachment_folder
from tests.support.forms import (
    FIVE,
    FIVE_ANSWERS,
    LICENCE,
    asked,
    filled,
    job_with,
    must_have_licence,
    question,
    waiting_with_answers,
)
from tests.support.invariants import assert_line_is_sound
from tests.support.outbox import code_to
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)

TYPED = {
    "q_town": "Kiel",
    "q_years": "4",
    "q_shift": "Early",
    "q_days": ["Mon", "Wed"],
    "q_why": "I like boats.\r\nAnd the sea.",
}
ANN = {"name": "Ann", "email": "ann@example.org"}


@pytest.fixture(autouse=True)
def folder(attachment_folder: Path) -> Path:
    return attachment_folder


def member(company: Company, role: Role = Role.RECRUITER) -> Client:
    return browser_of(member_of(company, role))


def text(page: Any) -> str:
    content: str = page.content.decode()
    return content


def _pdf(name: str) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, PDF)


def act(browser: Client, job_id: Any, what: str, **more: Any) -> Any:
    revision = read_draft(read_job(job_id)).revision
    sent = {"act": what, "revision": revision} | more
    return browser.post(f"/company/jobs/{job_id}/form/", sent, follow=True)


def save(browser: Client, job_id: Any, where: str, **given: Any) -> Any:
    revision = read_draft(read_job(job_id)).revision
    address = f"/company/jobs/{job_id}/form/{where}/"
    return browser.post(address, {"revision": revision} | given, follow=True)


def test_a_recruiter_builds_and_publishes_a_form(company: Company) -> None:
    job_id, browser = factories.job(company_id=company.id), member(company)

    save(browser, job_id, "new/SHORT_TEXT", label="Town", in_summary="on")
    choices = {"choices": "Early\nLate", "other": "on"}
    save(browser, job_id, "new/CHOICE", label="Which shift?", **choices)
    must = {"must": "on", "must_minimum": "18", "refusal": "You must be 18."}
    save(browser, job_id, "new/NUMBER", label="Age", unit="years", minimum="0", **must)
    act(browser, job_id, "up", key="age")
    save(browser, job_id, "questions/town", label="Home town", in_summary="on")
    page = act(browser, job_id, "publish")

    assert "Version 1 is published" in text_of(page)
    questions = questions_of(job_id, 1)
    assert [(each.key, each.label) for each in questions] == [
        ("town", "Home town"),
        ("age", "Age"),
        ("which_shift", "Which shift?"),
    ]
    assert questions[1].must is not None
    assert (questions[1].must.minimum, questions[1].required) == (18, True)
    assert questions[2].other


def test_questions_are_dragged_removed_and_shown_before_they_are_published(
    company: Company,
) -> None:
    job_id, browser = job_with(FIVE, company_id=company.id), member(company)

    act(browser, job_id, "arrange", order="why days town")
    act(browser, job_id, "remove", key="shift")
    preview = text_of(browser.get(f"/company/jobs/{job_id}/form/preview/"))

    draft = read_draft(read_job(job_id))
    assert [each.key for each in draft.questions] == ["why", "days", "town", "years"]
    assert questions_of(job_id, 1) == FIVE
    assert "not published yet" in preview
    assert preview.index("Why this job?") < preview.index("Town")


def test_of_two_people_who_edit_at_once_the_second_is_told(company: Company) -> None:
    job_id, browser = job_with(FIVE, company_id=company.id), member(company)
    stale = {"act": "remove", "key": "town", "revision": "0"}
    act(browser, job_id, "up", key="why")

    page = browser.post(f"/company/jobs/{job_id}/form/", stale, follow=True)

    assert "Someone else changed these questions" in text_of(page)
    assert len(read_draft(read_job(job_id)).questions) == 5


def test_a_wrong_question_shows_why_beside_its_fields(company: Company) -> None:
    job_id, browser = factories.job(company_id=company.id), member(company)

    page = save(browser, job_id, "new/CHOICE", label="Shift", choices="Early")
    other = save(browser, job_id, "new/DATE", label="Start", minimum="soon", must="on")

    assert page.status_code == other.status_code == 422
    assert "Enter 2 to 50 options" in text_of(page)
    assert "Enter a date, like 2026-01-31." in text_of(other)
    assert not read_draft(read_job(job_id)).questions


@pytest.mark.parametrize("kind", [Kind.CHOICE, Kind.CHOICES])
def test_a_question_with_options_needs_them(company: Company, kind: Kind) -> None:
    job_id = factories.job(company_id=company.id)
    where = f"/company/jobs/{job_id}/form/new/{kind.value}/"

    page = text_of(member(company).get(where))
    refused = save(member(company), job_id, f"new/{kind.value}", label="Which?", choices="")

    assert "Options One on each line, 2 to 50." in page
    assert refused.status_code == 422


def test_a_viewer_reads_the_form_and_changes_nothing(company: Company) -> None:
    job_id = job_with(FIVE, company_id=company.id)
    browser = member(company, Role.VIEWER)

    seen = browser.get(f"/company/jobs/{job_id}/form/")

    assert "Town" in text_of(seen)
    assert act(browser, job_id, "remove", key="town").status_code == 403
    assert save(browser, job_id, "new/DATE", label="Start").status_code == 403
    stranger = member(factories.company())
    assert stranger.get(f"/company/jobs/{job_id}/form/").status_code == 404


def test_a_form_is_copied_from_a_job_or_template_of_the_company_alone(company: Company) -> None:
    source = job_with([must_have_licence(), *FIVE], company_id=company.id)
    foreign = job_with(FIVE)
    template = keep_template(job=read_job(source), name="Yard")
    job_id, browser = factories.job(company_id=company.id), member(company)

    act(browser, job_id, "copy", **{"from": f"job:{source}"})
    act(browser, job_id, "copy", **{"from": f"template:{template.id}"})
    refused = act(browser, job_id, "copy", **{"from": f"job:{foreign}"})

    keys = [each.key for each in read_draft(read_job(job_id)).questions]
    assert keys[:2] == ["licence", "town"]
    assert keys[6:8] == ["licence_2", "town_2"]
    assert len(keys) == 12
    assert refused.status_code == 404
    copies = browser.get(f"/company/jobs/new/?template={template.id}").context["form"].initial
    assert copies["title"] == "Engineer"


def test_a_job_made_from_a_template_has_its_form(company: Company) -> None:
    source = job_with(FIVE, company_id=company.id)
    template = keep_template(job=read_job(source), name="Yard")
    browser = member(company)
    address = f"/company/jobs/new/?template={template.id}"
    form = browser.get(address).context["form"]
    typed = {name: form[name].value() for name in form.fields}
    typed = {name: value for name, value in typed.items() if value not in (None, False, "")}

    browser.post(address, typed | {"title": "Copy", "start": JobStatus.OPEN})

    job = read_job(factories.Job.objects.get(posting__title="Copy").id)
    assert job.form_version == 1
    assert questions_of(job.id, 1) == FIVE


@pytest.mark.usefixtures("mail_at_once")
def test_a_stranger_applies_with_answers_and_proves_the_address(visitor: Client) -> None:
    job_id = job_with(FIVE)

    box = visitor.post(f"/jobs/{job_id}/apply/", ANN | TYPED | {"form_version": 1}, follow=True)
    visitor.post("/code/", {"code": code_to(ANN["email"])}, follow=True)

    assert "Check your email" in text_of(box)
    row = GivenAnswers.objects.get()
    assert row.answers == FIVE_ANSWERS
    assert row.application.is_verified


def test_errors_stand_beside_the_fields_and_nothing_typed_is_lost(visitor: Client) -> None:
    job_id = job_with([*FIVE, question(Kind.LINK, "folio", label="Portfolio", required=True)])
    typed = ANN | TYPED | {"q_years": "99", "q_shift": "\u2026", "q_shift_other": "Noon"}

    page = visitor.post(f"/jobs/{job_id}/apply/", typed | {"form_version": 1})

    assert page.status_code == 422
    errors = page.context["form"].errors
    assert errors == {"q_years": ["Enter 60 years or less."], "q_folio": ["Answer this question."]}
    content = page.content.decode()
    for kept in ('value="Kiel"', 'value="99"', 'value="Noon"', "And the sea."):
        assert kept in content
    assert content.count("checked") == 3  # Mon, Wed and the answer of one's own
    assert not Application.objects.exists()


def test_a_condition_refuses_before_the_line_with_the_jobs_sentence(visitor: Client) -> None:
    job_id = job_with([must_have_licence()])
    no = ANN | {"q_licence": "false", "form_version": 1}

    page = visitor.post(f"/jobs/{job_id}/apply/", no)
    facts = text_of(visitor.get(f"/jobs/{job_id}/facts/"))

    assert page.status_code == 422
    assert LICENCE in text_of(page)
    assert not Application.objects.exists()
    assert FormRefusals.objects.get().refused == 1
    assert "Have you a forklift licence? Yes" in facts
    assert "Refused:" in facts


def test_a_form_that_changed_meanwhile_keeps_what_was_typed(visitor: Client) -> None:
    job_id = job_with(FIVE)
    again = [*FIVE, question(Kind.DATE, "start", label="Start")]
    publish(job_id=job_id, questions=again, actor=factories.RECRUITER)

    page = visitor.post(f"/jobs/{job_id}/apply/", ANN | TYPED | {"form_version": 1})

    assert page.status_code == 422
    assert "The company has changed its questions" in text_of(page)
    assert 'name="form_version" value="2"' in page.content.decode()
    assert 'value="Kiel"' in page.content.decode()
    assert not Application.objects.exists()


def test_a_file_answers_a_question_and_comes_with_the_application() -> None:
    needed = question(Kind.FILE, "cv", label="CV", required=True)
    job_id, person = job_with([needed]), factories.applicant()
    browser = applicant_browser(person)
    sent: dict[str, Any] = {"name": "Ann", "form_version": 1}

    refused = browser.post(f"/jobs/{job_id}/apply/", sent)
    cv = SimpleUploadedFile("cv.pdf", PDF)
    browser.post(f"/jobs/{job_id}/apply/", sent | {"q_cv": cv})

    assert refused.context["form"].errors == {"q_cv": ["Choose a file."]}
    application = Application.objects.get()
    file = Attachment.objects.get(application=application)
    assert GivenAnswers.objects.get().answers == {"cv": [str(file.id)]}
    assert file.question_id is not None


@pytest.mark.parametrize("kind", [Kind.YES_NO, Kind.CHOICE, Kind.CHOICES])
def test_the_words_beside_a_choice_belong_to_its_box(visitor: Client, kind: Kind) -> None:
    job_id = job_with([question(kind, "choice")])

    content = visitor.get(f"/jobs/{job_id}/").content.decode()

    ids = re.findall(r'<input type="(?:radio|checkbox)" name="q_choice"[^>]* id="([^"]+)"', content)
    assert len(ids) == len(set(ids)) == (2 if kind is Kind.YES_NO else 3)
    assert re.findall(r'<label class="choice" for="([^"]*)"', content) == ids


def test_a_file_of_a_refused_form_can_be_left_out_or_replaced(visitor: Client) -> None:
    files = question(Kind.FILE, "papers", label="Papers", file_count=2)
    needed = question(Kind.FILE, "cv", label="CV", required=True)
    job_id = job_with([needed, files, must_have_licence()])
    address, no = f"/jobs/{job_id}/apply/", ANN | {"q_licence": "false", "form_version": 1}

    page = visitor.post(address, no | {"q_cv": _pdf("old.pdf"), "q_papers": _pdf("other.pdf")})
    box = r'<input type="checkbox" name="q_(\w+)_id" value="([^"]+)" checked>'
    kept = re.findall(box, text(page))
    again = {"q_cv_id": dict(kept)["cv"], "q_cv": _pdf("new.pdf"), "q_licence": "true"}
    visitor.post(address, no | again)

    assert [key for key, _id in kept] == ["cv", "papers"]
    assert [file.name for file in Attachment.objects.exclude(application=None)] == ["new.pdf"]


def test_a_file_of_a_kind_that_the_question_does_not_take_is_refused(visitor: Client) -> None:
    needed = question(Kind.FILE, "cv", label="CV", required=True, file_kinds=["PDF", "JPEG"])
    address, sent = f"/jobs/{(job_id := job_with([needed]))}/apply/", ANN | {"form_version": 1}

    shown = text(visitor.get(f"/jobs/{job_id}/"))
    refused = visitor.post(address, sent | {"q_cv": SimpleUploadedFile("cv.pdf", TXT)})
    visitor.post(address, sent | {"q_cv": _pdf("cv.pdf")})

    assert 'accept=".pdf,.jpg,.jpeg,image/jpeg"' in shown
    assert "1 file, up to 10 MB: PDF, JPEG." in shown
    assert "“CV” takes files of these kinds: PDF, JPEG. Choose another file." in text_of(refused)
    assert GivenAnswers.objects.count() == Attachment.objects.exclude(application=None).count() == 1


def test_one_file_is_chosen_alone_and_several_together(visitor: Client) -> None:
    files = question(Kind.FILE, "papers", label="Papers", file_count=2)
    job_id = job_with([question(Kind.FILE, "cv", label="CV"), files])

    content = text(visitor.get(f"/jobs/{job_id}/"))

    inputs = re.findall(r'<input type="file" name="(\w+)"([^>]*)>', content)
    assert {name: " multiple" in rest for name, rest in inputs} == {"q_cv": False, "q_papers": True}
    assert "erases it 730 days after the end." in content


def test_a_person_who_waits_sees_and_changes_the_answers() -> None:
    person = waiting_with_answers()
    browser = applicant_browser(person.applicant)
    mine = f"/me/applications/{person.id}/"

    seen = text_of(browser.get(mine))
    form = browser.get(f"{mine}answers/")
    browser.post(f"{mine}answers/", TYPED | {"q_town": "Rostock", "form_version": 1})

    assert "Your answers" in seen
    assert "Kiel" in seen
    assert 'value="Kiel"' in form.content.decode()
    assert "Rostock" in text_of(browser.get(mine))
    assert GivenAnswers.objects.filter(application=person).count() == 2
    stranger = applicant_browser(factories.applicant())
    assert stranger.get(f"{mine}answers/").status_code == 404


def test_the_company_reads_every_version_and_asks_one_more_question(company: Company) -> None:
    job_id = job_with(FIVE, company_id=company.id)
    seated = factories.application(job_id, filled=filled(job_id))
    browser = member(company)
    page = f"/company/applications/{seated.id}/"

    assert "I like boats." in text_of(browser.get(page))
    asking = {"label": "When can you start?", "kind": "LONG_TEXT", "days": "3"}
    browser.post(f"{page}question/", asking)
    told = text_of(browser.get(page))
    person = applicant_browser(seated.applicant)
    asked_page = text_of(person.get(f"/me/applications/{seated.id}/"))
    person.post(f"/me/applications/{seated.id}/question/", {"q_further": "In May"})

    assert "To be answered by" in told
    assert "The company asks you one more question" in asked_page
    assert "In May" in text_of(browser.get(page))
    theirs = text_of(person.get(f"/me/applications/{seated.id}/"))
    assert "When can you start?" in theirs
    assert "In May" in theirs
    assert FurtherQuestion.objects.get().answer_seq is not None


def test_the_board_shows_the_marked_answers_and_no_others(company: Company) -> None:
    job_id = job_with(FIVE, company_id=company.id)
    factories.application(job_id, filled=filled(job_id))

    board = text_of(member(company).get(f"/company/jobs/{job_id}/"))

    assert "Town: Kiel" in board
    assert "I like boats." not in board


def test_a_further_question_is_emailed_without_the_answer(company: Company) -> None:
    seated = factories.application(factories.job(company_id=company.id))
    question_row = asked(seated)

    assert send_email(Cause(seated.id, question_row.seq)) == "SENT"
    letter = mail.outbox[-1]
    assert "asks you one more question" in letter.subject
    assert "When can you start?" in letter.body


def test_the_editor_of_a_file_question_lists_the_kinds_and_keeps_them(company: Company) -> None:
    browser, job_id = member(company), factories.job(company_id=company.id)
    shown = text(browser.get(f"/company/jobs/{job_id}/form/new/FILE/"))

    save(browser, job_id, "new/FILE", label="CV", file_count="1", file_kinds=["PDF", "ODT"])
    [made] = read_draft(read_job(job_id)).questions
    edited = text(browser.get(f"/company/jobs/{job_id}/form/questions/{made.key}/"))

    assert all(f'value="{kind}"' in shown for kind in FILE_KINDS)
    assert made.file_kinds == ("PDF", "ODT")
    assert len(re.findall(r'name="file_kinds" value="(?:PDF|ODT)"[^>]* checked', edited)) == 2


def test_fields_of_a_condition_are_not_called_optional(company: Company) -> None:
    browser, job_id = member(company), factories.job(company_id=company.id)

    page = text_of(browser.get(f"/company/jobs/{job_id}/form/new/YES_NO/"))

    assert "Help below the question (optional)" in page
    assert page.count("(optional)") == 1


def test_the_summary_of_errors_says_the_reason_and_a_question_gets_no_colon() -> None:
    job_id = job_with([question(Kind.LONG_TEXT, "why", label="Why this job?", required=True)])
    browser = Client()

    one = text(browser.post(f"/jobs/{job_id}/apply/", ANN))
    two = text(browser.post(f"/jobs/{job_id}/apply/", {"email": ANN["email"]}))

    assert '<a href="#id_q_why">Why this job? Answer this question.</a></li>' in one
    assert two.count("Answer this question.") == 2
    assert '<a href="#id_q_why">Why this job? Answer' in two
    assert '<a href="#id_name">Your name: Enter the name' in two


def test_opening_a_draft_publishes_its_questions(company: Company) -> None:
    job_id = factories.job(company_id=company.id, open_now=False)
    browser = member(company)
    save(browser, job_id, "new/SHORT_TEXT", label="Town")
    save(browser, job_id, "new/FILE", label="CV", required="on", file_count="1")

    board = text_of(browser.get(f"/company/jobs/{job_id}/"))
    browser.post(f"/company/jobs/{job_id}/open/", follow=True)

    job = read_job(job_id)
    assert "Its 2 questions are published with it." in board
    assert [each.key for each in questions_of(job_id, job.form_version)] == ["town", "cv"]
    assert not read_draft(job).is_changed
    assert 'name="q_cv"' in text(Client().get(f"/jobs/{job_id}/"))
    assert_line_is_sound(job_id)


def test_a_draft_that_opens_at_its_date_publishes_what_was_edited_last(company: Company) -> None:
    opens = database_now() + timedelta(seconds=600)
    fields: dict[str, Any] = {"open_now": False, "hiring": {"opens_at": opens}}
    job_id = job_with(FIVE, company_id=company.id, **fields)
    emptied = job_with(FIVE, company_id=company.id, **fields)
    act(member(company), job_id, "remove", key="shift")
    for each in FIVE:
        act(member(company), emptied, "remove", key=each.key)

    for each in (job_id, emptied):
        let_time_pass(each, 601)
    factories.settle_all()

    job = read_job(job_id)
    assert (job.status, job.form_version) == ("OPEN", 2)
    assert [each.key for each in questions_of(job_id, 2)] == ["town", "years", "days", "why"]
    assert read_job(emptied).form_version == 0


def test_an_open_job_says_on_its_pages_that_changes_are_not_published(company: Company) -> None:
    job_id, browser = job_with(FIVE, company_id=company.id), member(company)
    address, says = f"/company/jobs/{job_id}/", "2 changes to the questions are not published."
    before = text_of(browser.get(address))

    save(browser, job_id, "questions/town", label="Home town")
    act(browser, job_id, "remove", key="shift")

    assert "not published" not in before
    for page in (address, f"{address}form/"):
        shown = text_of(browser.get(page))
        assert says in shown
        assert "Applicants still see version 1." in shown
    assert "2 changes are not published" in text_of(browser.get(f"{address}settings/"))
    assert questions_of(job_id, read_job(job_id).form_version) == FIVE


def test_a_new_job_begins_as_a_draft_that_leads_to_its_questions(company: Company) -> None:
    browser = member(company, Role.OWNER)
    usual = browser.get("/company/jobs/new/").context["form"].initial
    given = {name: value for name, value in usual.items() if value is not None}

    page = browser.post("/company/jobs/new/", {**given, "title": "Cook"}, follow=True)

    assert "It is a draft" in text_of(page)
    assert "Next: ask what you need to know, then open the job." in text_of(page)
    (job,) = Job.objects.filter(company=company)
    assert f'href="/company/jobs/{job.id}/form/"' in text(page)
    assert "Save as draft" in text_of(browser.get("/company/jobs/new/"))


def test_find_lists_names_before_people_who_only_answered_so(company: Company) -> None:
    job_id = job_with(FIVE, company_id=company.id)
    for name, town in (("Noor Meyer", "Sylt"), ("Noor Santos", "Kiel")):
        answers = filled(job_id, **FIVE_ANSWERS | {"town": town})
        factories.application(job_id, factories.applicant(name=name), filled=answers)

    name_index.update()

    found = text_of(member(company).get("/company/go/?fragment=1&q=noor s"))

    assert found.index("Noor Santos") < found.index("Noor Meyer")
    assert "Noor Santos Waiting, Engineer" in found
