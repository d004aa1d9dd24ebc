"""Rules of the project that no other tool checks."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from pipeline.domain import errors
from pipeline.domain.errors import LineError
from tests.house.files import PACKAGES, SELF, name_of, project_files, python_files, tree_of
from tests.support.environment import ROOT
from tests.support.fast import MARKS_OF_FILES, MARKS_OF_FOLDERS, TESTS
from tests.support.schedule import STOPWATCH, WAITS

LOCKING = re.compile(r"FOR\s+(NO\s+KEY\s+)?UPDATE|FOR\s+(KEY\s+)?SHARE|select_for_update", re.I)
LINE_ROOM = {"pipeline/line/lock.py"}
WRITERS = {"pipeline/line/write.py"}
SANDBOX_ROOM = {  # lock a company or its clock, never a job
    "jobs/sandboxes.py",
    "pipeline/line/clock.py",
}
TEAM_ROOM = {  # lock a company, a request for one, or who is in its team, never a job
    "jobs/invitations.py",
    "jobs/sign_up.py",
    "jobs/team.py",
    "pipeline/services/job_templates.py",
    "pipeline/provisioning/people.py",
    "pipeline/provisioning/tokens.py",
    "pipeline/sign_on/people.py",
    "pipeline/sign_on/providers.py",
}
WORK_ROOM = {"pipeline/work/schedules.py"}  # locks a company and its schedules, never a job
FILE_ROOM = {  # lock files and imports, never a job
    "pipeline/files/imports/admitting.py",
    "pipeline/files/imports/reading.py",
    "pipeline/privacy/erase.py",
    "pipeline/files/stored.py",
}
ATTACHMENT_ROOM = {  # lock a file or its application, never a job
    "pipeline/attachments/storage.py",
    "pipeline/attachments/tasks.py",
    "pipeline/attachments/uploads.py",
}
MESSAGE_ROOM = {  # lock an application or a company, never a job
    "pipeline/correspondence/templates.py",
    "pipeline/correspondence/threads.py",
}
KEY_ROOM = {  # lock a key, an applicant, or the row of a job's last what-if, never a job
    "pipeline/integrations/portal_tokens.py",
    "pipeline/notifications/devices.py",
    "pipeline/figures/whatif/run.py",
}
DECISION_ROOM = {  # lock a pending decision, an application, a rota or criteria, never a job
    "pipeline/review/annotations.py",
    "pipeline/services/joining.py",
    "pipeline/review/decisions.py",
    "pipeline/review/rota.py",
    "pipeline/review/scores.py",
}
TEXT_ROOM = {"pipeline/texts/letterheads.py"}  # lock a company's letterhead, never a job
WEBHOOK_ROOM = {  # lock a company, its endpoints and the place of a reader, never a job
    "pipeline/webhooks/endpoints.py",
    "pipeline/webhooks/deliver.py",
    "pipeline/webhooks/queue.py",
    "pipeline/chat/channels.py",
    "pipeline/chat/delivery.py",
}


@cache
def code_of(path: Path) -> str:
    """A file's text without its docstrings, which may speak of anything."""
    tree = tree_of(path)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [entry for entry in body if not _is_text(entry)] or [ast.Pass()]
    return ast.unparse(tree)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


# Gives a company's page a name, which nobody else can take.
CAREERS_ROOM = {"pipeline/careers/pages.py"}
# Publishes a company's texts, one editor after the other.
CONSENTS_ROOM = {"pipeline/consents/pool.py", "pipeline/consents/versions.py"}
# Takes whole archived logs off the database.
REMOVAL = {"pipeline/audit/removal.py"}


def test_jobs_are_locked_in_one_place() -> None:
    lockers = {
        name_of(path)
        for path in python_files("jobs", "applicants", "pipeline")
        if LOCKING.search(code_of(path))
    }

    assert lockers
    lines_and_teams = LINE_ROOM | TEAM_ROOM | WORK_ROOM | FILE_ROOM | WEBHOOK_ROOM | KEY_ROOM
    others = ATTACHMENT_ROOM | SANDBOX_ROOM | DECISION_ROOM | CAREERS_ROOM | REMOVAL | TEXT_ROOM
    others |= CONSENTS_ROOM | MESSAGE_ROOM
    assert lockers <= lines_and_teams | others


WRITES = re.compile(
    r"(INSERT INTO|UPDATE|DELETE FROM) (pipeline_application|pipeline_event|jobs_job)\b"
)


def test_the_line_is_written_in_one_place() -> None:
    writers = {name_of(path) for path in python_files(*PACKAGES) if WRITES.search(code_of(path))}

    assert writers <= WRITERS | REMOVAL


def _prints(path: Path) -> Iterator[str]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("print", "breakpoint"):
            yield f"{name_of(path)}:{node.lineno}"


def test_the_product_does_not_print() -> None:
    assert [where for path in python_files(*PACKAGES) for where in _prints(path)] == []


def test_every_refusal_stands_in_the_table_of_http_problems() -> None:
    problems = pytest.importorskip("pipeline.api.problems")
    refusals = [
        error
        for _, error in inspect.getmembers(errors, inspect.isclass)
        if issubclass(error, LineError) and error is not LineError
    ]

    assert len(refusals) >= 12
    assert [error.__name__ for error in refusals if error not in problems.PROBLEM_TYPES] == []


OF_A_MACHINE = re.compile(
    "|".join(
        [
            r"(?<!\w)/work/\w",  # not a room of ours of that name
            r"/home/[a-z]",
            r"/Users/\w",
            r"shared/(design|prototypes|seeds)",
            r"pypi\.org",
            r"pythonhosted",
            r"artifactory",
            r"(extra-)?index-url",
            r"proxy\.golang",
        ]
    )
)
TEXTS = {".py", ".toml", ".txt", ".md", ".yml", ".yaml", ".html", ".css", ".js", ".json", ".sh", ""}


def test_no_file_names_a_machine_or_a_registry() -> None:
    files = [path for path in project_files() if path.suffix in TEXTS and path.parent != SELF]
    named = [
        f"{name_of(path)}:{number}"
        for path in files
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if OF_A_MACHINE.search(line) or str(ROOT) in line
    ]

    assert len(files) > 50
    assert named == []


def test_every_verb_says_what_comes_back_and_what_is_refused() -> None:
    verbs = {
        f"{name_of(path)} {node.name}": ast.get_docstring(node)
        for path in python_files("pipeline")
        if path.parent.name == "services"
        for node in tree_of(path).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }

    assert len(verbs) >= 10
    assert [verb for verb, docstring in verbs.items() if not docstring] == []


def test_every_file_and_folder_with_a_mark_or_a_place_in_the_order_exists() -> None:
    places = [
        *MARKS_OF_FOLDERS,
        *MARKS_OF_FILES,
        *(each.removeprefix("tests/") for each in (STOPWATCH, *WAITS)),
    ]

    assert [place for place in places if not (TESTS / place).exists()] == []
