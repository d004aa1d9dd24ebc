"""The project's own files, as a check of the house sees them."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.support.environment import ROOT

PACKAGES = ("tasks", "jobs", "applicants", "pipeline")
SELF = Path(__file__).resolve().parent


def project_files() -> list[Path]:
    """Every file that is in the repository, or would be with the next commit."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


def python_files(*folders: str) -> list[Path]:
    """Our Python files, without migrations; only those below the folders, if any are given."""
    files = [path for path in project_files() if path.suffix == ".py"]
    files = [path for path in files if "migrations" not in path.parts]
    if folders:
        files = [path for path in files if path.relative_to(ROOT).parts[0] in folders]
    assert files
    return files


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), name_of(path))


def functions_in(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def run_tool(*command: str) -> None:
    """Run one of the tools; if it objects, its words are the failure."""
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"{' '.join(command)}\n{run.stdout}\n{run.stderr}"
