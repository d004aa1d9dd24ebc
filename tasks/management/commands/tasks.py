"""`manage.py tasks`: operators inspect and control background work."""

from __future__ import annotations

import argparse
import getpass
import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from tasks import control, dead_letters
from tasks.errors import ConfirmationNeeded, TaskError
from tasks.models import Status, Task, TaskEvent
from tasks.payloads import redact_payload
from tasks.stats import (
    site_dead_depth,
    site_depth,
    site_oldest_age_seconds,
    site_open_breakers,
    site_open_owner_breakers,
    site_running,
    site_workers_alive,
)

MOST_SHOWN = 1_000


class Command(BaseCommand):
    requires_system_checks = ("environment",)  # the other checks load every URL
    help = (
        "Inspect and control the background work of all companies and of the site. Every action is "
        "recorded under --actor: in the task's history, or in the audit of types and schedules."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        actor = f"operator:{getpass.getuser()}"
        parser.add_argument(
            "--actor", default=actor, help="name recorded for the action (%(default)s)"
        )
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        verbs.add_parser("stats", help="depth, oldest, running, dead, workers, open breakers")
        newest = verbs.add_parser("list", help="newest tasks")
        newest.add_argument("--status", choices=Status.values, help="only tasks with this status")
        _add_types_argument(newest)
        _add_types_argument(verbs.add_parser("dead", help="dead letters, oldest first"))
        for verb, does in _ONE.items():
            one = verbs.add_parser(verb, help=does)
            one.add_argument("task", type=UUID, metavar="TASK_ID")
        verbs.choices["bury"].add_argument("--reason", default="", help="kept in its history")
        replay_all = verbs.add_parser(
            "replay-all", help="run the oldest dead letters of a type again"
        )
        replay_all.add_argument("type", metavar="TYPE", help="the key of the type")
        replay_all.add_argument(
            "--limit", type=_limit_argument, default=100, help="at most this many (%(default)s)"
        )
        for replay in (verbs.choices["replay"], replay_all):
            replay.add_argument("--confirmed", action="store_true", help=_CONFIRMED)
        for verb, does in _TYPES.items():
            whole = verbs.add_parser(verb, help=does)
            whole.add_argument("type", metavar="TYPE", help="the key of the type")

    def handle(self, *, verb: str, **options: Any) -> None:
        """Run the verb; turn a refusal into a CommandError."""
        act: Callable[..., None] = getattr(self, f"_{verb.replace('-', '_')}")
        try:
            act(options)
        except ConfirmationNeeded as error:
            raise CommandError(f"{error}. Add --confirmed to run it again.") from None
        except TaskError as error:
            raise CommandError(f"{error}.") from None

    def _stats(self, options: dict[str, Any]) -> None:
        for (name, priority), count in sorted(site_depth().items()):
            self.stdout.write(f"pending  {name:32} priority {priority:4}  {count}")
        for priority, seconds in sorted(site_oldest_age_seconds().items()):
            self.stdout.write(f"oldest   priority {priority:4}  {seconds:.1f} s")
        for word, counts in (("running", site_running()), ("dead", site_dead_depth())):
            for name, count in sorted(counts.items()):
                self.stdout.write(f"{word:8} {name:32} {count}")
        for name in site_open_breakers():
            self.stdout.write(f"breaker  {name:32} open: too many of its runs fail")
        for name, owners in sorted(site_open_owner_breakers().items()):
            self.stdout.write(f"breaker  {name:32} open for {owners} owners alone")
        self.stdout.write(f"workers  {site_workers_alive()} alive")

    def _list(self, options: dict[str, Any]) -> None:
        tasks = Task.objects.select_related("type").order_by("-id")
        if options["status"]:
            tasks = tasks.filter(status=options["status"])
        if options["type"]:
            tasks = tasks.filter(type__key=options["type"])
        self._rows(list(tasks[: options["limit"]]))

    def _dead(self, options: dict[str, Any]) -> None:
        self._rows(dead_letters.read_page(key=options["type"], limit=options["limit"]))

    def _show(self, options: dict[str, Any]) -> None:
        task = control.find_task(options["task"])
        payload = json.dumps(
            redact_payload(task.type.schema, task.payload), indent=2, sort_keys=True
        )
        self.stdout.write(f"{task.id}  {task.type}  {task.status}")
        self.stdout.write(f"attempt {task.attempt} of {task.max_attempts}, due {task.run_after}")
        self.stdout.write(f"by {task.producer or 'the site'}, for {task.owner_id or 'the site'}")
        self.stdout.write(f"payload {payload}")
        for event in TaskEvent.objects.filter(task_id=task.id).order_by("id")[:MOST_SHOWN]:
            self.stdout.write(f"{event.at:%Y-%m-%d %H:%M:%S.%f} {event.kind} {event.actor}")
        for error in task.errors:
            self.stdout.write(json.dumps(error, indent=2, sort_keys=True).replace("\\n", "\n"))

    def _cancel(self, options: dict[str, Any]) -> None:
        self.stdout.write(control.cancel(options["task"], actor=options["actor"]))

    def _bury(self, options: dict[str, Any]) -> None:
        dead_letters.add(options["task"], actor=options["actor"], reason=options["reason"])
        self.stdout.write("dead, until a person replays or discards it")

    def _replay(self, options: dict[str, Any]) -> None:
        dead_letters.replay(options["task"], actor=options["actor"], confirmed=options["confirmed"])
        self.stdout.write("pending")

    def _replay_all(self, options: dict[str, Any]) -> None:
        chosen = {name: options[name] for name in ("actor", "limit", "confirmed")}
        self.stdout.write(f"{dead_letters.replay_type(options['type'], **chosen)} pending")

    def _discard(self, options: dict[str, Any]) -> None:
        dead_letters.discard(options["task"], actor=options["actor"])
        self.stdout.write("discarded")

    def _pause(self, options: dict[str, Any]) -> None:
        control.pause(options["type"], actor=options["actor"])
        self.stdout.write("paused: running tasks continue, no others start")

    def _resume(self, options: dict[str, Any]) -> None:
        control.resume(options["type"], actor=options["actor"])
        self.stdout.write("resumed; its breaker is closed")

    def _rows(self, tasks: list[Task]) -> None:
        if not tasks:
            self.stdout.write("none")
            return
        self.stdout.write(f"{'id':36}  {'status':10} {'type':32} runs  last error")
        for task in tasks:
            last = task.errors[-1] if task.errors else {}
            error = f"{last.get('class', '')} {last.get('message', '')}".strip().splitlines()
            self.stdout.write(
                f"{task.id}  {task.status:10} {task.type!s:32}"
                f" {task.attempt}/{task.max_attempts:<3} {error[0][:120] if error else ''}".rstrip()
            )


_CONFIRMED = "also replay sensitive types"
_ONE = {
    "show": "one task: payload, history, errors with their tracebacks",
    "cancel": "cancel a pending or running task",
    "bury": "move a pending task to the dead letters, to replay it later",
    "replay": "run a dead letter again, with all its attempts",
    "discard": "discard a dead letter",
}
_TYPES = {
    "pause": "pause a type for everyone",
    "resume": "resume a paused type, and close an open breaker",
}


def _add_types_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--type", help="only tasks of this type, by its key")
    parser.add_argument(
        "--limit", type=_limit_argument, default=50, help="at most this many (%(default)s)"
    )


def _limit_argument(text: str) -> int:
    if text.isdecimal() and 1 <= (count := int(text)) <= MOST_SHOWN:
        return count
    raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to {MOST_SHOWN}")
