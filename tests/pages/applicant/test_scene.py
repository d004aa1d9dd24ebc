"""The picture of one's place: bounded, nobody is lost, and it moves as the person moves up."""

from __future__ import annotations

import re
from typing import Any

import pytest

from jobs.models import Job
from pipeline.pages.applicant.scene import HEIGHT, WIDTH, PlaceScene
from tests.support import factories
from tests.support.applicants import leave, mine, owner_signed_in


def scene(position: int, waiting: int, **counts: Any) -> PlaceScene:
    usual = {"capacity": 3, "active_count": 3, "pending_count": 0, "status": "OPEN"}
    return PlaceScene.of(Job(**usual | counts, waitlist_count=waiting), position)


@pytest.mark.parametrize("waiting", [1, 2, 5, 6, 30, 10_000, 1_000_000])
@pytest.mark.parametrize("position", [1, 2, 4, 5, 6, 29, 9_999])
def test_everybody_ahead_is_drawn_or_counted_and_all_fits(position: int, waiting: int) -> None:
    if position > waiting:
        return

    shown = scene(position, waiting)

    ahead = [each for each in shown.people if not each.fade]
    folded = int(re.sub(r"\D", "", shown.fold[2])) if shown.fold else 0
    assert len(ahead) + folded == position - 1
    assert len(shown.people) - len(ahead) <= waiting - position
    assert len(shown.people) < 30
    assert all(0 <= each.x <= WIDTH + 20 and 0 <= each.y <= HEIGHT for each in shown.people)
    assert shown.me.x - shown.me.radius > 0
    assert shown.me.x + shown.me.radius < WIDTH
    assert f"You are number {position:,}." in shown.sentence
    assert shown.number == f"{position:,}"


def test_nobody_stands_on_another() -> None:
    for position in range(1, 12):
        shown = scene(position, 40)
        places = [(each.x, each.y, each.radius) for each in (*shown.people, shown.me)]

        for place, (x, y, radius) in enumerate(places):
            for other_x, other_y, other in places[:place]:
                apart = ((x - other_x) ** 2 + (y - other_y) ** 2) ** 0.5
                assert apart > radius + other, (position, x, y, other_x, other_y)


def test_the_way_to_the_seats_gets_shorter_as_one_moves_up() -> None:
    ways = [len(scene(position, 9).own_way) for position in (5, 4, 3, 2, 1)]

    assert ways == sorted(ways, reverse=True)
    assert len(set(ways)) == len(ways)


@pytest.mark.parametrize("capacity", [1, 4, 7, 8, 40, 10_000])
def test_seats_of_any_number_fit(capacity: int) -> None:
    shown = scene(1, 3, capacity=capacity, active_count=capacity)

    assert sum(seat.count or 1 for seat in shown.seats) == capacity
    assert all(21 <= seat.x <= WIDTH - 21 for seat in shown.seats)


@pytest.mark.parametrize(
    ("counts", "note"),
    [
        ({}, "3 in review"),
        ({"active_count": 2, "pending_count": 1}, "3 seats taken"),
        ({"active_count": 2}, "1 seat free"),
        ({"active_count": 2, "status": "CLOSED"}, "2 in review"),
    ],
)
def test_the_seats_have_a_caption(counts: dict[str, Any], note: str) -> None:
    assert scene(1, 2, **counts).seats_note == note


@pytest.mark.django_db(transaction=True)
def test_the_page_shows_the_place_and_follows_it() -> None:
    job = factories.job()
    _holder, ahead, person = factories.applications(job, 3)
    client = owner_signed_in(person)

    before = client.get(mine(person)).content.decode()
    leave(ahead)
    after = client.get(mine(person)).content.decode()

    assert 'aria-label="1 seat: 1 in review. 2 people wait in line. You are number 2."' in before
    assert 'aria-label="1 seat: 1 in review. 1 person waits in line. You are number 1."' in after
    own = [re.search(r'class="me" transform="([^"]+)"', page) for page in (before, after)]
    assert None not in own
    assert len({found[1] for found in own if found}) == 2
