"""`manage.py submit_tasks`: submit many tasks with due times, and measure their delays."""

from __future__ import annotations

import math
import secrets
import time
from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from pipeline.database.errors import ClusterError
from pipeline.management.api_client import ApiClient, Refused
from pipeline.management.demo import seed

MOST_TASKS, LONGEST_SPAN_SECONDS = 10_000, 3_600.0
BATCH, PAGE = 100, 200
LOOK_SECONDS = 1.0
# Without progress for this long after all are due, the remaining tasks count as not done.
PATIENCE_SECONDS = 60.0
ENDED = {"SUCCEEDED", "CANCELLED", "DEAD", "DISCARDED"}


class Command(BaseCommand):
    requires_system_checks = ("environment",)  # the other checks load every URL
    help = (
        "Submit empty tasks through the API of a running site, with due times spread evenly over "
        "some seconds, and show their progress. Exits with 1 if a task is not done."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--count", type=_parse_count, default=100, help="number of tasks (%(default)s)"
        )
        parser.add_argument(
            "--within",
            type=_parse_span,
            default=10.0,
            metavar="SECONDS",
            help="seconds over which their due times are spread (%(default)s)",
        )
        parser.add_argument("--url", default="http://127.0.0.1:8000", help="(%(default)s)")
        parser.add_argument("--key", help="API key that may write (default: the demo company's)")

    def handle(self, *, count: int, within: float, url: str, key: str | None, **_: Any) -> None:
        try:
            key = key or seed.create_missing().api_key
        except (DatabaseError, ClusterError) as error:
            raise CommandError(f"Without --key, this needs the database: {error}") from None
        try:
            with ApiClient(url, key) as client:
                ids, last_due = self._submit(client, count, within)
                tasks = self._watch(client, ids, last_due)
        except Refused as refused:
            raise CommandError(str(refused)) from None
        self._report(tasks, count)

    def _submit(self, client: ApiClient, count: int, within: float) -> tuple[set[str], float]:
        """Submit all tasks; return their ids, and the local monotonic time the last one is due."""
        now = client.get("/tasks/stats")
        if not now["workers_alive"]:
            self.stderr.write("No worker is running. Start one with manage.py run_tasks.")
        start, begun, run = (
            datetime.fromisoformat(now["server_time"]),
            time.monotonic(),
            secrets.token_hex(8),
        )
        dues = [start + timedelta(seconds=within * (n + 1) / count) for n in range(count)]
        ids: set[str] = set()
        for first in range(0, count, BATCH):
            tasks = [
                {"type": "demo.sleep", "payload": {"seconds": 0}, "run_after": due.isoformat()}
                for due in dues[first : first + BATCH]
            ]
            ids |= self._post(client, {"tasks": tasks}, f"{run}-{first}")
        self.stdout.write(f"{count} tasks submitted in {time.monotonic() - begun:.1f} s.")
        return ids, begun + within

    def _post(self, client: ApiClient, body: dict[str, Any], key: str) -> set[str]:
        """Submit a batch; wait and retry while the site asks for that."""
        while True:
            try:
                answer = client.post("/tasks/batch", body, idempotency_key=key)
            except Refused as refused:
                if not refused.wait_seconds:
                    raise
                self.stdout.write(f"{refused} ({refused.wait_seconds:.0f} s)")
                time.sleep(refused.wait_seconds)
            else:
                return {each["id"] for each in answer["data"]}

    def _watch(self, client: ApiClient, ids: set[str], last_due: float) -> list[dict[str, Any]]:
        """Check every second until all have ended or nothing moves for PATIENCE_SECONDS."""
        shown, moved = "", time.monotonic()
        while True:
            tasks = _read_submitted(client, ids)
            counts = Counter(task["status"] for task in tasks)
            line = ", ".join(f"{number} {name.lower()}" for name, number in sorted(counts.items()))
            if line != shown:
                self.stdout.write(line)
                self.stdout.flush()
                shown, moved = line, time.monotonic()
            if sum(counts[status] for status in ENDED) == len(ids):
                return tasks
            if time.monotonic() - max(moved, last_due) > PATIENCE_SECONDS:
                return tasks
            time.sleep(LOOK_SECONDS)

    def _report(self, tasks: Sequence[dict[str, Any]], count: int) -> None:
        """Print how late the tasks began. Raises CommandError unless all were done."""
        times = [
            [datetime.fromisoformat(task[name]) for name in ("run_after", "started_at")]
            for task in tasks
            if task["started_at"]
        ]
        late = sorted(max(0.0, (began - due) / timedelta(milliseconds=1)) for due, began in times)
        if late:
            p50, p99 = (late[max(0, math.ceil(len(late) * part) - 1)] for part in (0.5, 0.99))
            self.stdout.write(f"Delay after the due time: p50 {p50:.0f} ms, p99 {p99:.0f} ms.")
        done = sum(task["status"] == "SUCCEEDED" for task in tasks)
        if done < count:
            raise CommandError(f"{count - done} of {count} were not done.")
        self.stdout.write(f"All {count} were done.")


def _read_submitted(client: ApiClient, ids: set[str]) -> list[dict[str, Any]]:
    """Read the tasks as they are now; skip other people's newer tasks."""
    found: list[dict[str, Any]] = []
    query: dict[str, Any] = {"type": "demo.sleep", "limit": PAGE}
    while len(found) < len(ids):
        page = client.get("/tasks", **query)
        found += [task for task in page["data"] if task["id"] in ids]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    return found


def _parse_count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_TASKS:
        raise ArgumentTypeError(f"must be 1 to {MOST_TASKS}, not {text!r}")
    return int(text)


def _parse_span(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= LONGEST_SPAN_SECONDS:
        raise ArgumentTypeError(f"must be 0 to {LONGEST_SPAN_SECONDS:.0f} seconds, not {text!r}")
    return seconds
