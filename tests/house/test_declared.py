"""Every library that the product imports is declared, not only brought by another one."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions

from tests.house.files import PACKAGES, python_files, tree_of
from tests.support.environment import ROOT

NAME = re.compile(r"[\w.-]+")
NOT_OF_THE_PRODUCT = {"bench", "dev"}  # extras


def imported(trees: Iterable[ast.Module]) -> set[str]:
    """Return the top names of all modules that are imported, other than ours and Python's own."""
    found = {name.split(".")[0] for tree in trees for name in _names(tree)}
    return found - {*PACKAGES, *sys.stdlib_module_names}


def _names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def undeclared(modules: set[str]) -> list[str]:
    """Return the modules whose library stands neither in the dependencies nor in an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"]]
    for extra, libraries in project["optional-dependencies"].items():
        wanted += [] if extra in NOT_OF_THE_PRODUCT else libraries
    declared = {_normal(match[0]) for each in wanted if (match := NAME.match(each))}
    brought_by = packages_distributions()
    return sorted(
        name
        for name in modules
        if not declared & {_normal(each) for each in brought_by.get(name, [name])}
    )


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_library_that_the_product_imports_is_declared() -> None:
    modules = imported(tree_of(path) for path in python_files(*PACKAGES))

    assert len(modules) > 15
    assert undeclared(modules) == []


def test_a_library_that_only_another_one_brings_is_noticed() -> None:
    assert undeclared(imported([ast.parse("import anyio, django.db, tasks, ast")])) == ["anyio"]
