#!/usr/bin/env python3
"""Start Next in Line, or run its tests, from nothing but Python 3.11 or newer.

  python3 run.py           database, demo company, web pages and workers; Ctrl-C stops it all
  python3 run.py test      the tests; what follows goes to pytest, e.g. run.py test -k line

The first start installs what is needed into .venv, in this folder; nothing else is changed on
this machine. Data is kept in .local. Set DATABASE_URL, and SECRET_KEY with it, to use a
PostgreSQL of your own; the demo company is put there too, unless you say --no-demo.
"""

from __future__ import annotations  # also lets an old Python read this far, and be told

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

OLDEST_PYTHON = (3, 11)
TICK_SECONDS = 1
REPEAT_SECONDS = 10  # without a terminal: how often to say that the same thing still goes on
PIP_LINES_KEPT = 25


def main(arguments: list[str]) -> None:
    """Check the machine, install what is missing, then become manage.py up or pytest."""
    for_tests = arguments[:1] == ["test"]
    options = arguments[1:] if for_tests else up_options(arguments)
    refuse_unfit_machine()
    with only_one_at_a_time() as lock:
        install_what_is_missing(TESTS if for_tests else RUNTIME, lock)
    program = ["-m", "pytest"] if for_tests else ["manage.py", "up"]
    os.chdir(ROOT)
    os.execv(str(PYTHON), [str(PYTHON), *program, *options])


def up_options(arguments: list[str]) -> list[str]:
    """The options for `manage.py up`; a slip of the pen ends here, before anything is installed."""
    parser = argparse.ArgumentParser(
        usage="run.py [--port N] [--no-demo]\n       run.py test [pytest arguments]",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, metavar="N", help="of the web pages (8000)")
    parser.add_argument("--no-demo", action="store_true", help="start without the demo company")
    parser.parse_args(arguments)
    return arguments


def refuse_unfit_machine() -> None:
    """End here, with a sentence that says the way out, where the rest could not work."""
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
    """Wait for another start in this folder; gives the lock's file.

    A program that inherits the file keeps the next start waiting, should it outlive us.
    """
    import fcntl  # not there on Windows, which has been told by now

    LOCK.parent.mkdir(exist_ok=True)
    with LOCK.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another start is installing here; waiting for it ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock


def install_what_is_missing(wanted: Path, lock: IO[str]) -> None:
    """Bring .venv to what the file `wanted` lists; quick when it is there already.

    What a cut-off install left cannot be trusted, and is begun afresh.
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
    """The fingerprints of the requirement files that .venv satisfies."""
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
    """Whether `python` is there and of exactly our version."""
    command = [str(python), "-c", "import sys; print(sys.version)"]
    try:
        said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout
    except OSError:
        return False
    return said.strip() == sys.version.strip()


def make_venv(lock: IO[str]) -> None:
    """An empty .venv in place of whatever is there; with pip inside if this Python can."""
    command = [sys.executable, "-m", "venv", "--clear", str(VENV)]
    held = [lock.fileno()]
    if subprocess.run(command, capture_output=True, check=False, pass_fds=held).returncode:
        # Debian and Ubuntu without python3-venv: filled from outside then, see pip_command
        subprocess.run([*command, "--without-pip"], check=True, pass_fds=held)


def pip_command() -> list[str]:
    """The pip inside .venv, else one outside it that is told where to install."""
    outside = [sys.executable, "-m", "pip", "--python", str(PYTHON)]
    for command in ([str(PYTHON), "-m", "pip"], outside):
        if not subprocess.run([*command, "--version"], capture_output=True, check=False).returncode:
            return command
    sys.exit(
        "This Python comes without pip and cannot make one. On Debian and Ubuntu: "
        "sudo apt install python3-venv (or python3-pip), then start again."
    )


def pip_install(wanted: Path, lock: IO[str]) -> None:
    """Install what `wanted` lists, telling what pip is at; ends with its last words if it fails."""
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
    """Show what pip does until it ends; gives the last lines it said."""
    said: deque[str] = deque(maxlen=PIP_LINES_KEPT)
    shown = Progress()
    for line in lines_and_ticks(pip):
        if line:
            said.append(line)
        shown.show(in_short(line))
    shown.close()
    return said


def lines_and_ticks(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """Each line of output as it comes, and an empty one whenever nothing comes for a second."""
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
    """One of pip's lines for a person; empty if it tells nothing new."""
    words = line.split()
    if words[:1] in (["Collecting"], ["Downloading"]):
        return " ".join([words[0], os.path.basename(words[1]), *words[2:4]]).split(" (from")[0]
    if line.startswith("Installing collected packages"):
        return f"Installing {len(words) - 3} packages"
    return line.strip() if words[:1] == ["ERROR:"] else ""


class Progress:
    """What is going on: one line that renews itself in a terminal, else a line now and then."""

    def __init__(self) -> None:
        self._in_terminal = sys.stdout.isatty()
        self._began = self._last_said = time.monotonic()
        self._text = "Starting pip"

    def show(self, text: str) -> None:
        """Tell `text`; an empty one tells that the last one is still going on."""
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
    """One line to standard output, at once."""
    print(text, flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("\nStopped. An install that was cut off is begun afresh next time.")
