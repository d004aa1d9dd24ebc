"""Fields of a place in line, defined once by their names in the rows and in the log. Pure.

After each event of an application, the log holds its place, so replay needs only the last one.
Whoever writes, replays, compares, exports or signs a place takes the names from here. They share
names, never rules.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from operator import attrgetter
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints


@dataclass(frozen=True, slots=True)
class Notes:
    """Notes on a field: what the log, clients and exports need to know.

    `name`: its name in the log, if that is another one. `about`: its description for clients; it
    then stands in exports and in what a person can read of their data. `is_wish`: the person sets
    it while waiting, and it ends with the wait. `is_private`: the log without names leaves it out.
    `is_constant`: every event holds it, also when it is unset.
    """

    name: str = ""
    about: str = ""
    is_wish: bool = False
    is_private: bool = False
    is_constant: bool = False


@dataclass(slots=True)
class PlaceState:
    """Place of an application: what its row and each of its events in the log hold of it."""

    decay_count: Annotated[int, Notes(is_constant=True)] = 0
    ticket: int | None = None
    tie: int | None = None
    acknowledge_by: Annotated[datetime | None, Notes("deadline")] = None
    eligible_at: datetime | None = None
    not_before: Annotated[
        datetime | None,
        Notes(
            about="Until then, the person wants no seat; null if it has passed or was never asked.",
            is_wish=True,
        ),
    ] = None
    accept_until: Annotated[
        datetime | None,
        Notes(
            about="Until then, a seat for the person is confirmed at once; null if the time has"
            " passed.",
            is_wish=True,
            is_private=True,
        ),
    ] = None
    passes_used: Annotated[
        int,
        Notes(
            about="Turns that the person has passed. They still count if the person applies again."
        ),
    ] = 0
    pass_next: Annotated[
        bool, Notes(about="Whether the person passes the next turn.", is_wish=True)
    ] = False
    passed_at: datetime | None = None
    verify_by: datetime | None = None
    reserved_seat: Annotated[bool, Notes("reserved")] = False

    @classmethod
    def of(cls, place: Any) -> PlaceState:
        """Return a copy of a place, from a row or from whatever has these fields."""
        return cls(*_values_of(place))


class PlaceField(NamedTuple):
    """Field of a place. `kind` is its type without None, and `blank` its value when unset."""

    name: str
    kind: type
    blank: Any
    notes: Notes


def _place_fields() -> dict[str, PlaceField]:
    plain = get_type_hints(PlaceState)
    marked = get_type_hints(PlaceState, include_extras=True)
    found = {}
    for each in fields(PlaceState):
        kind, *_ = get_args(plain[each.name]) or (plain[each.name],)
        notes, *_ = getattr(marked[each.name], "__metadata__", ()) or (Notes(),)
        found[each.name] = PlaceField(each.name, kind, each.default, notes)
    return found


PLACE = _place_fields()
# The wishes of a person who waits, and what clients, exports and a person's own data show.
WISHES = {name: each for name, each in PLACE.items() if each.notes.is_wish}
# Each field's name, its name in the log, whether it is a time, and the value that the log omits.
LOGGED = [
    (name, notes.name or name, kind is datetime, None if notes.is_constant else blank)
    for name, kind, blank, notes in PLACE.values()
]
TIMED_WISHES = [name for name, each in WISHES.items() if each.kind is datetime]
PUBLISHED = {name: each for name, each in PLACE.items() if each.notes.about}
_values_of = attrgetter(*PLACE)
