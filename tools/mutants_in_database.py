"""Mutation testing of rules whose tests need a database: which changes does no test notice?

python -m tools.mutants_in_database pipeline/audit/rules.py tests/audit tests/services

Needs the package cosmic-ray, as `mutants` does. The tests run once to learn which of them reach
which line. Then each mutant's code replaces that of the functions in place, and the tests that
reach its function run until one fails, in the same process and database. A test that fails must
pass without the mutant, or the run ends: then something was left behind. docs/testing.md has the
results.
"""

from __future__ import annotations

import difflib
import gc
import importlib
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import coverage
import pytest
from _pytest.runner import runtestprotocol

from tools.mutants import mutants_of

CPU_SECONDS, LIMIT_SECONDS = 8, 120  # of a test: other work on the machine must kill no mutant
MOST_TESTS = 150
Place = tuple[str, int]  # of a function: its qualified name and first line


class TooLongError(BaseException):
    """A test takes far too long: the mutant perhaps never ends."""


def functions_in(code: CodeType) -> dict[Place, CodeType]:
    """Return the code of each function, also of those inside classes and other functions."""
    found: dict[Place, CodeType] = {}
    for each in code.co_consts:
        if isinstance(each, CodeType):
            found |= {(each.co_qualname, each.co_firstlineno): each, **functions_in(each)}
    return found


def constants_of(code: str, module: ModuleType) -> dict[str, Any]:
    """Return what the module's own lines would give its names, without functions and classes."""
    fresh: dict[str, Any] = {"__name__": module.__name__, "__file__": module.__file__}
    exec(compile(code, str(module.__file__), "exec"), fresh)  # noqa: S102  ours
    return {name: value for name, value in fresh.items() if not callable(value)}


class Subject:
    """Module whose code is replaced by that of its mutants and put back."""

    def __init__(self, path: str) -> None:
        self.code = Path(path).read_text()
        self.module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
        self.file = str(self.module.__file__)
        self._codes = functions_in(compile(self.code, self.file, "exec"))
        self._constants = constants_of(self.code, self.module)
        gc.unfreeze()  # or the collector would not list what was made before the tests
        self._functions: dict[Place, list[FunctionType]] = {}
        for each in gc.get_objects():
            if isinstance(each, FunctionType) and each.__code__.co_filename == self.file:
                place = (each.__code__.co_qualname, each.__code__.co_firstlineno)
                self._functions.setdefault(place, []).append(each)

    def function_at(self, line: int) -> tuple[int, int] | None:
        """Return the first and last line of the outermost function around a line."""
        for place in self._functions:
            if code := self._codes.get(place):
                lines = [number for *_, number in code.co_lines() if number]
                if place[1] <= line <= max(lines):
                    return place[1], max(lines)
        return None

    @contextmanager
    def mutated(self, mutant: str) -> Iterator[bool]:
        """Put a mutant's code in place; yield whether anything could be replaced."""
        with warnings.catch_warnings(action="ignore"):  # such as `is` beside a word in quotes
            codes = functions_in(compile(mutant, self.file, "exec"))
        undo: list[tuple[Any, str, Any]] = []
        for place, functions in self._functions.items():
            new = codes.get(place)
            if new and new != self._codes.get(place):
                for each in functions:
                    if len(new.co_freevars) == len(each.__code__.co_freevars):
                        undo.append((each, "__code__", each.__code__))
                        each.__code__ = new
        if not undo:
            undo = self._replace_constants(mutant)
        try:
            yield bool(undo)
        finally:
            for owner, name, old in reversed(undo):
                setattr(owner, name, old)

    def _replace_constants(self, mutant: str) -> list[tuple[Any, str, Any]]:
        """Give every module that has a changed constant the new one."""
        undo: list[tuple[Any, str, Any]] = []
        try:
            fresh = constants_of(mutant, self.module)
        except Exception:  # it cannot be imported
            return [(self, "__doc__", self.__doc__)]
        for name, value in fresh.items():
            if name in self._constants and repr(value) != repr(self._constants[name]):
                old = getattr(self.module, name)
                for each in list(sys.modules.values()):
                    if vars(each).get(name, undo) is old:
                        undo.append((each, name, old))
                        setattr(each, name, value)
        return undo


class Mutants:
    """Plugin that runs the collected tests against each mutant instead of once."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.tries: dict[str, int] = {"killed": 0, "survived": 0, "untried": 0}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try every mutant, and print those that survive."""
        if session.testsfailed:
            raise session.Failed("the tests cannot be collected")
        subject = Subject(self.path)
        self.items = {item.nodeid: item for item in session.items}
        self.reached = self._learn(subject.file)
        for mutant in mutants_of(subject.code):
            changes = difflib.unified_diff(
                subject.code.splitlines(), mutant.splitlines(), lineterm="", n=0
            )
            shown = list(changes)[2:]
            line = int(shown[0].split()[1].split(",")[0][1:])
            outcome = self._try(subject, mutant, line)
            self.tries[outcome] += 1
            if outcome != "killed":
                self._say(session, "\n".join([f"{outcome}:", *shown]))
        counts = ", ".join(f"{count} {outcome}" for outcome, count in self.tries.items())
        self._say(session, f"{self.path}: {len(self.items)} tests; {counts}")
        return True

    def _say(self, session: pytest.Session, text: str) -> None:
        with session.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()

    def _learn(self, file: str) -> dict[int, list[str]]:
        """Run all tests without a mutant; return which of them reach each line."""
        watch = coverage.Coverage(data_file=None, include=[file], config_file=False)
        watch.start()
        for name in self.items:
            watch.switch_context(name)
            assert self._passes(name), f"{name} fails without a mutant: {self.last}"
        watch.stop()
        data = watch.get_data()
        names = {} if file not in data.measured_files() else data.contexts_by_lineno(file)
        return {line: [each for each in tests if each] for line, tests in names.items()}

    def _try(self, subject: Subject, mutant: str, line: int) -> str:
        tests = dict.fromkeys(self.reached.get(line, []))
        if around := subject.function_at(line):
            for each in range(around[0], around[1] + 1):
                tests |= dict.fromkeys(self.reached.get(each, []))
        else:
            tests = dict.fromkeys(self.items)
        with subject.mutated(mutant) as is_replaced:
            if not is_replaced:
                return "untried"
            failed = next((t for t in list(tests)[:MOST_TESTS] if not self._passes(t)), None)
        if failed and not (self._passes(failed) or self._passes(failed)):
            raise AssertionError(f"{failed} now fails without a mutant, too")
        return "killed" if failed else "survived"

    def _passes(self, name: str) -> bool:
        """Run a test; tell whether it passes in time. What the session shares stays set up."""
        item = self.items[name]
        other = next(each for each in self.items.values() if each is not item)
        item.session._setupstate.teardown_exact(item)  # what only the test before it shared
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        signal.setitimer(signal.ITIMER_REAL, LIMIT_SECONDS)
        try:
            reports = runtestprotocol(item, log=False, nextitem=other)
        except TooLongError:
            return False
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
        self.last = "\n".join(str(report.longrepr) for report in reports if report.failed)
        return not self.last


def _end_test(*_: Any) -> None:
    raise TooLongError


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, _end_test)
    signal.signal(signal.SIGPROF, _end_test)
    options = ["-q", "-p", "no:xdist"]
    code = pytest.main([*options, *sys.argv[2:]], plugins=[Mutants(sys.argv[1])])
    sys.exit(int(code))
