"""Facts of a posting on the pages: entered, refused in words, copied, and shown."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Job, JobPosting
from pipeline.models import JobTemplate
from pipeline.pages.company.forms import PostingForm
from tests.pages.company.test_settings import NEW
from tests.support.pages import follow, page_of, text_of, values_of_form

pytestmark = pytest.mark.django_db(transaction=True)

FACTS = {
    "employment_type": "PART_TIME",
    "workplace": "REMOTE",
    "country": "Netherlands",
    "department": "Galley",
    "language": "English",
    "pay_minimum": "15.50",
    "pay_maximum": "20",
    "pay_currency": "eur",
    "pay_period": "HOUR",
}
KEPT = FACTS | {
    "country": "NL",
    "language": "en",
    "pay_minimum": Decimal("15.50"),
    "pay_maximum": Decimal(20),
    "pay_currency": "EUR",
}


def facts_of(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in FACTS}


def test_facts_are_entered_shown_and_copied(recruiter: Client) -> None:
    follow(recruiter, "/company/jobs/new/", NEW | FACTS)

    posting = JobPosting.objects.get(title=NEW["title"])
    assert facts_of(posting) == KEPT
    page = text_of(Client().get(f"/jobs/{posting.job_id}/"))
    for words in ("Part-time", "Remote, Netherlands", "EUR 15.50 to 20 per hour", "Galley"):
        assert words in page
    copied = values_of_form(recruiter, f"/company/jobs/new/?like={posting.job_id}")
    assert copied["country"] == "Netherlands"
    follow(recruiter, f"/company/jobs/{posting.job_id}/keep-template/", {"name": "Cook"})
    template = JobTemplate.objects.get()
    assert facts_of(template) == KEPT
    assert "EUR 15.50 to 20 per hour" in page_of(
        recruiter, f"/company/job-templates/{template.id}/"
    )
    follow(recruiter, f"/company/jobs/new/?template={template.id}", copied | {"title": "Second"})
    assert facts_of(JobPosting.objects.get(title="Second")) == KEPT


def test_saving_without_a_change_keeps_every_fact(owner: Client, job: UUID) -> None:
    JobPosting.objects.filter(job_id=job).update(**KEPT)
    here = f"/company/jobs/{job}/settings/"
    row = Job.objects.select_related("posting").get(id=job)
    seen = {"seen_posting": row.posting.version, "seen_policy": row.policy_version}

    shown = follow(owner, here, values_of_form(owner, here) | seen)

    assert "There were no changes to save." in shown
    assert facts_of(JobPosting.objects.get(job_id=job)) == KEPT


@pytest.mark.parametrize(
    ("given", "code"),
    [("NL", "NL"), ("nl", "NL"), (" netherlands ", "NL"), ("Holland", "NL"), ("UK", "GB"),
     ("USA", "US"), ("Cote d'Ivoire", "CI"), ("", "")],
)  # fmt: skip
def test_a_country_is_entered_by_name_or_code(given: str, code: str) -> None:
    form = PostingForm({"title": "Cook", "country": given})

    assert form.is_valid(), form.errors
    assert form.posting().country == code


@pytest.mark.parametrize(
    ("entered", "amount"),
    [
        ("44,000", "44000"),
        ("44.000", "44000"),
        ("44 000", "44000"),
        ("44’000.5", "44000.5"),
        ("1.234,56", "1234.56"),
        ("15,50", "15.50"),
        ("3500", "3500"),
    ],
)
def test_pay_is_entered_as_people_write_it(entered: str, amount: str) -> None:
    form = PostingForm({"title": "Cook"} | FACTS | {"pay_minimum": entered, "pay_maximum": ""})

    assert form.is_valid(), form.errors
    assert form.posting().pay_minimum == Decimal(amount)


@pytest.mark.parametrize(
    ("given", "code"), [("Deutsch", "de"), ("german", "de"), ("PT-BR", "pt-br")]
)
def test_a_language_is_entered_in_itself_or_in_english(given: str, code: str) -> None:
    form = PostingForm({"title": "Cook", "language": given})

    assert form.is_valid(), form.errors
    assert form.posting().language == code


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"country": "Atlantis"}, "Enter a country"),
        ({"language": "Elvish"}, "Enter a language"),
        ({"pay_currency": "Taler"}, "Enter a currency"),
        ({"pay_currency": ""}, "Enter a currency"),
        ({"pay_period": ""}, "Choose a period"),
        ({"pay_minimum": "", "pay_maximum": ""}, "Enter an amount, or leave"),
        ({"pay_minimum": "21"}, "not below the lowest"),
        ({"pay_minimum": "0"}, "above 0"),
        ({"pay_minimum": "much"}, "Enter an amount, like 3500"),
        ({"pay_minimum": "1.2345"}, "at most two decimals"),
        ({"pay_minimum": "0.500"}, "at most two decimals"),
        ({"pay_minimum": "1,234.567"}, "Enter an amount, like 3500"),
        ({"pay_minimum": "1,234,56"}, "Enter an amount, like 3500"),
        ({"pay_maximum": "9999999999"}, "Enter a smaller amount"),
        ({"employment_type": "SOMETIMES"}, "Choose one of the options"),
    ],
)
def test_what_cannot_be_is_refused_in_words(
    recruiter: Client, change: dict[str, str], words: str
) -> None:
    answer = recruiter.post("/company/jobs/new/", NEW | FACTS | change)

    assert answer.status_code == 422
    assert words in text_of(answer)
    assert '<details class="fold-part" id="facts" open>' in answer.content.decode()
    assert not JobPosting.objects.exists()
