"""Nobody is told more about a passed turn than happened, also after the rules have changed."""

from __future__ import annotations

import pytest
from django.test import Client

from pipeline.domain.errors import NotPassable
from pipeline.mail.links import LinkedOffer, make_offer_token
from pipeline.selectors.applications import my_current_offer
from pipeline.services.joining import verify
from pipeline.wording import sentences
from pipeline.wording.sentences import Reader
from tests.services.test_pass import offered_first, passes, passes_next
from tests.support import factories
from tests.support.applicants import leave, mine, owner_signed_in
from tests.support.clock import let_time_pass
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_with_nobody_behind_the_seat_is_not_said_to_have_gone_to_anybody() -> None:
    job_id = factories.job()
    seated, only = factories.applications(job_id, 2)
    leave(seated)
    passes(only)

    said = sentences.compose(factories.events(job_id)[-1], Reader.APPLICANT)

    assert said.startswith(
        "You passed your turn and did not take the seat. This does not count as a miss"
    )


def test_the_link_of_a_missed_offer_does_not_call_it_passed() -> None:
    job_id, (first, second, third) = offered_first()
    missed = my_current_offer(first.id)
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    passes_next(first)
    let_time_pass(job_id, factories.COOLDOWN)
    for each in (second, third):
        leave(each)
    assert factories.fresh(first).passes_used == 1

    token = make_offer_token(LinkedOffer(first.id, missed or 0))
    said = text_of(Client().get(f"/confirm/{token}/"))

    assert "You passed this turn" not in said
    assert "The deadline has passed." in said


def test_numbers_make_sense_after_the_limit_was_lowered() -> None:
    job_id, (first, second, third) = offered_first(max_passes=2)
    passes(first)
    let_time_pass(job_id, factories.COOLDOWN)
    leave(second)
    passes(first)
    factories.alter(job_id, policy={"max_passes": 1})

    said = text_of(owner_signed_in(first).get(mine(first)))
    asked = text_of(owner_signed_in(first).get(mine(first, "pass/")))
    let_time_pass(job_id, factories.COOLDOWN)
    leave(third)
    with pytest.raises(NotPassable, match=r"You have passed 2 turns, .* pass 1"):
        passes(first)

    assert "Turns passed 2 " in said
    assert "2 of 1" not in said
    assert "You have passed 2 turns. This job lets people pass 1." in asked


def test_the_places_over_time_name_the_wish_and_its_end() -> None:
    _, first = factories.applications(factories.job(), 2)
    passes_next(first)
    passes_next(first, wanted=False)

    said = text_of(owner_signed_in(first).get(mine(first, "places/")))

    assert "You asked to pass a turn" in said
    assert "You took back your wish to pass" in said


def test_a_free_seat_after_verifying_is_said_to_have_been_free() -> None:
    first = factories.application(factories.job(), verified=False)
    verify(application_id=first.id, actor=factories.owner_of(first))

    said = text_of(owner_signed_in(first).get(mine(first)))

    assert "A seat was free, so it was offered to you." in said
    assert "A seat opened" not in said
