#!/usr/bin/env python3
"""Start, test or check Next in Line. You need only Python 3.11 or newer.

  python3 run.py           start database, demo company, web pages and workers; Ctrl-C stops all
  python3 run.py test      run every test; other arguments go to pytest, e.g. run.py test -k line;
                           if few fail, run those again, and name what then passes
       --fast              leave out the browser, started processes and long searches
       --long              run the long forms: an hour of the fault matrix, an hour of kills, more
                           of the fuzzer; alone: run.py test --long -s -n 0 -m long_with_option
       --coverage          also measure which lines and branches of the product the tests run,
                           and fail below the floor in pyproject.toml
       -n 0                run one test at a time, for a debugger (default: 4 at a time)
  python3 run.py check     check format, lint, templates, spelling, layers, migrations and types,
                           without a database; --fix formats, and fixes what it can
  python3 run.py sdk       make the sources of the clients in docs/examples that are not in git

The first start installs the requirements into .venv in this folder and changes nothing else on
this machine. Data is kept in .local. To use your own PostgreSQL, set DATABASE_URL and SECRET_KEY;
the demo company is created there too, unless you add --no-demo.
"""

from __future__ import annotations  # lets an old Python get as far as the version check

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
CUT_OFF = ROOT / ".local" / "installing"  # exists during an install and after an interrupted one
RUNTIME = ROOT / "requirements-embedded.txt"  # includes requirements.txt
TESTS = ROOT / "requirements-dev.txt"  # includes both others
COVERAGE = ["--cov", "--cov-report=term:skip-covered"]
TESTS_AT_A_TIME = 4  # even on two cores, because many tests only wait
FAST_TESTS_AT_A_TIME = 3  # few of these wait

OLDEST_PYTHON = (3, 11)
TICK_SECONDS = 1
REPEAT_SECONDS = 10  # without a terminal: how often to repeat an unchanged status
PIP_LINES_KEPT = 25


def main(arguments: list[str]) -> None:
    """Check the machine, install missing requirements, then exec the requested program."""
    command, options = arguments[:1], arguments[1:]
    if command == ["test"]:
        requirements, program = TESTS, ["-m", "tools.suite", *pytest_options(options)]
    elif command == ["check"]:
        requirements, program = TESTS, ["-m", "tools.check", *options]
    elif command == ["sdk"]:
        requirements, program = TESTS, ["-m", "tools.sdk", *options]
    else:
        requirements, program = RUNTIME, ["manage.py", "up", *up_options(arguments)]
    refuse_unfit_machine()
    with only_one_at_a_time() as lock:
        install_what_is_missing(requirements, lock)
    os.chdir(ROOT)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or each process would compile all anew
    os.execv(str(PYTHON), [str(PYTHON), *program])


def pytest_options(options: list[str]) -> list[str]:
    """Return the options for pytest: several tests at a time unless `options` say otherwise."""
    chosen = any(
        option in ("--pdb", "--trace", "no:xdist", "-pno:xdist")
        or option.startswith(("-n", "--numprocesses", "--dist"))
        for option in options
    )
    coverage = COVERAGE if "--coverage" in options else []
    rest = [option for option in options if option != "--coverage"]
    at_a_time = FAST_TESTS_AT_A_TIME if "--fast" in options else TESTS_AT_A_TIME
    parallel = [] if chosen else ["-n", str(at_a_time), "--dist", "loadfile"]
    return [*parallel, *coverage, *rest]


def up_options(arguments: list[str]) -> list[str]:
    """Return the options for `manage.py up`; refuse unknown ones before anything is installed."""
    parser = argparse.ArgumentParser(
        usage="run.py [--port N] [--no-demo]\n"
        "       run.py test [--fast] [--long] [--coverage] [pytest arguments]\n"
        "       run.py check [--fix]\n"
        "       run.py sdk",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, metavar="N", help="port of the web pages (8000)")
    parser.add_argument("--no-demo", action="store_true", help="start without the demo company")
    parser.parse_args(arguments)
    return arguments


def refuse_unfit_machine() -> None:
    """Exit with advice if the project cannot run on this machine."""
    if os.name != "posix":
        sys.exit(
            "run.py needs Linux, macOS or another POSIX system. On Windows, use WSL or Docker "
            "(docker compose up), or run manage.py with your own PostgreSQL in DATABASE_URL."
        )
    if sys.version_info < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        this = f"{sys.version.split()[0]} ({sys.executable})"
        sys.exit(f"Python {wanted} or newer is needed; this is {this}. Try python{wanted} run.py")


@contextmanager
def only_one_at_a_time() -> Iterator[IO[str]]:
    """Wait for another start in this folder; yield the lock file.

    A program that inherits the file and outlives this one keeps the next start waiting.
    """
    import fcntl  # missing on Windows, which was refused above

    LOCK.parent.mkdir(exist_ok=True)
    with LOCK.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Waiting for another run.py that is installing in this folder ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock


def install_what_is_missing(wanted: Path, lock: IO[str]) -> None:
    """Install the requirements in the file `wanted` into .venv, unless they are installed.

    After an interrupted install, start from an empty .venv.
    """
    if installed().get(wanted.name) == fingerprint(wanted):
        return
    say(f"Installing {wanted.name} into .venv. The first time takes a minute or two.")
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
    """Return a hash of the file, the files it includes with -r, and this Python's version."""
    text = file.read_bytes()
    for line in text.splitlines():
        if line.startswith(b"-r "):
            text += (file.parent / line[3:].decode().strip()).read_bytes()
    return hashlib.sha256(text + sys.version.encode()).hexdigest()


def runs_this_python(python: Path) -> bool:
    """Tell whether `python` exists and has exactly this version."""
    command = [str(python), "-c", "import sys; print(sys.version)"]
    try:
        said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout
    except OSError:
        return False
    return said.strip() == sys.version.strip()


def make_venv(lock: IO[str]) -> None:
    """Replace .venv with an empty one, including pip if this Python can install it."""
    command = [sys.executable, "-m", "venv", "--clear", str(VENV)]
    held = [lock.fileno()]
    if subprocess.run(command, capture_output=True, check=False, pass_fds=held).returncode:
        # Debian or Ubuntu without python3-venv: a pip from outside installs into it (pip_command).
        subprocess.run([*command, "--without-pip"], check=True, pass_fds=held)


def pip_command() -> list[str]:
    """Return the command of the pip in .venv, or else of one outside that can install into it."""
    outside = [sys.executable, "-m", "pip", "--python", str(PYTHON)]
    for command in ([str(PYTHON), "-m", "pip"], outside):
        if not subprocess.run([*command, "--version"], capture_output=True, check=False).returncode:
            return command
    sys.exit(
        "This Python has no pip and cannot install it. On Debian or Ubuntu, run "
        "sudo apt install python3-venv (or python3-pip), then start again."
    )


def pip_install(wanted: Path, lock: IO[str]) -> None:
    """Install `wanted` and show pip's progress; if pip fails, exit with its last lines.

    The file names every package. Without --no-deps, a pip older than 23.3 looks for the newest
    release of a package that is required with an extra, and refuses it for want of a hash.
    """
    options = ["install", "--no-deps", "--no-input", "--disable-pip-version-check"]
    # Python compiles a module when it is first used; pip would compile all, and most never are.
    options += ["--progress-bar", "off", "--no-compile"]
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
    """Yield each line of output as it arrives, and an empty line for each second without one."""
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
    """Shorten a line of pip's output for people; return "" for a line of no interest."""
    words = line.split()
    if words[:1] in (["Collecting"], ["Downloading"]):
        return " ".join([words[0], os.path.basename(words[1]), *words[2:4]]).split(" (from")[0]
    if line.startswith("Installing collected packages"):
        return f"Installing {len(words) - 3} packages"
    return line.strip() if words[:1] == ["ERROR:"] else ""


class Progress:
    """Progress display: one updating line in a terminal, elsewhere an occasional line."""

    def __init__(self) -> None:
        self._in_terminal = sys.stdout.isatty()
        self._began = self._last_said = time.monotonic()
        self._text = "Starting pip"

    def show(self, text: str) -> None:
        """Show `text`; an empty one means that the previous step is still running."""
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
        """Clear the line and leave the cursor at its start."""
        if self._in_terminal:
            print("\r\033[K", end="", flush=True)


def say(text: str) -> None:
    """Print a line to standard output without buffering."""
    print(text, flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("\nStopped. The next start repeats an interrupted install.")
