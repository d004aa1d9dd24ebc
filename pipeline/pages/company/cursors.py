"""Places in lists, as the addresses of the next pages hold them. What is no place is the start."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest

from pipeline.selectors.applications import BEFORE_THE_FIRST
from pipeline.selectors.board import SeatPlace
from pipeline.selectors.search import BEFORE_ALL, NamePlace

HIGHEST = 2**63 - 1
_SEP = "~"


def uuid_in(request: HttpRequest, name: str) -> UUID | None:
    """An id in the address, if there is one."""
    try:
        return UUID(request.GET.get(name, ""))
    except ValueError:
        return None


def waiting_in(request: HttpRequest) -> tuple[int, int]:
    """Behind which (ticket, tie) the page of the waitlist begins."""
    ticket, _, tie = request.GET.get("waiting", "").partition(_SEP)
    try:
        place = int(ticket), int(tie)
    except ValueError:
        return BEFORE_THE_FIRST
    return place if all(0 <= number <= HIGHEST for number in place) else BEFORE_THE_FIRST


def waiting_place(ticket: int | None, tie: int | None) -> str:
    """What `waiting_in` reads."""
    return f"{ticket}{_SEP}{tie}"


def seats_in(request: HttpRequest) -> SeatPlace | None:
    """Behind whom the page of the seats begins."""
    try:
        kind, moment, id_ = request.GET.get("seats", "").split(_SEP)
        at = datetime.fromisoformat(moment)
        place = SeatPlace(kind == "pending", at, UUID(id_))
    except ValueError:
        return None
    return place if at.tzinfo else None


def seat_place(place: SeatPlace) -> str:
    """What `seats_in` reads."""
    kind = "pending" if place.pending else "active"
    return _SEP.join((kind, place.moment.isoformat(), str(place.id)))


def name_in(request: HttpRequest) -> NamePlace:
    """Behind which name the page of found people begins."""
    id_, _, word = request.GET.get("after", "").partition(_SEP)
    try:
        return NamePlace(word.replace("\0", ""), UUID(id_))
    except ValueError:
        return BEFORE_ALL


def name_place(place: NamePlace) -> str:
    """What `name_in` reads."""
    return f"{place.application_id}{_SEP}{place.word}"


def url_with(request: HttpRequest, **changes: str | None) -> str:
    """This page's address with something in its query changed; None takes it out."""
    query = {name: value for name, value in request.GET.items() if name not in changes}
    query |= {name: value for name, value in changes.items() if value is not None}
    return f"{request.path}?{urlencode(query)}" if query else request.path
