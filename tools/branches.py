"""Branches of the core that the tests of its own rooms do not cover; there must be none.

python -m tools.branches

Runs these tests with coverage, and exits with 1 if a branch is missed that is not in EXPLAINED.
CI runs it beside the other jobs. It takes about a minute of processor time.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

PRODUCT = """
pipeline.domain pipeline.line pipeline.services pipeline.audit
jobs.policies jobs.quiet_hours jobs.time_zones
tasks.errors tasks.json tasks.payloads tasks.retry tasks.scheduling
""".split()
TESTS = """
tests/domain tests/line tests/services tests/audit tests/jobs tests/api/test_permissions.py
tests/tasks/scheduling tests/tasks/test_rules.py tests/tasks/test_enqueue.py
""".split()
# How many branches of a file only a broken database could take. docs/testing.md says which.
EXPLAINED: dict[str, int] = {"pipeline/line/settle.py": 1}


def missed(report: dict[str, Any]) -> dict[str, list[list[int]]]:
    """Return the branches that were not taken, by file, if there are more than were explained."""
    found = {name: facts["missing_branches"] for name, facts in report["files"].items()}
    return {name: each for name, each in found.items() if len(each) > EXPLAINED.get(name, 0)}


def main() -> int:
    """Run the tests, print each missed branch as two lines of its file; return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "branches.json"
        os.environ["COVERAGE_FILE"] = f"{folder}/data"
        measured = [f"--cov={name}" for name in PRODUCT]
        options = ["--cov-branch", "--cov-fail-under=0", f"--cov-report=json:{path}"]
        code = pytest.main(["-q", "-n", "2", *measured, *options, *sys.argv[1:], *TESTS])
        if code:
            return int(code)
        report = json.loads(path.read_text())
    for name, branches in missed(report).items():
        sys.stdout.writelines(f"{name}: no test goes from {a} to {b}\n" for a, b in branches)
    totals = report["totals"]
    sys.stdout.write(f"{totals['covered_branches']} of {totals['num_branches']} branches\n")
    return 1 if missed(report) else 0


if __name__ == "__main__":
    sys.exit(main())
