"""Mutation testing of rules that need no database: which changes of the code does no test notice?

python -m tools.mutants jobs/policies.py tests.jobs.test_policies

Needs the package cosmic-ray, which makes the mutants; no requirement of ours includes it. Each
mutant runs in a fork: its code replaces the module's, the tests are imported anew, and each test
without a database or a fixture is called. docs/testing.md has the results.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import itertools
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import django

LIMIT_SECONDS = 4
NEED_MORE = {"django_db", "usefixtures"}
# These need arguments of their own.
LEFT_OUT = ("VariableReplacer", "VariableInserter")


class WithoutAnnotations(ast.NodeTransformer):
    """Drops annotations: nothing evaluates them, so a change of one is no mutant."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.returns = None
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        node.annotation = ast.Constant(0)
        return node


def shape(code: str) -> str:
    """Return what a piece of code does, apart from its layout and annotations."""
    return ast.dump(WithoutAnnotations().visit(ast.parse(code)))


def mutants_of(code: str) -> Iterator[str]:
    """Yield each mutant that differs in what it does."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    tree, seen = get_ast(code), {shape(code)}
    for name in operator_names():
        if name.endswith(LEFT_OUT):
            continue
        operator = get_operator(name)()
        places = sum(1 for node in ast_nodes(tree) for _ in operator.mutation_positions(node))
        for place in range(places):
            mutant = mutate_code(code, operator, place)
            with suppress(SyntaxError):  # such as another sign for the `*` of a signature
                if mutant and shape(mutant) not in seen:
                    seen.add(shape(mutant))
                    yield mutant


def calls_of(test: Callable[..., None]) -> list[dict[str, Any]]:
    """Return the arguments of each call of a test; none if it needs a database or a fixture."""
    marks = getattr(test, "pytestmark", [])
    if any(mark.name in NEED_MORE for mark in marks):
        return []
    several = [calls_of_mark(*mark.args[:2]) for mark in marks if mark.name == "parametrize"]
    calls = [
        dict(itertools.chain.from_iterable(each.items() for each in parts))
        for parts in itertools.product(*several)
    ]
    return [call for call in calls if call.keys() == inspect.signature(test).parameters.keys()]


def calls_of_mark(names: Any, values: Any) -> list[dict[str, Any]]:
    """Return the arguments that a mark `parametrize` gives."""
    names = [each.strip() for each in names.split(",")] if isinstance(names, str) else names
    return [dict(zip(names, each if len(names) > 1 else [each], strict=True)) for each in values]


def run_tests(modules: list[str]) -> int:
    """Import the modules again and call their tests; return the number of calls."""
    count = 0
    for name in modules:
        sys.modules.pop(name, None)
        module = importlib.import_module(name)
        marks = getattr(module, "pytestmark", [])
        if any(mark.name in NEED_MORE for mark in (marks if isinstance(marks, list) else [marks])):
            continue
        for test in [each for key, each in vars(module).items() if key.startswith("test_")]:
            for call in calls_of(test):
                test(**call)
                count += 1
    return count


def survives(mutant: str, module: ModuleType, tests: list[str]) -> bool:
    """Tell whether all tests pass with a mutant, within a few seconds."""
    child = os.fork()
    if child == 0:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        try:
            exec(compile(mutant, str(module.__file__), "exec"), vars(module))  # noqa: S102  ours
            run_tests(tests)
        except BaseException:
            os._exit(1)
        os._exit(0)
    end = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def main(path: str, tests: list[str]) -> None:
    """Try every mutant of a module, and print those that survive."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pipeline.settings")
    os.environ.setdefault("LOG_LEVEL", "CRITICAL")
    django.setup()
    code = Path(path).read_text()
    module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    calls = run_tests(tests)
    assert survives(code, module, tests), "the tests fail without a mutant"
    killed = survived = 0
    for mutant in mutants_of(code):
        if not survives(mutant, module, tests):
            killed += 1
            continue
        survived += 1
        changes = difflib.unified_diff(code.splitlines(), mutant.splitlines(), lineterm="", n=0)
        sys.stdout.write("\n".join(["survived:", *list(changes)[2:], ""]))
    sys.stdout.write(f"{path}: {calls} calls of tests; {killed} killed, {survived} survived\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
