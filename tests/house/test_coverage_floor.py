"""`run.py test --coverage` fails under the floor that pyproject.toml names."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from run import pytest_options
from tests.support.environment import ROOT

HALF_RUN = "def run(is_long):\n    if is_long:\n        return 1\n    return 2\n"
TEST = "from half import run\n\n\ndef test_run():\n    assert run(False) == 2\n"
SETTINGS = "[tool.coverage.run]\nsource = ['.']\n[tool.coverage.report]\nfail_under = {floor}\n"


def test_the_project_has_a_floor() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())

    assert 80 <= settings["tool"]["coverage"]["report"]["fail_under"] <= 100


@pytest.mark.parametrize(("floor", "code"), [(99, 1), (50, 0)])
def test_less_coverage_than_the_floor_fails_the_run(tmp_path: Path, floor: int, code: int) -> None:
    (tmp_path / "pyproject.toml").write_text(SETTINGS.format(floor=floor))
    (tmp_path / "half.py").write_text(HALF_RUN)
    (tmp_path / "test_half.py").write_text(TEST)

    options = pytest_options(["--coverage", "-p", "pytest_cov", "-p", "no:xdist"])
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=tmp_path,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == code, ended.stdout
    assert ("FAIL Required test coverage of" in ended.stdout) == bool(code)
