"""Look for known vulnerabilities of the locked requirements: `python -m tools.audit`.

Needs a network, for pip-audit itself and for the database of advisories. Without one it says so and
exits with 0; it exits with 1 only if something was found.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tools import ROOT

FILES = ("requirements.txt", "requirements-dev.txt")


def main() -> int:
    """Audit each file; return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "venv" / "bin" / "python"
        make = [[sys.executable, "-m", "venv", folder + "/venv"]]
        make.append([str(python), "-m", "pip", "install", "--quiet", "pip-audit"])
        for command in make:
            if subprocess.run(command, check=False).returncode:
                return _skipped("pip-audit could not be installed")
        return max(_audit(python, file, Path(folder) / "found.json") for file in FILES)


def _audit(python: Path, file: str, report: Path) -> int:
    report.unlink(missing_ok=True)
    options = ["--require-hashes", "--disable-pip", "--format=json", f"--output={report}"]
    subprocess.run(
        [str(python), "-m", "pip_audit", *options, "-r", file], cwd=ROOT, check=False, timeout=300
    )
    if not report.is_file():
        return _skipped(f"the advisories for {file} could not be read")
    vulnerable = vulnerabilities(json.loads(report.read_text()))
    for line in vulnerable:
        print(line)
    return int(bool(vulnerable))


def vulnerabilities(report: dict[str, Any]) -> list[str]:
    """Return a line for each vulnerable package of a report."""
    return [
        f"{each['name']} {each['version']}: {', '.join(found['id'] for found in each['vulns'])}"
        for each in report["dependencies"]
        if each.get("vulns")
    ]


def _skipped(why: str) -> int:
    print(f"Audit skipped: {why}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
