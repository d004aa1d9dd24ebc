"""The clients in docs/examples with the sources that are not in git, made once for all workers."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.database import file_locks
from tests.support.environment import ROOT
from tests.support.tools import needed_tool
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
