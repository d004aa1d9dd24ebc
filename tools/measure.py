"""Measure how easily the code is read: `python -m tools.measure [--list] [PLACE ...]`.

Prints one row per figure, for the whole product or for the files under each PLACE; with --list
also where each smell stands. Lengths are measured in tests, tools, benches and examples too. Uses
only the standard library; needs no database.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path

from tools import ROOT

PRODUCT = ("tasks", "jobs", "applicants", "pipeline")
# Only the lengths of their files and functions are measured.
BESIDE = ("tests", "tools", "bench", "docs")
MADE = frozenset({"models.py"})  # below docs/examples: written by a program
FOREIGN_FIRST_WORDS = frozenset(
    "what who whom whose which whether where when why how so those that this these it".split()
)
LONGEST_FUNCTION, LONGEST_FILE, LONGEST_TEMPLATE_LINE = 50, 600, 160  # lines, lines, characters

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = Function | ast.ClassDef | ast.Module


@dataclass(frozen=True, slots=True)
class Source:
    """A parsed file of the product."""

    path: str
    text: str
    tree: ast.Module


@dataclass(frozen=True, slots=True)
class Finding:
    """One figure: `smells` of `total`, and where each stands."""

    name: str
    total: int
    smells: list[str]

    @property
    def percent(self) -> float:
        """Return the share of smells."""
        return 100 * len(self.smells) / self.total if self.total else 0.0

    @property
    def row(self) -> str:
        """Return the figure as a line of text."""
        share = f"{self.percent:5.1f} %" if self.total else "     - "
        return f"{self.name:46} {len(self.smells):5} of {self.total:5}  {share}"


def sources(*folders: str) -> list[Source]:
    """Read every Python file of these folders, or of the product, but its migrations."""
    paths = [path for each in folders or PRODUCT for path in sorted((ROOT / each).rglob("*.py"))]
    names = [str(path.relative_to(ROOT)) for path in paths if "migrations" not in path.parts]
    texts = [(name, (ROOT / name).read_text()) for name in names if not _is_made(name)]
    return [Source(name, text, ast.parse(text)) for name, text in texts]


def _is_made(name: str) -> bool:
    return name.startswith("docs/") and Path(name).name in MADE


def functions(files: list[Source]) -> Iterator[tuple[Source, Function]]:
    """Give every function and method, with its file."""
    for file in files:
        for node in ast.walk(file.tree):
            if isinstance(node, Function):
                yield file, node


def used_once(files: list[Source]) -> Finding:
    """Find private functions that their file mentions once: where they are called."""
    private, once = 0, []
    for file in files:
        uses = Counter(
            node.id if isinstance(node, ast.Name) else node.attr
            for node in ast.walk(file.tree)
            if isinstance(node, ast.Name | ast.Attribute)
        )
        for _, node in functions([file]):
            if node.name.startswith("_") and not node.name.endswith("__"):
                private += 1
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if uses[node.name] == 1:
                    once.append(f"{lines:3} lines  {file.path}:{node.lineno} {node.name}")
    return Finding("private functions used once", private, sorted(once))


def foreign_docstrings(files: list[Source]) -> Finding:
    """Find docstrings whose first word is neither an imperative nor a noun."""
    told: list[tuple[str, str]] = []
    for file in files:
        for node in ast.walk(file.tree):
            if isinstance(node, Documented) and (text := ast.get_docstring(node)):
                line = getattr(node, "lineno", 1)
                told.append((f"{file.path}:{line}", text))
    smells = [
        f"{place} {text.splitlines()[0]}"
        for place, text in told
        if re.sub(r"\W.*", "", text, flags=re.S).lower() in FOREIGN_FIRST_WORDS
    ]
    return Finding("docstrings that begin with what/who/whether …", len(told), smells)


def long_functions(files: list[Source]) -> Finding:
    """Find functions that no screen holds."""
    sized = [
        (node.end_lineno - node.lineno + 1, f"{file.path}:{node.lineno} {node.name}")
        for file, node in functions(files)
        if node.end_lineno is not None
    ]
    smells = [f"{lines} lines  {place}" for lines, place in sized if lines > LONGEST_FUNCTION]
    return Finding(f"functions over {LONGEST_FUNCTION} lines", len(sized), smells)


def long_files(files: list[Source]) -> Finding:
    """Find files that are too long to read in one go."""
    sized = [(file.text.count("\n"), file.path) for file in files]
    smells = [f"{lines} lines  {path}" for lines, path in sized if lines > LONGEST_FILE]
    return Finding(f"files over {LONGEST_FILE} lines", len(sized), smells)


def long_template_lines() -> Finding:
    """Find lines of templates that run off the screen."""
    rows = [
        (f"{path.relative_to(ROOT)}:{number}", len(line))
        for path in sorted((ROOT / "templates").rglob("*.html"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
    ]
    smells = [f"{size} {place}" for place, size in rows if size > LONGEST_TEMPLATE_LINE]
    return Finding(f"template lines over {LONGEST_TEMPLATE_LINE} characters", len(rows), smells)


def entries_at_the_root() -> Finding:
    """Find files beside Django's own names at the root of `pipeline/`."""
    allowed = {"__init__", "admin", "apps", "asgi", "settings", "tasks", "urls"}
    names = sorted(path.stem for path in (ROOT / "pipeline").glob("*.py"))
    return Finding("files at the root of pipeline/", len(names), sorted(set(names) - allowed))


def import_cycles(files: list[Source]) -> Finding:
    """Find modules that import each other, directly or over others, for types only too."""
    modules = {_module_of(file): file for file in files}
    imported = {name: _imports(file, modules.keys()) - {name} for name, file in modules.items()}
    reached = {name: _reachable(name, imported) for name in modules}
    smells = [
        f"{name} <-> {other}"
        for name in sorted(modules)
        for other in sorted(reached[name])
        if name < other and name in reached[other]
    ]
    return Finding("modules in import cycles", len(modules), smells)


def _module_of(file: Source) -> str:
    return file.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def _imports(file: Source, modules: Set[str]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            named = {f"{node.module}.{each.name}" for each in node.names}
            found |= named & modules or {node.module}
    return found & modules


def _reachable(start: str, imported: dict[str, set[str]]) -> set[str]:
    found, new = set[str](), set(imported[start])
    while new:
        found |= new
        new = {further for each in new for further in imported[each]} - found
    return found


def findings(places: list[str]) -> list[Finding]:
    """Measure the files under the places, or all."""
    files, beside = (
        [f for f in sources(*folders) if not places or f.path.startswith(tuple(places))]
        for folders in (PRODUCT, BESIDE)
    )
    return [
        entries_at_the_root(),
        used_once(files),
        foreign_docstrings(files),
        long_functions(files + beside),
        long_files(files + beside),
        long_template_lines(),
        import_cycles(files),
    ]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("places", nargs="*", metavar="PLACE", help="such as pipeline/line")
    parser.add_argument("--list", action="store_true", help="also print where each smell stands")
    options = parser.parse_args()
    for finding in findings(options.places):
        print(finding.row)
        for smell in finding.smells if options.list else ():
            print(f"    {smell}")


if __name__ == "__main__":
    main()
