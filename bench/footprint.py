"""CPU that commands take to start, and memory of the product as `manage.py up` runs it.

`--against FOLDER` measures another checkout of this project in the same rounds. Memory is
proportional (PSS): shared memory counts once.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import harness
from http_load import Connection, request
from processes import family, own_megabytes
from storm import free_port

STARTS = {
    "django.setup()": ["-c", "import django; django.setup()"],
    "manage.py help": ["manage.py", "help"],
    "manage.py run_decay --once": ["manage.py", "run_decay", "--once"],
}
GOAL_MEGABYTES = 350


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="another checkout")
    options = parser.parse_args()
    harness.start()
    folders = {"here": harness.ROOT}
    if options.against:
        folders["there"] = options.against.resolve()
    took: dict[tuple[str, str], list[float]] = {}
    for _ in range(options.rounds):
        for what, command in STARTS.items():
            for name, folder in folders.items():
                took.setdefault((what, name), []).append(_start_ms(command, folder))
    for (what, name), times in took.items():
        print(f"{what:28} {name:6} {harness.median(times):6.0f} ms of CPU")
    for name, folder in folders.items():
        _print_memory(name, folder)
    harness.print_load()


def _start_ms(command: list[str], folder: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _print_memory(name: str, folder: Path) -> None:
    """Start everything, request a page and the API, and add up the memory of the processes."""
    port = free_port()
    command = [sys.executable, "manage.py", "up", "--no-demo", "--port", str(port)]
    up = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, env=os.environ)
    try:
        _wait_until_ready(port)
        members = [(pid, _called(pid), own_megabytes(pid)) for pid in family(up.pid)]
    finally:
        up.terminate()
        up.wait(60)
    for _, called, megabytes in members:
        print(f"  {name:6} {megabytes:6.1f} MB  {called}")
    total = sum(megabytes for *_, megabytes in members)
    print(f"{name}: {len(members)} processes, {total:.0f} MB (goal: at most {GOAL_MEGABYTES})")


def _called(pid: int) -> str:
    words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    return " ".join(Path(word).name for word in words if word)[:60]


def _wait_until_ready(port: int) -> None:
    import asyncio

    async def ask(path: str) -> int:
        connection = Connection("127.0.0.1", port)
        try:
            return (await connection.send(request("GET", path))).status
        except (OSError, EOFError):
            return 0
        finally:
            connection.close()

    end = time.monotonic() + 120
    while asyncio.run(ask("/health/ready")) != 200:
        if time.monotonic() > end:
            raise SystemExit("the site did not start")
        time.sleep(0.5)
    for path in ("/", "/api/v1/jobs", "/company/") * 8:
        asyncio.run(ask(path))
    time.sleep(2)


if __name__ == "__main__":
    main()
