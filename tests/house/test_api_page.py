"""`docs/api.md`: its commands run as written, and its tables match the code."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.models import JobStatus
from jobs.policies import Policy, policy_limits
from pipeline.api.endpoint import SUNSET
from pipeline.api.openapi.document import build_document, list_operations
from pipeline.api.problem_types import ALL_PROBLEM_TYPES
from pipeline.api.problems import FIELD_CODES
from pipeline.config import env
from pipeline.domain.states import EventType, Outcome, Status
from pipeline.models import (
    EXTERNAL_ID_LENGTH,
    METADATA_KEY_LENGTH,
    METADATA_KEYS,
    METADATA_VALUE_LENGTH,
)
from pipeline.server.requests import MOST_WAITING, PER_CLIENT
from tests.house.running import PACKAGES, SOURCES, Up, processes_in
from tests.support.environment import ROOT
from tests.support.tools import needed_tool

PAGE = (ROOT / "docs" / "api.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)
NAMES = "Other systems' endpoint names"
EXPECTED = re.compile(r"# → (.*)$", re.M)


@pytest.fixture
def running() -> Iterator[tuple[Path, int]]:
    """The product in a separate folder, just started; gives the folder and the port."""
    folder = Path(tempfile.mkdtemp(prefix="page-", dir="/tmp")).resolve()
    folder.chmod(0o755)
    for name in SOURCES:
        shutil.copy(ROOT / name, folder)
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name)
    shutil.copytree(ROOT / "docs" / "examples", folder / "docs" / "examples")
    (folder / ".venv").symlink_to(sys.prefix)
    up = Up(folder)
    try:
        up.hear("is ready")
        yield folder, up.port
        up.end(signal.SIGTERM)
    finally:
        for process_id in processes_in(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.faults
def test_every_command_of_the_page_runs_as_written(running: tuple[Path, int]) -> None:
    needed_tool("curl", "apt-get install curl")
    folder, port = running
    marked = [f"{block}\necho 'end of block {n}'" for n, block in enumerate(BLOCKS)]
    script = "set -euo pipefail\n" + "\n".join(marked).replace(":8000", f":{port}")

    done = subprocess.run(
        ["/bin/bash", "-c", script],
        cwd=folder,
        env=os.environ | {"DATABASE_URL": ""},
        capture_output=True,
        text=True,
        check=False,
    )

    said = re.split(r"^end of block \d+\n", done.stdout, flags=re.M)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(BLOCKS) > 8
    assert [text.splitlines() for text in said[:-1]] == [EXPECTED.findall(each) for each in BLOCKS]


def table(heading: str) -> list[list[str]]:
    """The rows of the table under a heading."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_the_page_has_every_error_and_no_other() -> None:
    told = [(int(status), code.strip("`"), when) for status, code, when in table("Errors")]

    assert sorted(told) == sorted(
        (kind.status, kind.code, kind.about) for kind in ALL_PROBLEM_TYPES
    )


def test_the_page_has_every_status_outcome_and_event() -> None:
    section = PAGE.partition("## Statuses and events\n")[2].partition("\n## ")[0]
    events = {
        name for row in table("Statuses and events") for name in re.findall("`(.*?)`", row[0])
    }
    words = {*Status, *Outcome, *JobStatus, *EventType}

    assert [word.value for word in words if f"`{word.value}`" not in section] == []
    assert events - {"status", "event"} == {each.value for each in (*Status, *EventType)}


def test_the_page_has_every_code_of_a_field_and_no_other() -> None:
    told = [(code.strip("`"), meaning) for code, meaning in table("Codes of fields")]

    assert told == list(FIELD_CODES.items())


def test_every_old_name_is_in_the_changelog() -> None:
    changes = (ROOT / "docs" / "api-changelog.md").read_text()
    old = {
        parameter["name"]
        for _, _, operation in list_operations(build_document())
        for parameter in operation["parameters"]
        if parameter.get("deprecated")
    }

    assert [name for name in old if f"?{name}=`" not in changes] == []
    assert f"{SUNSET:%-d %B %Y}" in changes


def test_the_limits_of_what_is_attached_are_those_of_the_code() -> None:
    told = PAGE.partition("### Your own ids")[2].partition("```")[0]

    for limit in (EXTERNAL_ID_LENGTH, METADATA_KEYS, METADATA_KEY_LENGTH, METADATA_VALUE_LENGTH):
        assert f" {limit} " in told.replace("\n", " ")


def test_the_page_has_every_rate_with_its_default() -> None:
    assert {name.strip("`"): rate for name, _, rate in table("Limits")} == env._RATES


def test_the_page_has_every_field_of_a_policy_with_its_default() -> None:
    told = {name.strip("`"): default.strip("`") for name, default, *_ in table("Policy of a job")}

    assert told == {name: json.dumps(value) for name, value in Policy().values().items()}


def test_whatever_the_page_names_is_there() -> None:
    named = set(re.findall(r"`(/[a-z{}_/-]+)`", " ".join(row[1] for row in table(NAMES))))

    assert len(named) > 12
    assert named <= build_document()["paths"].keys()


def test_the_page_has_the_limits_of_a_policy_and_of_one_clients_requests() -> None:
    ranges = re.findall(r"^\| `(\w+)` \| \S+ \| (\d+) to (\d+) \|", PAGE, re.M)
    per_client = f"can have {PER_CLIENT} requests under way at once"

    assert {name: (int(low), int(high)) for name, low, high in ranges} == {
        name: policy_limits(name)
        for name, entry in Policy.__dataclass_fields__.items()
        if "low" in entry.metadata
    }
    assert per_client in PAGE
    assert f"{MOST_WAITING} more requests" in PAGE
