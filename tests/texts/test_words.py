"""A company's texts: versions, two editors, and a way back to our words."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils.translation import override

from jobs.models import Company
from pipeline.models import CompanyText, Letterhead
from pipeline.texts.fields import UnusableText
from pipeline.texts.kinds import EVERY, KINDS, OFFER, sentence_kind
from pipeline.texts.words import (
    MOST_VERSIONS,
    OwnWords,
    StaleText,
    read_parts,
    read_sentences,
    read_versions,
    save_text,
)
from tests.support import factories
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def company() -> Company:
    return factories.company()


def save(company: Company, kind: str = OFFER, *, seen: int = 0, **parts: str) -> None:
    save_text(company_id=company.id, kind=KINDS[kind], parts=parts, seen=seen, by=None)


def fresh(company: Company) -> Company:
    return Company.objects.select_related("letterhead").get(id=company.id)


def test_a_text_adds_to_the_words_in_every_email(company: Company) -> None:
    save(company, EVERY, greeting="Moin {name},", signature="The crew")
    save(company, opening="It is time.")
    save(factories.company(), opening="Another company’s")

    assert read_parts(fresh(company), OFFER) == {
        "greeting": "Moin {name},",
        "signature": "The crew",
        "opening": "It is time.",
    }
    assert read_parts(fresh(company), "APPLIED").keys() == {"greeting", "signature"}


def test_a_company_without_own_words_costs_no_query(
    company: Company, django_assert_num_queries: Any
) -> None:
    bare, other = fresh(company), factories.company()
    save(other, opening="Hi")
    own = fresh(other)

    with django_assert_num_queries(0):
        assert read_parts(bare, OFFER) == {}
        assert read_sentences(bare) == {}
    with django_assert_num_queries(1):
        assert read_parts(own, OFFER) == {"opening": "Hi"}


def test_each_change_is_a_version_and_ours_is_one_too(company: Company) -> None:
    save(company, opening="One")
    save(company, seen=1, opening="Two")
    save(company, seen=2)

    versions = read_versions(company.id, OFFER)
    assert [(row.version, row.parts) for row in versions] == [
        (3, {}),
        (2, {"opening": "Two"}),
        (1, {"opening": "One"}),
    ]
    assert read_parts(fresh(company), OFFER) == {}
    assert not Letterhead.objects.get(company=company).has_texts


def test_saving_the_same_words_changes_nothing(company: Company) -> None:
    save(company, opening="One")
    save(company, seen=0, opening="One")
    save(factories.company())

    assert CompanyText.objects.count() == 1


def test_the_oldest_versions_go(company: Company) -> None:
    for number in range(MOST_VERSIONS + 2):
        save(company, seen=number, opening=f"Number {number}")

    assert CompanyText.objects.count() == MOST_VERSIONS
    assert read_versions(company.id, OFFER)[0].version == MOST_VERSIONS + 2


def test_a_text_that_someone_else_has_changed_is_not_overwritten(company: Company) -> None:
    save(company, opening="Mine")

    with pytest.raises(StaleText) as stale:
        save(company, seen=0, opening="Yours")

    assert stale.value.args[0].parts == {"opening": "Mine"}
    assert read_parts(fresh(company), OFFER) == {"opening": "Mine"}


def test_of_two_who_save_at_once_one_is_told(company: Company) -> None:
    def attempt(words: str) -> str:
        try:
            save(company, opening=words)
        except StaleText:
            return "stale"
        return "saved"

    ends = together([lambda: attempt("Mine"), lambda: attempt("Yours")])

    assert sorted(ends) == ["saved", "stale"]
    assert CompanyText.objects.count() == 1


@pytest.mark.parametrize(
    "parts", [{"opening": "Hello {wage}"}, {"opening": "x" * 1_501}, {"subject": "{"}]
)
def test_an_unusable_text_is_refused_and_nothing_is_saved(
    company: Company, parts: dict[str, str]
) -> None:
    with pytest.raises(UnusableText):
        save(company, **parts)

    assert not CompanyText.objects.exists()


def test_a_part_of_another_kind_is_left_out(company: Company) -> None:
    save(company, EVERY, signature="The crew", subject="Hello")

    assert CompanyText.objects.get().parts == {"signature": "The crew"}


def test_sentences_are_read_by_the_codes_of_their_reasons(company: Company) -> None:
    save(company, sentence_kind("NOT_A_MATCH"), sentence="We looked for a rigger.")
    save(company, sentence_kind("OTHER"), sentence="Sorry.")
    save(company, sentence_kind("OTHER"), seen=1)

    assert read_sentences(fresh(company)) == {"NOT_A_MATCH": "We looked for a rigger."}


def test_a_line_stays_one_line_whatever_is_filled_in() -> None:
    values = {"name": "Ana\r\nBcc: all@example.org", "job": "Cook", "company": "Acme"}

    own = OwnWords.of({"subject": "For {name}", "opening": "Hi\n{job}"}, values)

    assert own.subject == "For Ana Bcc: all@example.org"
    assert own.opening == "Hi\nCook"


def test_words_are_in_the_readers_language_then_the_jobs_then_the_usual_one(
    company: Company,
) -> None:
    for language in ("en", "de", "pl"):
        parts = {"opening": f"Opening in {language}"}
        save_text(
            company_id=company.id,
            kind=KINDS[OFFER],
            parts=parts,
            seen=0,
            by=None,
            language=language,
        )

    def opening(reader: str, job: str) -> str:
        with override(reader):
            return read_parts(fresh(company), OFFER, job_language=job)["opening"][-2:]

    assert [opening("de", "pl"), opening("fr", "pl"), opening("fr", "")] == ["de", "pl", "en"]
