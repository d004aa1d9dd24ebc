"""Version and commit of the running program, read once: later files are of another release."""

from __future__ import annotations

import subprocess
import tomllib
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

from pipeline.config import env

_GIT_SECONDS = 2.0
_COMMIT_LENGTH = 12


def _read_version() -> str:
    """Return the version in pyproject.toml; an installed package has it in its metadata."""
    file = env.BASE_DIR / "pyproject.toml"
    with suppress(OSError, KeyError, tomllib.TOMLDecodeError):
        return str(tomllib.loads(file.read_text(encoding="utf-8"))["project"]["version"])
    with suppress(PackageNotFoundError):
        return version("next-in-line")
    return "unknown"


def _read_commit() -> str:
    """Return the commit in SOURCE_COMMIT, or else that of the checkout; empty without either."""
    if env.SOURCE_COMMIT:
        return env.SOURCE_COMMIT[:_COMMIT_LENGTH]
    if (env.BASE_DIR / ".git").exists():
        command = ["git", "rev-parse", f"--short={_COMMIT_LENGTH}", "HEAD"]  # from the PATH
        with suppress(OSError, subprocess.SubprocessError):
            run = subprocess.run(
                command,
                cwd=env.BASE_DIR,
                capture_output=True,
                text=True,
                check=True,
                timeout=_GIT_SECONDS,
            )
            return run.stdout.strip()
    return ""


VERSION = _read_version()
COMMIT = _read_commit()
