"""`manage.py submit_tasks`: submit many tasks with due times, and measure their delays."""

from __future__ import annotations

import http.client
import json
import math
import secrets
import time
from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from pipeline.database.errors import ClusterError
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


# API client of a running site, for commands: JSON both ways, refusals as sentences.


ANSWER_SECONDS = 30.0


class Refused(Exception):
    """The site refused, or did not answer. The text is for people.

    `wait_seconds`: when to try again; 0 if a retry does not help.
    """

    def __init__(self, text: str, *, code: str = "", wait_seconds: float = 0.0) -> None:
        super().__init__(text)
        self.code = code
        self.wait_seconds = wait_seconds


class ApiClient:
    """A site's API, called with a key over one connection. A context manager. Raises Refused."""

    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Refused(f"{url!r} is not an address like http://127.0.0.1:8000.")
        kind = (
            http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        )
        self._url = url
        self._connection = kind(parts.hostname, parts.port, timeout=ANSWER_SECONDS)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, path: str, **query: Any) -> Any:
        """Send a GET, and return the answer."""
        return self._call("GET", f"{path}?{urlencode(query)}" if query else path, None)

    def post(self, path: str, body: Any, *, idempotency_key: str) -> Any:
        """Send a POST, again if the connection breaks, and return the answer."""
        given = {"Idempotency-Key": idempotency_key}
        return self._call("POST", path, json.dumps(body), given)

    def _call(
        self, method: str, path: str, body: str | None, more: dict[str, str] | None = None
    ) -> Any:
        headers = self._headers | (more or {})
        for is_last in (False, True):  # a closed connection is opened again, once
            try:
                self._connection.request(method, f"/api/v1{path}", body, headers)
                answer = self._connection.getresponse()
                content = answer.read()
                break
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                if is_last:
                    raise Refused(
                        f"Nothing answers at {self._url} ({error}). Is the site running there?"
                        " Start it with python3 run.py, or name another address with --url."
                    ) from None
        if answer.status >= 400:
            raise _refusal(answer, content)
        return json.loads(content)


def _refusal(answer: http.client.HTTPResponse, content: bytes) -> Refused:
    """Build a Refused from a problem's JSON, or from the status alone."""
    try:
        problem = json.loads(content)
        text, code = str(problem["detail"]), str(problem["code"])
    except (ValueError, KeyError, TypeError):
        return Refused(f"The site answers {answer.status} {answer.reason}.")
    if answer.status == 401:
        return Refused("The site does not accept this key. Give another one with --key.", code=code)
    wait = answer.headers.get("Retry-After", "")
    return Refused(text, code=code, wait_seconds=float(wait) if wait.isdecimal() else 0.0)
