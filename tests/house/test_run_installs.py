"""Installation by `run.py`: once, completely, one start at a time. Requirements are empty here."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 240

# What run.py becomes in the end: stand-ins that say how they were called.
MANAGE = "import sys; print('manage.py', *sys.argv[1:])"
SUITE = "import sys; print('suite', *sys.argv[1:])"
SDK = "print('sdk')"

# The venv module as it is on Debian without python3-venv: it cannot put pip into what it makes.
VENV = """
import runpy, sys
if "--without-pip" not in sys.argv:
    sys.exit("ensurepip is not available")
del sys.path[0]
runpy.run_module("venv", run_name="__main__")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with `run.py`, requirements that need no download, and the stand-ins."""
    shutil.copy(ROOT / "run.py", tmp_path)
    (tmp_path / "requirements.txt").write_text("# nothing\n")
    (tmp_path / "requirements-embedded.txt").write_text("-r requirements.txt\n")
    (tmp_path / "requirements-dev.txt").write_text("# nothing, for tests\n")
    (tmp_path / "manage.py").write_text(MANAGE)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "suite.py").write_text(SUITE)
    (tmp_path / "tools" / "sdk.py").write_text(SDK)
    yield tmp_path
    shutil.rmtree(tmp_path, ignore_errors=True)  # an environment of its own is large


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "run.py", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def said_by(process: subprocess.Popen[str]) -> str:
    said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, said
    return said


def test_it_installs_once_and_again_when_something_is_missing(folder: Path) -> None:
    first = said_by(start(folder, "--port", "8001", "--no-demo"))
    assert "Installing requirements-embedded.txt" in first
    assert first.endswith("manage.py up --port 8001 --no-demo\n")

    assert said_by(start(folder)) == "manage.py up\n"

    tests = said_by(start(folder, "test", "-k", "line", "--help"))
    assert "Installing requirements-dev.txt" in tests
    assert tests.endswith("suite -n 4 --dist loadfile -k line --help\n")
    assert said_by(start(folder, "sdk")) == "sdk\n"

    assert said_by(start(folder)) == "manage.py up\n"

    (folder / "requirements.txt").write_text("# still nothing, in other words\n")
    assert "Installing requirements-embedded.txt" in said_by(start(folder))


@pytest.mark.in_turns(2)
def test_two_starts_at_once_install_once(folder: Path) -> None:
    (folder / "venv.py").write_text(VENV)  # without pip inside, it is made sooner
    together = [start(folder), start(folder)]

    said = [said_by(each) for each in together]

    assert sum("Installing" in each for each in said) == 1
    assert sum("Waiting for another run.py" in each for each in said) == 1
    assert all(each.endswith("manage.py up\n") for each in said)


@pytest.mark.in_turns(2)
def test_an_install_cut_off_by_kill_9_is_begun_afresh(folder: Path) -> None:
    (folder / "venv.py").write_text(VENV)  # without pip inside, it is made sooner
    cut_off = start(folder)
    while not (folder / ".venv" / "pyvenv.cfg").exists():
        time.sleep(0.01)
    cut_off.kill()
    cut_off.communicate()
    half_made = folder / ".venv" / "half-made"
    half_made.touch()

    said = said_by(start(folder))

    assert said.endswith("manage.py up\n")
    assert not half_made.exists()


@pytest.mark.in_turns(2)
def test_without_ensurepip_the_pip_outside_is_used(folder: Path) -> None:
    (folder / "venv.py").write_text(VENV)

    said = said_by(start(folder))

    assert said.endswith("manage.py up\n")
    assert not list((folder / ".venv" / "bin").glob("pip*"))


@pytest.mark.in_turns(2)
def test_what_pip_says_is_shown_when_it_fails(folder: Path) -> None:
    (folder / "venv.py").write_text(VENV)  # without pip inside, it is made sooner
    (folder / "requirements.txt").write_text("./not-there\n")

    failing = start(folder)
    said, _ = failing.communicate(timeout=PATIENCE_SECONDS)

    assert failing.returncode == 1
    assert "not-there" in said
    assert "pip could not install" in said


def wheel(folder: Path, name: str, version: str, requires: str = "") -> str:
    """Make a wheel that holds nothing. Return its locked requirement, with its hash."""
    file, about = folder / f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nProvides-Extra: more\n"
    tags = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(file, "w") as made:
        made.writestr(f"{about}/METADATA", metadata + requires)
        made.writestr(f"{about}/WHEEL", tags)
        made.writestr(f"{about}/RECORD", "")
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}\n"


def test_a_newer_release_of_a_locked_package_changes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = wheel(folder, "user", "1.0", "Requires-Dist: used[more]>=1\n")
    locked += wheel(folder, "used", "1.0")
    wheel(folder, "used", "2.0")
    (folder / "requirements.txt").write_text(locked)
    (folder / "venv.py").write_text(VENV)  # without pip inside, it is made sooner
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))

    said_by(start(folder))

    installed = [each.name for each in folder.glob(".venv/lib/python3*/site-packages/use*")]
    assert sorted(installed) == ["used-1.0.dist-info", "user-1.0.dist-info"]


def test_an_old_python_is_told_so() -> None:
    pretend = (
        "import sys, runpy; sys.version_info = (3, 9, 2); sys.argv = ['run.py'];"
        "runpy.run_path('run.py', run_name='__main__')"
    )
    told = subprocess.run(
        [sys.executable, "-c", pretend], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert told.returncode == 1
    assert told.stderr.startswith("Python 3.11 or newer is needed")
