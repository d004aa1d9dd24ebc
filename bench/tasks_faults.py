"""Repeated runs of the fault tests of background work, to find tests that fail now and then.

    .venv/bin/python bench/tasks_faults.py [TIMES]

Goal: no failure in twenty runs. Exits with 1 if a run failed, and keeps the output of failed runs
in `.local/tasks_faults-N.log`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIMES = int(sys.argv[1]) if len(sys.argv) > 1 else 20


def main() -> None:
    failed: Counter[str] = Counter()
    for n in range(1, TIMES + 1):
        start = time.monotonic()
        names, said = run()
        failed.update(names)
        if names:
            (ROOT / ".local" / f"tasks_faults-{n}.log").write_text(said)
        print(
            f"run {n} of {TIMES}: {len(names)} failed, {time.monotonic() - start:.0f} s,"
            f" load average {os.getloadavg()[0]:.1f}",
            flush=True,
        )
    for name, times in failed.most_common():
        print(f"  {times} x {name}")
    print(f"{failed.total()} failures in {TIMES} runs (goal 0)")
    sys.exit(bool(failed))


def run() -> tuple[list[str], str]:
    """Run the tests once, two at a time; return the failed tests and pytest's output."""
    done = subprocess.run(
        [sys.executable, *"-m pytest tests/faults/tasks -n 2 -q --tb=long".split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    names = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    if done.returncode and not names:
        names = [f"pytest itself (exit code {done.returncode})"]
    return names, done.stdout + done.stderr


if __name__ == "__main__":
    main()
