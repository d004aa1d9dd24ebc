"""The demo company's own words in its emails, and its sentence with a rejection."""

from __future__ import annotations

from uuid import UUID

from jobs.models import Company
from pipeline.domain.states import Reason
from pipeline.texts.kinds import EVERY, KINDS, OFFER, sentence_kind
from pipeline.texts.words import save_text

WORDS = {
    EVERY: {"greeting": "Moin {name},", "signature": "Ines and the crew of {company}"},
    OFFER: {"opening": "Good news from the yard: there is room for you."},
    sentence_kind(Reason.NOT_A_MATCH): {
        "sentence": "Dear {name}, we enjoyed reading about you. For this bench we looked for"
        " someone who has planked a hull before. Please write to us again when you have."
    },
}


def add_words(company: Company, staff_id: UUID) -> None:
    """Give a company words of its own."""
    for kind, parts in WORDS.items():
        save_text(company_id=company.id, kind=KINDS[kind], parts=parts, seen=0, by=staff_id)
