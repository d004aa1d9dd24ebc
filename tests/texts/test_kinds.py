"""The texts that can be written: one for each email, and one for each reason."""

from __future__ import annotations

import pytest

from pipeline.domain.states import CHOSEN_REASONS, EventType
from pipeline.models import OVERTAKEN
from pipeline.notifications.applicants import REMINDERS
from pipeline.notifications.messages import MAILS
from pipeline.notifications.previews import FACTS, compose_own
from pipeline.texts.kinds import (
    BY_SLUG,
    KINDS,
    OFFER,
    email_text_kind,
    list_emails,
    list_sentences,
    sentence_kind,
)


class Happened:
    event = EventType.APPLIED
    actor_kind = "APPLICANT"


def test_each_email_to_applicants_has_a_text() -> None:
    kinds = {
        email_text_kind(Happened(), kind, is_offer=kind == EventType.PROMOTED, reminder="")
        for kind in MAILS
    }
    later = (*REMINDERS, OVERTAKEN)
    kinds |= {email_text_kind(Happened(), "", is_offer=False, reminder=each) for each in later}

    assert kinds | {"PUT_FORWARD"} == {kind.name for kind in list_emails()}
    assert OFFER in kinds


def test_each_reason_has_a_sentence() -> None:
    names = {kind.name for kind in list_sentences()}

    assert names == {sentence_kind(reason) for reason in CHOSEN_REASONS}


def test_each_kind_has_an_address_of_its_own() -> None:
    assert len(BY_SLUG) == len(KINDS)
    assert "sender" not in BY_SLUG


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_makes_an_email_in_which_all_its_fields_are_filled_in(name: str) -> None:
    kind = KINDS[name]
    fields = " ".join(f"{{{field}}}" for field in kind.fields)

    message = compose_own(name, {part.name: fields for part in kind.parts}, FACTS, "")

    assert "{" not in message.text + message.subject
    assert "Ana Li Boatbuilder Harbour Works" in message.text
