"""Processes forked from one that has read the product, which takes each new process seconds.

Usage: python -m tests.support.forked MODULE
For each line of its input, the arguments of MODULE's `main` as JSON, it forks a process, and prints
how that ended.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib import import_module
from typing import Protocol

import pytest

from tests.support.environment import ROOT, process_environment


class RunForked(Protocol):
    """Runs a module's `main` in a new process; returns its exit code, or minus its signal."""

    def __call__(self, module: str, *arguments: str) -> int: ...


@pytest.fixture(scope="session")
def run_forked(django_db_setup: None) -> Iterator[RunForked]:
    """Runs what may die in processes of its own, on the test database."""
    parents: dict[str, subprocess.Popen[str]] = {}
    with ExitStack() as running:

        def run(module: str, *arguments: str) -> int:
            if module not in parents:
                parents[module] = running.enter_context(_started(module))
                running.callback(parents[module].terminate)
            parent = parents[module]
            assert parent.stdin
            assert parent.stdout
            parent.stdin.write(f"{json.dumps(arguments)}\n")
            parent.stdin.flush()
            return int(parent.stdout.readline())

        yield run


def _started(module: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.forked", module],
        env=process_environment(ALLOWED_HOSTS="testserver"),
        cwd=ROOT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def main(module: str) -> None:
    """Fork a process for each line."""
    run = import_module(module).main
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _run_and_exit(run, json.loads(line))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _run_and_exit(run: Callable[..., None], arguments: list[str]) -> None:
    code = 1
    try:
        run(*arguments)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1])
