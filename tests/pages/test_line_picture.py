"""The picture of a line: bounded, with the reader marked, and said in a sentence."""

from __future__ import annotations

import pytest

from pipeline.pages.line_picture import MARGIN, PLACES, STEP, LinePicture


def picture(active: int, pending: int, free: int, waiting: int, **mine: object) -> LinePicture:
    counts = {"active": active, "pending": pending, "free": free}
    return LinePicture.of_counts(counts, waiting, **mine)  # type: ignore[arg-type]


def test_everybody_is_drawn_while_there_is_room() -> None:
    line = picture(2, 1, 1, 4, position=3)

    assert [seat.kind for seat in line.seats] == ["active", "active", "pending", "free"]
    assert [person.kind for person in line.people] == ["person", "person", "mine", "person"]
    assert line.sentence == (
        "4 seats: 2 in review, 1 offered, 1 free. 4 people wait in line. You are number 3."
    )


@pytest.mark.parametrize("waiting", [0, 1, 2, 11, 12, 13, 14, 20, 10_000, 1_000_000])
@pytest.mark.parametrize("position", [None, 1, 2, 9, 10, 11, 12, 5_000, 9_998, 9_999, 10_000])
def test_a_line_of_any_length_fits_and_loses_nobody(waiting: int, position: int | None) -> None:
    line = picture(3, 0, 0, waiting, position=position)

    drawn = sum(person.count or 1 for person in line.people)
    mine = [person for person in line.people if person.is_mine]
    right = max((p.x + (STEP // 2 if p.count else 0) for p in line.people), default=0)
    assert drawn == waiting
    assert all(person.count != 1 for person in line.people)
    assert len(mine) == (1 if position and position <= waiting else 0)
    assert right <= line.width - MARGIN
    assert len(line.people) <= PLACES
    if mine:
        ahead = line.people[: line.people.index(mine[0])]
        assert sum(person.count or 1 for person in ahead) == position - 1  # type: ignore[operator]


@pytest.mark.parametrize(
    "seats", [(1, 0, 0), (0, 0, 1), (10_000, 0, 0), (9_998, 1, 1), (4, 4, 4), (1, 5_000, 1)]
)
def test_seats_of_any_number_fit_and_each_kind_is_drawn(seats: tuple[int, int, int]) -> None:
    line = picture(*seats, 0)

    kinds = {seat.kind for seat in line.seats} - {"fold"}
    right = max(seat.x + (STEP // 2 if seat.count else 0) for seat in line.seats)
    there = {kind for kind, n in zip(("active", "pending", "free"), seats, strict=True) if n}
    assert sum(seat.count or 1 for seat in line.seats) == sum(seats)
    assert kinds == there
    assert right <= line.width - MARGIN


@pytest.mark.parametrize(
    ("mine", "words"), [("active", "You have a seat."), ("pending", "A seat is offered to you.")]
)
def test_the_readers_seat_is_marked_once(mine: str, words: str) -> None:
    line = picture(3, 2, 0, 5, mine=mine)

    marked = [seat.kind for seat in line.seats if seat.is_mine]
    assert marked == [mine]
    assert line.sentence.endswith(words)


def test_a_position_that_does_not_exist_marks_nobody() -> None:
    line = picture(1, 0, 0, 2, position=3)

    assert not any(person.is_mine for person in line.people)
    assert "You" not in line.sentence


def test_a_job_without_seats_left_says_so() -> None:
    assert picture(0, 0, 0, 0).sentence == "No seats. Nobody waits in line."
