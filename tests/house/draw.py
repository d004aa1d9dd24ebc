"""Draw functions to guess their files: `python -m tests.house.draw [--seed N]`.

Prints thirty signatures of the product. The reader has two things: docs/architecture.md, and the
list of files that `--files` prints. They write down a file for each signature, then print the
answers for the same seed. The goal is 29 of 30.
"""

from __future__ import annotations

import argparse
import ast
import random

from tests.house.measure import Function, Source, functions, names_of_sources, sources

DRAWN = 30
# Django gives every command these two under the class name `Command`; its file's name is its own.
PRESCRIBED = ("Command.add_arguments", "Command.handle")


def signature(node: Function) -> str:
    """Return a function's name, parameters and return type."""
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({ast.unparse(node.args)}){returns}"


def owned_functions(file: Source) -> list[tuple[str, Function]]:
    """Return a file's functions, each with the name of its class and a dot, if it is a method."""
    owners = {
        method: f"{node.name}."
        for node in ast.walk(file.tree)
        if isinstance(node, ast.ClassDef)
        for method in node.body
    }
    return [(owners.get(node, ""), node) for _, node in functions([file])]


def draw(seed: int) -> list[tuple[str, str]]:
    """Return thirty functions as (signature, place); the same ones for the same seed and code."""
    found = sorted(
        (f"{file.path}:{node.lineno}", owner + signature(node))
        for file in sources()
        for owner, node in owned_functions(file)
        if not node.name.startswith("__") and owner + node.name not in PRESCRIBED
    )
    # The same draw on every machine; nothing secret depends on it.
    return [(text, place) for place, text in random.Random(seed).sample(found, DRAWN)]


def main() -> None:
    """Print the functions, or where they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    printed = parser.add_mutually_exclusive_group()
    printed.add_argument("--files", action="store_true", help="first print the list of all files")
    printed.add_argument("--answers", action="store_true", help="print each function's place too")
    options = parser.parse_args()
    if options.files:
        print("\n".join([*sorted({*names_of_sources()}), ""]))  # noqa: T201
    for number, (text, place) in enumerate(draw(options.seed), 1):
        print(f"{number:2} {text}")  # noqa: T201
        if options.answers:
            print(f"     {place}")  # noqa: T201


if __name__ == "__main__":
    main()
