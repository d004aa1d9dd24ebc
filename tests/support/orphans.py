"""Processes of a site that none of its programs started: what a killed master left behind."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def orphans(temporary: Path, programs: Iterable[int]) -> dict[int, str]:
    """Return the ids and commands of the processes with this TMPDIR that belong to no program.

    All processes of a site inherit its TMPDIR. Those of a program are it and its descendants.
    """
    parents, found = {}, {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, parent, *_ = (process / "stat").read_text().rpartition(")")[2].split()
            if state == "Z":
                continue
            parents[int(process.name)] = int(parent)
            if f"TMPDIR={temporary}".encode() in (process / "environ").read_bytes().split(b"\0"):
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(process.name)] = command.decode(errors="replace").strip()
    known = set(programs)
    while more := {each for each, parent in parents.items() if parent in known} - known:
        known |= more
    return {each: command for each, command in found.items() if each not in known}
