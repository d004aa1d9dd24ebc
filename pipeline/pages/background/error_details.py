"""Errors of tasks as their company may read them: what went wrong and in which line of code, but
not where on our machines that code lies. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from django.conf import settings

HOME = f"{settings.BASE_DIR}/"
LINE = 200
"""Characters of an error in a list."""

_FILE = re.compile(r'File "([^"]+)"')
_LIBRARY = re.compile(r"^.*/(?:site-packages|python3\.\d+)/")
_PATH = re.compile(r"(?<![\w:/.…])/(?:[\w.@+-]+/)+[\w.@+-]*")


class Failure(NamedTuple):
    """One failed attempt. `title` is the error in one line."""

    attempt: int
    title: str
    traceback: str


def failures_of(errors: list[Mapping[str, Any]]) -> list[Failure]:
    """Every error of a task, the newest first."""
    return [
        Failure(
            int(error.get("attempt") or 0), error_line(error), without_places(_trace(error)).strip()
        )
        for error in reversed(errors)
    ]


def error_line(error: Mapping[str, Any] | None) -> str:
    """An error in one line: ValueError: no such week."""
    given = error or {}
    name = str(given.get("class") or "Error").rpartition(".")[2]
    message = " ".join(without_places(str(given.get("message") or "")).split())
    line = f"{name}: {message}" if message else name
    return line if len(line) <= LINE else line[: LINE - 1] + "…"


def without_places(text: str) -> str:
    """The text with paths relative to the product or to the library they belong to."""
    text = _FILE.sub(lambda found: f'File "{_relative(found[1])}"', text)
    return _PATH.sub(lambda found: f"…/{PurePosixPath(found[0]).name}", text)


def _trace(error: Mapping[str, Any]) -> str:
    return str(error.get("traceback") or "")


def _relative(path: str) -> str:
    shorter = _LIBRARY.sub("", path.removeprefix(HOME))
    return PurePosixPath(shorter).name if shorter.startswith("/") else shorter
