"""The units of deploy/systemd, as systemd's own verifier reads them."""

from __future__ import annotations

import re
import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path

import pytest

from pipeline.server.gunicorn_config import graceful_timeout
from tests.support.environment import ROOT

UNITS = ROOT / "deploy" / "systemd"
SERVICES = ("web", "decay", "tasks", "migrate")
# By `systemd-analyze security`: 0 is the safest, 10 the least safe.
MOST_EXPOSURE = 1.5

SYSTEMD_ANALYZE = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(not SYSTEMD_ANALYZE, reason="systemd is not installed")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root directory in which the units are installed as docs/operations.md says."""
    units = tmp_path / "etc/systemd/system"
    shutil.copytree(UNITS, units)
    for program in ("python", "gunicorn"):
        file = tmp_path / "opt/next-in-line/.venv/bin" / program
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
    standard = "sysinit basic shutdown network-online multi-user".split()
    for target in standard:
        (units / f"{target}.target").write_text(f"[Unit]\nDescription={target}\n")
    return tmp_path


def analyze(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SYSTEMD_ANALYZE), f"--root={root}", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


@needs_systemd
def test_the_verifier_finds_nothing(root: Path) -> None:
    units = [f"next-in-line-{name}.service" for name in SERVICES]

    found = analyze(root, "verify", "--man=no", *units, "next-in-line.target")

    assert (found.returncode, found.stdout + found.stderr) == (0, "")


@needs_systemd
def test_control_the_verifier_finds_a_wrong_line(root: Path) -> None:
    unit = root / "etc/systemd/system/next-in-line-web.service"
    unit.write_text(unit.read_text().replace("Restart=always", "Restart=ever"))

    found = analyze(root, "verify", "--man=no", "next-in-line-web.service")

    assert "restart specifier" in found.stderr


@needs_systemd
@pytest.mark.parametrize("name", SERVICES)
def test_the_services_are_hardened(root: Path, name: str) -> None:
    found = analyze(root, "security", "--offline=yes", f"next-in-line-{name}.service")

    score = re.search(r"Overall exposure level for \S+: ([\d.]+)", found.stdout)
    assert score, found.stdout + found.stderr
    assert float(score[1]) <= MOST_EXPOSURE


def test_the_time_to_stop_fits_what_the_programs_need() -> None:
    def option(name: str, key: str) -> str:
        unit = ConfigParser(strict=False, interpolation=None)
        unit.optionxform = str  # type: ignore[assignment,method-assign]
        unit.read(UNITS / f"next-in-line-{name}.service")
        return unit["Service"][key]

    drain = int(option("tasks", "ExecStart").split()[-1])

    assert int(option("web", "TimeoutStopSec")) >= graceful_timeout + 5
    assert int(option("tasks", "TimeoutStopSec")) >= drain + 5
    for name in ("web", "decay", "tasks"):
        assert option(name, "Restart") == "always"
