"""Diagrams of docs/architecture.md; `python -m tools.architecture` redraws them.

Each diagram is the list of layers of one import-linter contract, top first.
"""

from __future__ import annotations

import re
import tomllib

from tools import ROOT

PAGE = ROOT / "docs" / "architecture.md"
DIAGRAM = re.compile(r"(?<=<!-- layers of )(\w+)( -->\n```text\n)(.*?)(?=```)", re.S)


def layers() -> dict[str, list[str]]:
    """Return the layers of each contract that covers one package, by the package's name."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = pyproject["tool"]["importlinter"]["contracts"]
    return {
        contract["containers"][0]: contract["layers"]
        for contract in contracts
        if contract["type"] == "layers" and "containers" in contract
    }


def page_rooms() -> set[str]:
    """Return the names of the rooms of the pages, which stand side by side."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = pyproject["tool"]["importlinter"]["contracts"]
    [found] = [each for each in contracts if each["type"] == "independence"]
    return {module.removeprefix("pipeline.pages.") for module in found["modules"]}


def rooms(package: str) -> set[str]:
    """Return the names of all modules in the layers of a package."""
    return {name.strip() for layer in layers()[package] for name in layer.split("|")}


def drawn(page: str) -> str:
    """Return the page with each diagram redrawn from the contracts."""
    known = layers()

    def redraw(match: re.Match[str]) -> str:
        return match[1] + match[2] + "".join(f"{layer}\n" for layer in known[match[1]])

    return DIAGRAM.sub(redraw, page)


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text()))
