"""Diagrams and file list of docs/architecture.md; `python -m tests.house.architecture` redraws.

Each diagram is the list of layers of one import-linter contract, top first. The file list names the
Python files of every folder of the product.
"""

from __future__ import annotations

import re
import textwrap
import tomllib
from pathlib import Path

from tests.house.measure import ROOT, names_of_sources

PAGE = ROOT / "docs" / "architecture.md"
FILES = re.compile(r"(?<=<!-- files -->\n\n```text\n)(.*?)(?=```)", re.S)
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


def rooms(package: str) -> set[str]:
    """Return the names of all modules in the layers of a package."""
    return {name.strip() for layer in layers()[package] for name in layer.split("|")}


def drawn(page: str) -> str:
    """Return the page with each diagram redrawn from the contracts."""
    known = layers()

    def redraw(match: re.Match[str]) -> str:
        return match[1] + match[2] + "".join(f"{layer}\n" for layer in known[match[1]])

    return FILES.sub(lambda _: file_list(), DIAGRAM.sub(redraw, page))


def file_list() -> str:
    """Return a paragraph per folder of the product: its path, and the names of its files."""
    folders: dict[str, list[str]] = {}
    for path in map(Path, names_of_sources()):
        if path.stem != "__init__":
            folders.setdefault(str(path.parent), []).append(path.stem)
    return "".join(
        textwrap.fill(
            f"{folder}/  {' '.join(sorted(names))}",
            width=118,
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        + "\n"
        for folder, names in sorted(folders.items())
    )


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text()))
