#!/usr/bin/env python3
"""Start Next in Line, test it or check its sources, from nothing but Python 3.11 or newer.

  python3 run.py           database, demo company, web pages and workers; Ctrl-C stops it all
  python3 run.py test      every test; further arguments go to pytest, e.g. run.py test -k line
       --fast              no browser, no killed processes, no long searches
       --coverage          also measure which lines and branches of the product the tests run,
                           and fail under the floor in pyproject.toml
       -n 0                one test at a time, for a debugger; three at a time otherwise
  python3 run.py check     format, lint, templates, spelling, layers, migrations and types, without
                           a database; --fix formats, and fixes what can be fixed

The first start installs the requirements into .venv, in this folder, and changes nothing else on
this machine. Data is kept in .local. Set DATABASE_URL and SECRET_KEY to use a PostgreSQL of your
own; the demo company is put there too, unless you say --no-demo.
"""

from __future__ import annotations  # also lets an old Python read as far as the version check

import argparse
import hashlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "installed.json"
LOCK = ROOT / ".local" / "install.lock"
CUT_OFF = ROOT / ".local" / "installing"  # there while we install, and after an install was cut off
RUNTIME = ROOT / "requirements-embedded.txt"  # contains requirements.txt
TESTS = ROOT / "requirements-dev.txt"  # contains both others
COVERAGE = ["--cov", "--cov-report=term:skip-covered"]
THREE_AT_A_TIME = ["-n", "3", "--dist", "worksteal"]  # many tests only wait

OLDEST_PYTHON = (3, 11)
TICK_SECONDS = 1
REPEAT_SECONDS = 10  # without a terminal: how often to say that the same thing still goes on
PIP_LINES_KEPT = 25


def main(arguments: list[str]) -> None:
    """Check the machine, install what is missing, then become the program asked for."""
    command, options = arguments[:1], arguments[1:]
    if command == ["test"]:
        requirements, program = TESTS, ["-m", "pytest", *pytest_options(options)]
    elif command == ["check"]:
        requirements, program = TESTS, ["-m", "tests.house.check", *options]
    else:
        requirements, program = RUNTIME, ["manage.py", "up", *up_options(arguments)]
    refuse_unfit_machine()
    with only_one_at_a_time() as lock:
        install_what_is_missing(requirements, lock)
    os.chdir(ROOT)
    os.execv(str(PYTHON), [str(PYTHON), *program])


def pytest_options(options: list[str]) -> list[str]:
    """Return pytest's options: three tests at a time, unless these choose otherwise."""
    chosen = any(
        option in ("--pdb", "--trace", "no:xdist", "-pno:xdist")
        or option.startswith(("-n", "--numprocesses", "--dist"))
        for option in options
    )
    coverage = COVERAGE if "--coverage" in options else []
    rest = [option for option in options if option != "--coverage"]
    return [*([] if chosen else THREE_AT_A_TIME), *coverage, *rest]


def up_options(arguments: list[str]) -> list[str]:
    """Return the options for `manage.py up`; refuse unknown ones before anything is installed."""
    parser = argparse.ArgumentParser(
        usage="run.py [--port N] [--no-demo]\n"
        "       run.py test [--fast] [--coverage] [pytest arguments]\n"
        "       run.py check [--fix]",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, metavar="N", help="of the web pages (8000)")
    parser.add_argument("--no-demo", action="store_true", help="start without the demo company")
    parser.parse_args(arguments)
    return arguments


def refuse_unfit_machine() -> None:
    """Exit with advice on a machine where the rest cannot work."""
    if os.name != "posix":
        sys.exit(
            "run.py needs Linux, macOS or another POSIX system. On Windows use WSL or Docker "
            "(docker compose up); or give manage.py a PostgreSQL of your own with DATABASE_URL."
        )
    if sys.version_info < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        this = f"{sys.version.split()[0]} ({sys.executable})"
        sys.exit(f"Python {wanted} or newer is needed; this is {this}. Try python{wanted} run.py")


@contextmanager
def only_one_at_a_time() -> Iterator[IO[str]]:
    """Wait for another start in this folder; yield the lock's file.

    A program that inherits the file and outlives us keeps the next start waiting.
    """
    import fcntl  # missing on Windows, which has been refused by now

    LOCK.parent.mkdir(exist_ok=True)
    with LOCK.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another start is installing here; waiting for it ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock


def install_what_is_missing(wanted: Path, lock: IO[str]) -> None:
    """Install the requirements of the file `wanted` into .venv, unless they are there already.

    Start from an empty .venv if an earlier install was cut off.
    """
    if installed().get(wanted.name) == fingerprint(wanted):
        return
    say(f"Installing {wanted.name} into .venv; the first time takes a minute or two.")
    fresh = CUT_OFF.exists() or not runs_this_python(PYTHON)
    CUT_OFF.touch()
    if fresh:
        make_venv(lock)
    STAMP.unlink(missing_ok=True)
    pip_install(wanted, lock)
    STAMP.write_text(json.dumps({file.name: fingerprint(file) for file in (wanted, RUNTIME)}))
    CUT_OFF.unlink()


def installed() -> dict[str, str]:
    """Return the fingerprints of the requirement files that .venv satisfies."""
    try:
        return dict(json.loads(STAMP.read_text())) if PYTHON.exists() else {}
    except (OSError, ValueError):
        return {}


def fingerprint(file: Path) -> str:
    """Return a hash of the file, of the files it includes with -r, and of this Python's version."""
    text = file.read_bytes()
    for line in text.splitlines():
        if line.startswith(b"-r "):
            text += (file.parent / line[3:].decode().strip()).read_bytes()
    return hashlib.sha256(text + sys.version.encode()).hexdigest()


def runs_this_python(python: Path) -> bool:
    """Return whether `python` exists and has exactly our version."""
    command = [str(python), "-c", "import sys; print(sys.version)"]
    try:
        said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout
    except OSError:
        return False
    return said.strip() == sys.version.strip()


def make_venv(lock: IO[str]) -> None:
    """Replace .venv by an empty one, with pip inside if this Python can install it."""
    command = [sys.executable, "-m", "venv", "--clear", str(VENV)]
    held = [lock.fileno()]
    if subprocess.run(command, capture_output=True, check=False, pass_fds=held).returncode:
        # Debian and Ubuntu without python3-venv: filled from outside then, see pip_command
        subprocess.run([*command, "--without-pip"], check=True, pass_fds=held)


def pip_command() -> list[str]:
    """Return the command of the pip inside .venv, else of one outside that installs into it."""
    outside = [sys.executable, "-m", "pip", "--python", str(PYTHON)]
    for command in ([str(PYTHON), "-m", "pip"], outside):
        if not subprocess.run([*command, "--version"], capture_output=True, check=False).returncode:
            return command
    sys.exit(
        "This Python comes without pip and cannot make one. On Debian and Ubuntu: "
        "sudo apt install python3-venv (or python3-pip), then start again."
    )


def pip_install(wanted: Path, lock: IO[str]) -> None:
    """Install what `wanted` lists and show pip's progress; exit with its last lines if it fails."""
    options = ["install", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    pip = subprocess.Popen(
        [*pip_command(), *options, "-r", str(wanted)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=[lock.fileno()],
    )
    last_words = follow(pip)
    if pip.wait():
        sys.exit("\n".join([*last_words, "pip could not install the requirements; see above."]))


def follow(pip: subprocess.Popen[bytes]) -> deque[str]:
    """Show pip's progress until it ends; return the last lines of its output."""
    said: deque[str] = deque(maxlen=PIP_LINES_KEPT)
    shown = Progress()
    for line in lines_and_ticks(pip):
        if line:
            said.append(line)
        shown.show(in_short(line))
    shown.close()
    return said


def lines_and_ticks(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """Yield each line of output as it comes, and an empty one after each second without any."""
    assert process.stdout is not None  # noqa: S101 -- for the type checker
    rest = b""
    while True:
        if not select.select([process.stdout], [], [], TICK_SECONDS)[0]:
            yield ""
            continue
        read = os.read(process.stdout.fileno(), 65536)
        *lines, rest = (rest + read).split(b"\n")
        yield from (line.decode(errors="replace").rstrip() for line in lines)
        if not read:
            return


def in_short(line: str) -> str:
    """Shorten one of pip's lines for a person; return an empty one if it says nothing new."""
    words = line.split()
    if words[:1] in (["Collecting"], ["Downloading"]):
        return " ".join([words[0], os.path.basename(words[1]), *words[2:4]]).split(" (from")[0]
    if line.startswith("Installing collected packages"):
        return f"Installing {len(words) - 3} packages"
    return line.strip() if words[:1] == ["ERROR:"] else ""


class Progress:
    """Progress display: one line that renews itself in a terminal, else a line now and then."""

    def __init__(self) -> None:
        self._in_terminal = sys.stdout.isatty()
        self._began = self._last_said = time.monotonic()
        self._text = "Starting pip"

    def show(self, text: str) -> None:
        """Show `text`; an empty one means that the last one still goes on."""
        now = time.monotonic()
        is_due = bool(text) or now - self._last_said > REPEAT_SECONDS
        self._text = text or self._text
        status = f"  [{now - self._began:3.0f} s] {self._text}"
        if self._in_terminal:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\033[K{status[:width]}", end="", flush=True)
        elif is_due:
            self._last_said = now
            say(status)

    def close(self) -> None:
        """Leave the cursor at the start of a clean line."""
        if self._in_terminal:
            print("\r\033[K", end="", flush=True)


def say(text: str) -> None:
    """Print one line to standard output at once."""
    print(text, flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("\nStopped. An interrupted install starts afresh next time.")
