"""The clients in docs/examples with the sources that are not in git, made once for all workers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from pipeline.database import file_locks
from tests.support.environment import ROOT
from tests.support.tools import needed_module, needed_tool
from tools.sdk import GENERATOR, PYTHON, TYPESCRIPT, make_python

DOCUMENT = "docs/openapi.yaml"
MADE = shutil.ignore_patterns("models.py", "synchronous", "schema.ts", "dist", "node_modules")


def copied(client: str, root: Path) -> Path:
    """Copy a client, as it is in git, and the document; return the client's folder."""
    shutil.copytree(ROOT / client, root / client, ignore=MADE)
    shutil.copy(ROOT / DOCUMENT, root / DOCUMENT)
    return root / client


def made_once(factory: pytest.TempPathFactory, client: str, make: Callable[[Path], None]) -> Path:
    """Return the folder of a client that the first worker to need it copied and made."""
    own = factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    root = shared / Path(client).name
    with file_locks.hold(shared / f"{root.name}.lock"):
        if not root.exists():
            making = root.with_suffix(".making")
            shutil.rmtree(making, ignore_errors=True)  # of a worker that failed
            copied(client, making)
            make(making)
            making.rename(root)
    return root / client


@pytest.fixture(scope="session")
def python_sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the Python client."""
    return made_once(tmp_path_factory, PYTHON, make_python)


@pytest.fixture
def python_client(python_sdk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test import the Python client."""
    monkeypatch.syspath_prepend(python_sdk)


@pytest.fixture(scope="session")
def typescript_sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the TypeScript client, built as its page says."""
    for tool in ("tsc", GENERATOR):
        needed_tool(tool, "npm install --global typescript openapi-typescript")
    npm = needed_tool("npm", "the package npm")

    def build(root: Path) -> None:
        told = subprocess.run(
            [npm, "run", "--silent", "build"],
            cwd=root / TYPESCRIPT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert told.returncode == 0, told.stdout + told.stderr

    return made_once(tmp_path_factory, TYPESCRIPT, build)


def _needs(found: Distribution, extras: set[str]) -> list[Requirement]:
    """Return what a distribution declares that it needs here, with some of its extras."""
    declared = [Requirement(each) for each in found.requires or ()]
    return [
        each
        for each in declared
        if each.marker is None
        or any(each.marker.evaluate({"extra": extra}) for extra in extras | {""})
    ]


def _copy_needs(needs: list[Requirement], place: Path) -> None:
    """Copy the distributions that are needed, and those that they need, without a network."""
    done: set[tuple[str, str]] = set()
    while needs:
        need = needs.pop()
        found = distribution(need.name)
        key = (found.name, ",".join(sorted(need.extras)))
        if key in done:
            continue
        done.add(key)
        needs += _needs(found, set(need.extras))
        for each in found.files or ():
            if ".." not in each.parts and "__pycache__" not in each.parts:
                (place / each).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(found.locate_file(each)), place / each)


def _install(root: Path, extras: set[str]) -> None:
    """Install the Python client into an environment that has only what the client declares."""
    client = copied(PYTHON, root / "source")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run(build, cwd=client, capture_output=True, check=True)
    [wheel] = (client / "dist").iterdir()
    venv.create(root / "venv", with_pip=False, symlinks=True)
    python = root / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-index"]
    subprocess.run([*pip, "--no-deps", wheel], capture_output=True, check=True)
    [place] = (root / "venv" / "lib").glob("python*/site-packages")
    [installed] = Distribution.discover(name="nextinline-client", path=[str(place)])
    _copy_needs(_needs(installed, extras), place)


def installed(factory: pytest.TempPathFactory, *extras: str) -> Path:
    """Return the folder of programs of the environment that the first worker to need it made."""
    own = factory.getbasetemp()
    name = "-".join(("installed", *extras))
    root = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name
    with file_locks.hold(root.with_suffix(".lock")):
        if not (root / "whole").exists():
            shutil.rmtree(root, ignore_errors=True)  # of a worker that failed
            _install(root, set(extras))
            (root / "whole").touch()
    return root / "venv" / "bin"


@pytest.fixture(scope="session")
def installed_client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the programs of a clean environment with the Python client."""
    return installed(tmp_path_factory)


@pytest.fixture(scope="session")
def installed_assistant(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the programs of a clean environment with the client's extra `mcp`."""
    needed_module("mcp")
    return installed(tmp_path_factory, "mcp")
