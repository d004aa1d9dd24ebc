"""CPU and memory of a process and its descendants."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(*roots: int) -> float:
    """Return the user and system time of process trees so far, including ended processes."""
    return sum(_own_seconds(pid) for root in roots for pid in family(root))


def family(root: int) -> Iterator[int]:
    """Iterate over a process and its descendants."""
    yield root
    for task in _entries(Path(f"/proc/{root}/task")):
        try:
            children = (task / "children").read_text().split()
        except OSError:
            continue
        for child in children:
            yield from family(int(child))


def postmaster_of(data_directory: str) -> int:
    """Return the root process of a PostgreSQL, the parent of all its backends."""
    return int((Path(data_directory) / "postmaster.pid").read_text().split()[0])


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _own_seconds(pid: int) -> float:
    """Return the CPU time of a process and of its ended children."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(field) for field in fields[11:15]) / TICK


def own_megabytes(pid: int) -> float:
    """Return the proportional memory of a process: a shared page counts once in total."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)
