"""`docs/architecture.md` shows the layers and the rooms that pyproject.toml enforces."""

from __future__ import annotations

import re

from tests.house.architecture import DIAGRAM, PAGE, drawn, layers, rooms

TEXT = PAGE.read_text()
ROOM = re.compile(r"^\| `(\w+)` \| \S", re.M)


def test_every_contract_has_its_diagram() -> None:
    assert [match[1] for match in DIAGRAM.finditer(TEXT)] == list(layers())


def test_the_diagrams_show_the_layers_of_the_contracts() -> None:
    assert drawn(TEXT) == TEXT, "run `python -m tests.house.architecture`"


def test_a_layer_that_moved_shows() -> None:
    moved = TEXT.replace("asgi\nserver\n", "server\nasgi\n")

    assert moved != TEXT
    assert drawn(moved) == TEXT


def test_every_room_of_pipeline_is_described_and_no_other() -> None:
    assert sorted(ROOM.findall(TEXT)) == sorted(rooms("pipeline"))
