"""Compiled catalogues: Django reads `.mo` files, and only their sources are kept in git.

Images and packages hold them already; a checkout compiles them at its first start.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def compile_stale(folder: Path) -> None:
    """Compile the catalogues below a folder that have changed since they were last compiled.

    Several processes may do so at the same time. A folder that cannot be written stays as it is:
    then what it lacks is shown in English.
    """
    for source in _stale(folder):
        with suppress(OSError):
            _compile(source)


def find_stale(folder: Path) -> list[str]:
    """Return the languages below a folder whose catalogues are not compiled."""
    return [source.parent.parent.name for source in _stale(folder)]


def _stale(folder: Path) -> Iterator[Path]:
    for source in sorted(folder.glob("*/LC_MESSAGES/*.po")):
        compiled = source.with_suffix(".mo")
        if not compiled.exists() or compiled.stat().st_mtime_ns < source.stat().st_mtime_ns:
            yield source


def _compile(source: Path) -> None:
    # Loaded only where there is something to compile.
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    with source.open("rb") as file:
        catalogue = read_po(file, locale=source.parent.parent.name)
    unfinished = source.with_suffix(f".{os.getpid()}")
    with unfinished.open("wb") as file:
        write_mo(file, catalogue)
    unfinished.replace(source.with_suffix(".mo"))
