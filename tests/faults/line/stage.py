"""A whole site with a broken network at hand, and a crowd that keeps the ledger of one row."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.database.cluster import PORT
from tests.faults.line.prepare import SEATS
from tests.faults.line.proxy import Proxy, proxied
from tests.faults.whole_site.ledger import entries_of, ledger_faults, order_faults, reading_faults
from tests.faults.whole_site.people import Crowd
from tests.faults.whole_site.processes import Site, whole_site
from tests.support.waiting import eventually

PEOPLE, THREADS, REPEATS = 24, 6, 0.3
# Twice the grace of a web worker: the machine may be busy with other tests.
ORPHAN_SECONDS = 20
PREPARE = "tests.faults.line.prepare"
# Everything that waits for the end of a dead process's lease, or for its next attempt, is due at
# once, so that a test need not wait for minutes. Only when nothing runs any more.
ACTIVE = (
    "SELECT count(*)::int FROM pg_stat_activity WHERE application_name = 'web' AND state <> 'idle'"
)
LET_REQUESTS_END = (
    "UPDATE pipeline_idempotencyrecord SET leased_until = clock_timestamp() WHERE status IS NULL"
    " AND NOT released AND leased_until < clock_timestamp() + interval '58 seconds'"
)
LET_RETRIES_COME = (
    "UPDATE tasks_task SET run_after = clock_timestamp() WHERE status = 'PENDING' AND attempt > 0"
    " AND run_after > clock_timestamp()"
)
TASKS = (
    "SELECT t.id::text, t.status, (SELECT count(*)::int FROM tasks_taskevent e"
    " WHERE e.task_id = t.id AND e.kind = 'succeeded')"
    " FROM tasks_task t JOIN tasks_tasktype k ON k.id = t.type_id"
    " WHERE k.key = 'demo.sleep' AND t.created_at >= %(since)s"
)
IDLE = (
    "SELECT count(*)::int FROM jobs_job j WHERE j.id = %(job)s"
    " AND j.capacity > (SELECT count(*) FROM pipeline_application a WHERE a.job_id = j.id"
    "                   AND a.status IN ('ACTIVE', 'PENDING_ACKNOWLEDGMENT'))"
    " AND EXISTS (SELECT FROM pipeline_application a WHERE a.job_id = j.id"
    "             AND a.status = 'WAITLIST' AND a.verify_by IS NULL"
    "             AND (a.eligible_at IS NULL OR a.eligible_at <= clock_timestamp())"
    "             AND (a.not_before IS NULL OR a.not_before <= clock_timestamp()))"
)


@dataclass
class Stage:
    """The site, the networks before and behind its web server, and the crowd of the moment."""

    site: Site
    folder: Path
    to_web: Proxy
    to_database: Proxy
    to_web_port: int
    made: dict[str, Any]
    long_seconds: int
    crowd: Crowd = field(init=False)

    def let_come(self, job: str, seed: int) -> None:
        """Let people come to a job."""
        self.crowd = Crowd(
            self.to_web_port,
            job,
            self.made["tokens"],
            seed=seed,
            key=self.made["key"],
            repeats=REPEATS,
            pause_seconds=0.15,
        )
        self.crowd.start(THREADS)

    def work(self, answers: int = 25) -> None:
        """Wait until the crowd has this many more answers."""
        enough = self.crowd.answers.total() + answers
        eventually(lambda: self.crowd.answers.total() >= enough, 90)

    def wait_for_failures(self, count: int = 1) -> None:
        """Wait until this many more attempts failed and were sent again."""
        enough = self.crowd.repeated + count
        eventually(lambda: self.crowd.repeated >= enough, 90)

    def wait_for_end_of_orphans(self) -> list[str]:
        """Wait until what a killed master left behind has ended; return what has not."""
        with suppress(AssertionError):
            eventually(lambda: not self.site.orphans(), ORPHAN_SECONDS)
        return [f"orphan: {command}" for command in self.site.orphans().values()]

    def rest(self, seconds: float, *, long_seconds: float) -> None:
        """Let the fault last."""
        time.sleep(long_seconds if self.long_seconds else seconds)

    def let_deadlines_pass(self, jobs: list[str]) -> None:
        """Let all offers of these jobs become overdue."""
        url = self.site.database_url("postgres")
        self.site.run("-m", PREPARE, "late", *jobs, DATABASE_URL=url)

    def send_home(self) -> None:
        """End the crowd: whatever it has sent is answered."""
        self.crowd.stop()

        def is_at_rest() -> bool:
            if not self.site.rows(ACTIVE)[0][0]:
                self.site.rows(LET_REQUESTS_END)
            time.sleep(0.2)
            return self.crowd.is_at_rest

        eventually(is_at_rest, 90)
        self.crowd.end()


def faults_of_row(stage: Stage, since: Any) -> list[str]:
    """Compare the ledger of the crowd with the database, as soon as the workers are done."""
    site, crowd = stage.site, stage.crowd
    started = set(crowd.tasks)

    def are_tasks_done() -> bool:
        site.rows(LET_RETRIES_COME)
        time.sleep(0.1)
        rows = site.rows(TASKS, since=since)
        return all(status == "SUCCEEDED" for _, status, _ in rows)

    eventually(are_tasks_done, 90)
    eventually(lambda: not site.rows(IDLE, job=crowd.job)[0][0], 30)
    tasks = {task: succeeded for task, _, succeeded in site.rows(TASKS, since=since)}
    return [
        *ledger_faults(crowd.told, entries_of(site, crowd.job), seats=SEATS),
        *order_faults(crowd.applied, entries_of(site, crowd.job)),
        *reading_faults(crowd.readers, entries_of(site, crowd.job)),
        *(f"lost: task {task}" for task in started - tasks.keys()),
        *(f"doubled: task {task}" for task in tasks.keys() - started),
        *(f"ended {times} times: task {task}" for task, times in tasks.items() if times != 1),
        *(f"refused: {answer}" for answer in crowd.refusals),
    ]


@contextmanager
def stage(folder: Path, *, rows: int, long_seconds: int) -> Iterator[Stage]:
    """A running site with a busy job for each row."""
    settings = {"DJANGO_SETTINGS_MODULE": "tests.faults.line.settings", "DEMO_TASKS": "on"}
    with whole_site(folder, **settings) as site:
        made = json.loads(site.prepare(PREPARE, "fill", str(rows), str(PEOPLE)))
        network = folder / "network"
        network.mkdir()
        with (
            socket.create_server(("127.0.0.1", 0), backlog=128) as outside,
            socket.socket(socket.AF_UNIX) as inside,
        ):
            inside.bind(str(network / f".s.PGSQL.{PORT}"))
            inside.listen(128)
            socket_file = site.cluster.socket_dir / f".s.PGSQL.{PORT}"
            with (
                proxied(outside, ("127.0.0.1", site.port)) as to_web,
                proxied(inside, socket_file) as to_database,
            ):
                url = site.database_url("nextinline_app", network)
                site.start(DATABASE_URL=url, PGAPPNAME="web")
                port = outside.getsockname()[1]
                yield Stage(site, folder, to_web, to_database, port, made, long_seconds)
