"""Check the sources without a database: `python3 run.py check [--fix]`.

Runs every step even if an earlier one fails, and exits with 1 if one did. With --fix, formats
Python files and templates and corrects what the linter can, then checks the rest.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tools import ROOT

TOOLS = Path(sys.executable).parent
# An address at which no server listens: nothing embedded starts, and no connection is made.
NO_DATABASE = {
    "DATABASE_URL": "postgres://nobody@127.0.0.1:1/none",
    "SECRET_KEY": "only-to-check-the-sources-0123456789",
}


@dataclass(frozen=True)
class Step:
    """One check: the command that fails if the sources do, and the one that mends them."""

    name: str
    command: tuple[str, ...]
    fix: tuple[str, ...] = ()

    def run(self, *, fix: bool = False) -> subprocess.CompletedProcess[str]:
        """Run the check, or its fix; return the process with all its output."""
        return subprocess.run(
            self.fix if fix and self.fix else self.command,
            cwd=ROOT,
            env=os.environ | NO_DATABASE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )


def steps() -> list[Step]:
    """Return every check, quick ones first."""
    ruff, djade = str(TOOLS / "ruff"), str(TOOLS / "djade")
    templates = sorted(str(path) for path in (ROOT / "templates").rglob("*.html"))
    formatted = (djade, "--target-version", "5.2")
    migrations = ("manage.py", "makemigrations", "--check", "--dry-run", "--skip-checks")
    return [
        Step("format", (ruff, "format", "--check", "."), (ruff, "format", ".")),
        Step("lint", (ruff, "check", "."), (ruff, "check", "--fix", ".")),
        Step("templates", (*formatted, "--check", *templates), (*formatted, *templates)),
        Step("spelling", (str(TOOLS / "codespell"),)),
        Step("layers", (str(TOOLS / "lint-imports"), "--no-cache")),
        Step("migrations", (sys.executable, "-W", "ignore::RuntimeWarning", *migrations)),
        Step("types", (str(TOOLS / "mypy"),)),
    ]


def main() -> int:
    """Run the steps, print a line for each and the output of those that fail."""
    parser = argparse.ArgumentParser(prog="run.py check", description=__doc__)
    parser.add_argument("--fix", action="store_true", help="format, and fix what can be fixed")
    fix = parser.parse_args().fix
    failed = []
    for step in steps():
        began = time.monotonic()
        run = step.run(fix=fix)
        # djade's exit code tells that it changed a file, which is what --fix is for.
        passed = not run.returncode or (fix and bool(step.fix) and not step.run().returncode)
        verdict = "passed" if passed else "FAILED"
        print(f"{step.name:12} {verdict}  {time.monotonic() - began:5.1f} s", flush=True)
        if not passed:
            failed.append(step.name)
            print(run.stdout, flush=True)
    print(f"Failed: {', '.join(failed)}." if failed else "Every check passed.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
