"""Declaration of verbs: whole, and in step with the rows, the permissions and the refusals."""

from __future__ import annotations

import runpy
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from pipeline.api.problem_types import RAISED
from pipeline.audit.log_fold import _THROUGH_KEYS
from pipeline.audit.rules import wish_fault
from pipeline.domain.errors import _CANNOT
from pipeline.domain.permissions import RULES
from pipeline.domain.place import PLACE, WISHES, PlaceState
from pipeline.domain.states import EventType, Move, Status
from pipeline.domain.verbs import ACTIONS, DECLARED, EVENTS, KEEPING_STATUS, VERBS, WISHED
from pipeline.models import Application, ApplicationRow, Event
from pipeline.selectors.past import PastPlace
from tests.support.receipts import VERIFIER

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_every_move_and_every_event_is_declared_once() -> None:
    declared = [verb.move for each in DECLARED.values() for verb in each.verbs]

    assert sorted(declared) == sorted(Move)
    assert sorted(DECLARED) == sorted(EventType)


def test_every_refusal_of_a_verb_is_a_problem() -> None:
    assert {error for verb in VERBS.values() for error in verb.refuses} <= RAISED.keys()


def test_the_fold_lets_through_a_key_what_a_portal_may_do_and_no_more() -> None:
    portals = {EVENTS[move] for move, action in ACTIONS.items() if RULES[action].portal}

    assert portals - {EventType.APPLIED} == set(_THROUGH_KEYS)


def test_every_field_of_a_place_is_a_column_with_the_same_blank() -> None:
    columns = {field.attname: field for field in Application._meta.concrete_fields}

    assert {name: columns[name].get_default() for name in PLACE} == {
        name: field.blank for name, field in PLACE.items()
    }
    assert [name for name in ApplicationRow._fields if name in PLACE] == [
        name for name in columns if name in PLACE
    ]


def test_every_wish_is_set_by_one_event() -> None:
    assert sorted(WISHED.values()) == sorted(WISHES)


@pytest.mark.parametrize("name", sorted(set(WISHES) - {"pass_next"}))
@pytest.mark.parametrize("after", [Status.WAITLIST, Status.INACTIVE])
def test_no_other_event_changes_a_wish_and_none_outlives_the_wait(name: str, after: Status) -> None:
    wished: Any = PlaceState(**{name: NOW})
    place = PastPlace(application_id=uuid4(), applied_at=NOW, status=after, status_since=NOW)
    other = Event(event="DEADLINE_EXTENDED", at=NOW)

    fault = wish_fault(other, place, wished)
    setattr(place, name, NOW)
    kept = wish_fault(other, place, wished)

    assert (f"must not change the wish {name}" in fault) == (after is Status.WAITLIST)
    assert (f"must not change the wish {name}" in kept) == (after is Status.INACTIVE)


def test_the_receipt_verifier_knows_every_event_that_keeps_the_place() -> None:
    kept = runpy.run_path(str(VERIFIER))["KEPT"]

    otherwise = {"DEADLINE_EXTENDED", "PLACED", "CONTESTED", "CONTEST_ANSWERED"}
    otherwise.add("MOVED_AHEAD")
    otherwise |= {"ANSWERS_CHANGED", "QUESTION_ASKED", "GROUP_NOTED"}  # they are ANSWERED there
    assert set(KEEPING_STATUS) - set(kept) == otherwise


def test_every_refused_move_has_a_sentence() -> None:
    assert {each.name for each in Move} == set(_CANNOT) - {"RENAME"}
