"""Task errors as shown to their company: with lines of code, but without paths of our machines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from django.conf import settings

HOME = f"{settings.BASE_DIR}/"
LINE = 200  # characters of an error in a list

_FILE = re.compile(r'File "([^"]+)"')
_LIBRARY = re.compile(r"^.*/(?:site-packages|python3\.\d+)/")
_PATH = re.compile(r"(?<![\w:/.…])/(?:[\w.@+-]+/)+[\w.@+-]*")


class Failure(NamedTuple):
    """A failed attempt; `title` is the error in one line."""

    attempt: int
    title: str
    traceback: str


def error_details_of(errors: list[Mapping[str, Any]]) -> list[Failure]:
    """Return every error of a task, newest first."""
    return [
        Failure(
            int(error.get("attempt") or 0),
            error_details_in_line(error),
            error_without_paths(str(error.get("traceback") or "")).strip(),
        )
        for error in reversed(errors)
    ]


def error_details_in_line(error: Mapping[str, Any] | None) -> str:
    """Return an error in one line, like "ValueError: no such week"."""
    given = error or {}
    name = str(given.get("class") or "Error").rpartition(".")[2]
    message = " ".join(error_without_paths(str(given.get("message") or "")).split())
    line = f"{name}: {message}" if message else name
    return line if len(line) <= LINE else line[: LINE - 1] + "…"


def error_without_paths(text: str) -> str:
    """Shorten paths in a text, relative to the product or a library."""

    def shorten_error_path(found: re.Match[str]) -> str:
        path = _LIBRARY.sub("", found[1].removeprefix(HOME))
        return f'File "{PurePosixPath(path).name if path.startswith("/") else path}"'

    text = _FILE.sub(shorten_error_path, text)
    return _PATH.sub(lambda found: f"…/{PurePosixPath(found[0]).name}", text)
