"""Failover of a cluster under load: the longest gap, and acknowledged applications that are lost.

    .venv/bin/python bench/failover.py --patroni ENVIRONMENT/bin/patroni
    ... --rows synchronous_dies asynchronous_dies     only these

Three nodes under Patroni, with etcd and HAProxy (`patroni_cluster.py` says what it needs). Three
clients apply, each with the same id until it is acknowledged, while the primary is lost. The heads
of the logs are noted outside the cluster twice a second. Then every acknowledged application is
looked for, and the logs are verified, alone and against the noted heads. Exits with 1 if anything
that was acknowledged is lost with synchronous replication, or if a loss does not show.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from uuid import UUID, uuid4

import harness
from patroni_cluster import ClusterOptions, PatroniCluster, patroni_cluster, wait_until

from tests.faults.whole_site.ledger import Entry, order_faults

CLIENTS, BEFORE_SECONDS, AFTER = 3, 10.0, 100
STALL_SECONDS, ANCHOR_SECONDS, RETRY_SECONDS = 1.5, 0.5, 0.1
RECOVERY_SECONDS = 120


@dataclass(frozen=True)
class Row:
    """One way to lose the primary."""

    text: str
    synchronous: bool
    way: str


ROWS = {
    "synchronous_dies": Row("machine dies, replication stalled for 1.5 s before", True, "stalled"),
    "asynchronous_dies": Row(
        "machine dies, replication stalled for 1.5 s before", False, "stalled"
    ),
    "postgres_dies": Row("PostgreSQL alone is killed", True, "postgres"),
    "switchover": Row("planned switchover", True, "switchover"),
}


@dataclass
class Clients:
    """Clients that apply until they are told to stop; `told` holds what was acknowledged."""

    job: UUID
    # When first sent, when acknowledged, which application.
    told: list[tuple[float, float, UUID]] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Let them begin."""
        for _ in range(CLIENTS):
            thread = threading.Thread(target=self._apply, daemon=True)
            thread.start()
            self.threads.append(thread)

    def stop(self) -> None:
        """Let each end after its last acknowledgement."""
        self.is_over.set()
        for thread in self.threads:
            thread.join(RECOVERY_SECONDS)

    def longest_gap(self) -> float:
        """Return the longest time without any acknowledgement, in seconds."""
        moments = sorted(at for _, at, _ in self.told)
        return max(later - earlier for earlier, later in pairwise(moments))

    def _apply(self) -> None:
        from django.db import Error, connection

        from pipeline.domain.errors import LineError
        from pipeline.domain.states import Actor, ActorKind
        from pipeline.services.joining import apply

        company = Actor(ActorKind.COMPANY, uuid4())
        while not self.is_over.is_set():
            id_, email = uuid4(), f"{uuid4().hex}@example.com"
            sent_at = time.monotonic()
            while True:
                try:
                    apply(job_id=self.job, email=email, name="A", actor=company, application_id=id_)
                    self.told.append((sent_at, time.monotonic(), id_))
                    break
                except (Error, LineError):
                    with suppress(Error):
                        connection.close()
                    time.sleep(RETRY_SECONDS)
        connection.close()


def note_heads(is_over: threading.Event) -> None:
    """Note the heads of the logs outside the cluster, as the task worker does."""
    from django.db import Error, connection

    from pipeline.audit.anchors import append as append_anchors

    while not is_over.wait(ANCHOR_SECONDS):
        try:
            append_anchors()
        except Error:
            connection.close()
    connection.close()


def lose_primary(cluster: PatroniCluster, way: str) -> None:
    """Lose the primary in one way."""
    [leader] = cluster.members("leader")
    if way == "switchover":
        cluster.switch_over(leader)
    elif way == "postgres":
        cluster.kill_postgres(leader)
    else:
        cluster.stall_replication(leader)
        time.sleep(STALL_SECONDS)
        cluster.kill_machine(leader)


def verify(anchors: Path) -> tuple[bool, bool]:
    """Verify all logs, alone and against the noted heads; return whether each finds them sound."""

    def is_sound(*options: str) -> bool:
        command = [sys.executable, "manage.py", "verify_log", *options]
        run = subprocess.run(command, cwd=harness.ROOT, capture_output=True, check=False)
        return run.returncode == 0

    return is_sound(), is_sound("--anchors", str(anchors))


def run_row(row: Row) -> tuple[str, bool]:
    """Run in a process of its own; return the row as Markdown, and whether it is as it must be."""
    from django.db import connection

    from pipeline.models import Application
    from tests.support import factories

    job = factories.job(capacity=5)
    clients, over = Clients(job), threading.Event()
    notes = threading.Thread(target=note_heads, args=(over,), daemon=True)
    clients.start()
    notes.start()
    time.sleep(BEFORE_SECONDS)
    lose_primary(CLUSTER[0], row.way)
    lost_at = time.monotonic()
    wait_until(
        lambda: sum(at > lost_at + 2 for _, at, _ in clients.told) >= AFTER, RECOVERY_SECONDS
    )
    over.set()
    clients.stop()
    notes.join(30)
    connection.close()
    told = [id_ for *_, id_ in clients.told]
    log = _log_of(job)
    kept = {each.application for each in log}
    lost = len(told) - Application.objects.filter(id__in=told).count()
    applied = [(sent, at, str(id_)) for sent, at, id_ in clients.told if str(id_) in kept]
    overtaken = order_faults(applied, log)
    for each in overtaken[:5]:
        print(each, file=sys.stderr)
    alone, noted = verify(Path(os.environ["ANCHOR_FILE"]))
    mode = "synchronous" if row.synchronous else "asynchronous"
    cells = [
        row.text, mode, f"{clients.longest_gap():.1f} s", f"{lost} of {len(told)}",
        "sound" if alone else "broken", "agree" if noted else "a log is cut off",
        str(len(overtaken)),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |", alone and noted == (lost == 0) and not (
        overtaken or (row.synchronous and lost)
    )


def _log_of(job: UUID) -> list[Entry]:
    """Return the log of a job."""
    from pipeline.models import Event

    columns = ("seq", "at", "application_id", "event", "to_status")
    rows = Event.objects.filter(job_id=job).order_by("seq").values_list(*columns)
    return [Entry(seq, at, str(id_), event, status) for seq, at, id_, event, status in rows]


CLUSTER: list[PatroniCluster] = []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patroni", default="patroni", help="the program")
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--row", choices=list(ROWS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        sys.exit(not one(ROWS[options.row], options.patroni))
    columns = ["what", "replication", "longest gap", "acknowledged and lost", "verify_log"]
    columns += ["with --anchors", "behind who sent after their answer"]
    print(f"| {' | '.join(columns)} |\n{'|---' * 7}|", flush=True)
    failed = []
    for name in options.rows:  # each with a Django of its own
        same = [sys.executable, __file__, "--patroni", options.patroni, "--row", name]
        failed += [name] if subprocess.run(same, check=False).returncode else []
    if failed:
        sys.exit(f"not as it must be: {', '.join(failed)}")


def one(row: Row, patroni: str) -> bool:
    """Run one row on a cluster of its own and print it."""
    with (
        tempfile.TemporaryDirectory() as outside,
        patroni_cluster(ClusterOptions(patroni, synchronous=row.synchronous)) as cluster,
    ):
        CLUSTER.append(cluster)
        os.environ |= {
            "DATABASE_URL": f"postgres://postgres@{cluster.address}/postgres?connect_timeout=2",
            "SECRET_KEY": "of-a-benchmark-0123456789-abcdefg",
            "DJANGO_SETTINGS_MODULE": harness.SETTINGS,
            "ANCHOR_FILE": f"{outside}/anchors.jsonl",
            "ANCHOR_KEY_FILE": f"{outside}/key",
            "LOG_LEVEL": "ERROR",
        }
        harness.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        line, is_good = run_row(row)
    print(line, flush=True)
    return is_good


if __name__ == "__main__":
    main()
