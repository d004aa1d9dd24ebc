"""`docs/architecture.md` shows the layers and the rooms that pyproject.toml enforces."""

from __future__ import annotations

import re

import grimp

from tests.support.environment import ROOT
from tools.architecture import DIAGRAM, PAGE, drawn, layers, page_rooms, rooms

TEXT = PAGE.read_text()
ROOM = re.compile(r"^\| `(\w+)` \| \S", re.M)


def test_every_contract_has_its_diagram() -> None:
    assert [match[1] for match in DIAGRAM.finditer(TEXT)] == list(layers())


def test_the_diagrams_show_the_layers_of_the_contracts() -> None:
    assert drawn(TEXT) == TEXT, "run `python -m tools.architecture`"


def test_a_layer_that_moved_shows() -> None:
    moved = TEXT.replace("asgi\nserver\n", "server\nasgi\n")

    assert moved != TEXT
    assert drawn(moved) == TEXT


def test_every_room_of_pipeline_is_described_and_no_other() -> None:
    assert sorted(ROOM.findall(TEXT)) == sorted(rooms("pipeline"))


def test_both_lists_of_the_rooms_of_the_pages_are_those_of_the_contract() -> None:
    listed = re.search(r"^\| `pages` \| .*?in rooms: ([\w, ]+) \|", TEXT, re.M)
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    chosen = re.search(r"Choose the room in `pipeline/pages/` by its reader: ([^.]+)\.", guide)

    assert listed
    assert chosen
    assert set(listed[1].split(", ")) == page_rooms()
    assert set(re.findall(r"`(\w+)`", chosen[1])) == page_rooms()


def test_no_module_of_the_order_can_read_a_forecast_or_a_what_if() -> None:
    """Checked beside the contract of the same purpose, over any number of imports in between."""
    graph = grimp.build_graph("pipeline", "jobs", "applicants", cache_dir=None)
    order = [f"pipeline.{room}" for room in ("line", "services", "selectors", "audit", "domain")]
    guesses = ("pipeline.figures.forecast", "pipeline.figures.whatif")

    def reads(importer: str, guess: str) -> bool:
        return graph.chain_exists(importer=importer, imported=guess, as_packages=True)

    assert [(each, guess) for each in order for guess in guesses if reads(each, guess)] == []
    assert reads("pipeline.notifications", "pipeline.figures.forecast")
    assert reads("pipeline.pages", "pipeline.figures.whatif")
