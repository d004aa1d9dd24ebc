"""A company's own words: its texts, read, saved as versions, and filled in for an email."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy, ngettext

from jobs import activity
from jobs.models import Company, JobPosting
from pipeline.domain.states import CHOSEN_REASONS, Outcome
from pipeline.models import CompanyText, DecisionText
from pipeline.texts.fields import (
    UnusableText,
    check,
    fill,
    filled_name,
    greeted_name,
)
from pipeline.texts.kinds import (
    COMPANY,
    DEADLINE,
    EVERY,
    JOB,
    NAME,
    PARTS,
    USUAL_FIELDS,
    USUAL_LANGUAGE,
    Kind,
    sentence_kind,
)
from pipeline.texts.letterheads import letterhead_of, lock_letterhead
from pipeline.wording.english import isolated
from pipeline.wording.language import code

TEXT_CHANGED = activity.declare(
    "text.changed",
    activity.Group.RULES,
    gettext_lazy("Changed the text of emails to applicants: %(kind)s"),
)
security = logging.getLogger("security")

# Versions of each text that are kept.
MOST_VERSIONS = 20


class StaleText(Exception):
    """Text of which someone else has saved another version since: the first argument."""


@dataclass(frozen=True, slots=True)
class OwnWords:
    """A company's own words in one email, filled in. An empty part is in our words."""

    subject: str = ""
    greeting: str = ""
    opening: str = ""
    closing: str = ""
    signature: str = ""
    controller: str = ""  # its legal name, if it has said one

    @classmethod
    def of(
        cls, parts: Mapping[str, str], values: Mapping[str, str], *, controller: str = ""
    ) -> OwnWords:
        """Fill in the fields of parts of texts."""
        filled = {name: fill(text, values) for name, text in parts.items() if text}
        for name in filled.keys() & {part.name for part in PARTS.values() if part.is_line}:
            filled[name] = " ".join(filled[name].split())
        return cls(**filled, controller=controller)


def field_values(*, name: str, job: str, company: str, deadline: str = "") -> dict[str, str]:
    """Return the values of all fields. `name` as `greeted_name` returns it."""
    return {NAME: filled_name(name), JOB: job, COMPANY: company, DEADLINE: deadline}


# Reading texts.


def read_parts(company: Company, kind: str, *, job_language: str = "") -> dict[str, str]:
    """Return the company's words for a kind of email, and those for every one, in one query.

    They are those in the active language, the reader's; of a kind without any in it, those in the
    job's language, or in the usual one. No query if the company has no words of its own and was
    read with its letterhead.
    """
    if not letterhead_of(company).has_texts:
        return {}
    found = _read_preferred(company, [kind, EVERY], job_language)
    return found.get(EVERY, {}) | found.get(kind, {})


def _read_preferred(
    company: Company, kinds: Iterable[str], job_language: str = ""
) -> dict[str, dict[str, str]]:
    """Return the words of each kind, in the first language in which it has some."""
    order = list(dict.fromkeys([code(), job_language, USUAL_LANGUAGE]))
    rows = CompanyText.objects.filter(company_id=company.id, language__in=order, kind__in=kinds)
    rows = rows.order_by("kind", "language", "-version").distinct("kind", "language")
    own = sorted((row for row in rows if row.parts), key=lambda row: order.index(row.language))
    return {row.kind: row.parts for row in reversed(own)}


def read_texts(company: Company, language: str = USUAL_LANGUAGE) -> dict[str, CompanyText]:
    """Return the last version of each of a company's texts by its kind, in one query."""
    rows = _latest(company.id, language).select_related("changed_by")
    return {row.kind: row for row in rows}


def read_sentences(company: Company) -> dict[str, str]:
    """Return the company's sentences with a decision by the codes of their reasons, in one query.

    In none, as `read_parts`.
    """
    if not letterhead_of(company).has_texts:
        return {}
    kinds = {sentence_kind(reason): str(reason) for reason in CHOSEN_REASONS}
    found = _read_preferred(company, kinds)
    return {kinds[kind]: parts["sentence"] for kind, parts in found.items()}


def read_decision_texts(application: Any) -> list[str]:
    """Return what a company wrote to a person with its decisions, in one query.

    In none while the application has not ended by one.
    """
    if application.outcome not in (Outcome.REMOVED, Outcome.REJECTED):
        return []
    texts = DecisionText.objects.filter(application_id=application.id).order_by("seq")
    return list(texts.values_list("text", flat=True))


def read_versions(company_id: UUID, kind: str, language: str = USUAL_LANGUAGE) -> list[CompanyText]:
    """Return the kept versions of a text, newest first, in one query."""
    rows = CompanyText.objects.filter(company_id=company_id, kind=kind, language=language)
    return list(rows.select_related("changed_by").order_by("-version")[:MOST_VERSIONS])


def _latest(company_id: UUID, language: str) -> Any:
    rows = CompanyText.objects.filter(company_id=company_id, language=language)
    return rows.order_by("kind", "-version").distinct("kind")


# Saving texts.


def check_part(kind: Kind, name: str, text: str) -> None:
    """Check a part of a text: its fields and its length. Raises UnusableText."""
    part = PARTS[name]
    if len(text) > part.most:
        long = ngettext(
            "Enter at most %(most)s character.", "Enter at most %(most)s characters.", part.most
        )
        raise UnusableText(long % {"most": part.most})
    check(text, kind.fields)


def check_sentence(text: str) -> None:
    """Check the fields of a sentence with a decision. Raises UnusableText."""
    check(text, USUAL_FIELDS)


@transaction.atomic
def save_text(
    *,
    company_id: UUID,
    kind: Kind,
    parts: Mapping[str, str],
    seen: int,
    by: UUID | None,
    language: str = USUAL_LANGUAGE,
) -> None:
    """Save a company's words as the next version of a text; without any, it is ours again.

    `seen` is the version that was changed, 0 if there was none. Emails that are sent from now on
    have the new words, also those that wait. Raises UnusableText, and StaleText with the last
    version if another was saved since.
    """
    given = {part.name: parts[part.name] for part in kind.parts if parts.get(part.name)}
    for name, text in given.items():
        check_part(kind, name, text)
    letterhead = lock_letterhead(company_id)
    own = CompanyText.objects.filter(company_id=company_id, kind=kind.name, language=language)
    last = own.order_by("-version").first()
    if given == (last.parts if last else {}):
        return
    if last and last.version != seen:
        raise StaleText(last)
    row = own.create(
        company_id=company_id,
        kind=str(kind.name),
        language=language,
        version=(last.version if last else 0) + 1,
        parts=given,
        changed_by_id=by,
    )
    own.filter(version__lte=row.version - MOST_VERSIONS).delete()
    texts = CompanyText.objects.filter(company_id=company_id)
    current = texts.order_by("kind", "language", "-version").distinct("kind", "language")
    letterhead.has_texts = any(each.parts for each in current)
    letterhead.save(update_fields=["has_texts"])
    about = {"company": str(company_id), "by": str(by), "kind": str(kind.name)}
    security.info("text.changed", extra=about | {"version": row.version, "is_own": bool(given)})
    activity.note(TEXT_CHANGED, company_id=company_id, by=by, about={"kind": kind.name})


def fill_sentence(text: str, *, job_id: UUID, name: str) -> str:
    """Return a sentence for a person with its fields filled in: in one query, if it has any."""
    if "{" not in text:
        return text
    posting = JobPosting.objects.select_related("job__company").get(job_id=job_id)
    values = field_values(
        name=greeted_name(name),
        job=isolated(posting.title),
        company=isolated(posting.job.company.name),
    )
    return fill(text, values)
