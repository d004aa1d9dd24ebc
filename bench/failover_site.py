"""A whole site on machines of its own that loses one of them: gaps, and what is lost over HTTP.

    .venv/bin/python bench/failover_site.py --patroni ENVIRONMENT/bin/patroni
    ... --rows partition pooler_dies     only these

Each machine is a network namespace (`machines.py`): three nodes of a cluster, etcd, its proxy,
PgBouncer, two web servers behind a balancer, two decay workers and two task workers. 160 clients
apply, confirm, withdraw, are removed and start tasks over HTTP, each request under its key until it
is answered, and keep a ledger. Others read, and follow streams. A deadline passes in the gap.
Exits with 1 if anything that was acknowledged is lost or doubled. Needs root, Patroni 4, etcd,
HAProxy and PgBouncer.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import harness
from failover import note_heads, verify
from machines_clients import STREAMS, Watchers, Witness, longest_gap
from machines_faults import ROWS, Row
from machines_site import MachinesSite, machines_site
from patroni_cluster import ClusterOptions, wait_until

from tests.faults.line.stage import TASKS
from tests.faults.whole_site.checks import log_of
from tests.faults.whole_site.ledger import entries_of, ledger_faults, order_faults, reading_faults
from tests.faults.whole_site.people import Crowd
from tests.faults.whole_site.receivers import MailReceiver, receiving_mail

CLIENTS, SEATS, REPEATS, PAUSE_SECONDS = 160, 40, 0.1, 4.0
WINDOW_SECONDS, SLOW_SEATS = 60, 2
AFTER_CHANGES, AFTER_SECONDS, RECOVERY_SECONDS = 300, 20.0, 180
OWED_SECONDS = 300
COLUMNS = (
    "what", "no change for", "no read for", "changes acknowledged", "lost", "doubled",
    "answers differing", "longest wait for an answer", "a stream silent for", "deadline handled",
    "tasks lost, doubled", "emails lost, second copies", "verify_log, anchors", "notes",
)  # fmt: skip
UNSENT = (
    "SELECT count(*)::int FROM tasks_task t JOIN tasks_tasktype k ON k.id = t.type_id"
    " WHERE k.key IN ('email.event', 'email.bulk', 'demo.sleep')"
    " AND t.status NOT IN ('SUCCEEDED', 'DEAD')"
)
# The offers that nobody answers: how long after its deadline each ended, or that it was extended.
LATE = (
    "SELECT e.event, extract(epoch FROM e.at - e.effective_at)::float8 FROM pipeline_event e"
    " WHERE e.job_id = %(job)s AND e.event IN ('DECAYED', 'LAPSED', 'DEADLINE_EXTENDED')"
    " ORDER BY e.seq LIMIT %(seats)s"
)


def make_jobs() -> dict[str, Any]:
    """Make a busy job, one whose offers nobody answers, and what the clients need."""
    from applicants import tokens
    from jobs import keys
    from jobs.models import Scope
    from pipeline.live import stream_tokens
    from tests.support import factories

    company = factories.company().id
    busy = factories.job(company_id=company, capacity=SEATS, acknowledge_first_seat=True)
    return {
        "company": company,
        "busy": busy,
        "key": keys.create(company_id=company, name="crowd", scopes=list(Scope))[1],
        "tokens": [tokens.issue(factories.applicant()) for _ in range(CLIENTS)],
        "streams": [stream_tokens.issue([busy]) for _ in range(STREAMS)],
    }


def make_slow_job(company: Any) -> str:
    """Make a job whose offers run out soon."""
    from tests.support import factories

    slow = factories.job(
        company_id=company,
        capacity=SLOW_SEATS,
        acknowledge_first_seat=True,
        acknowledgment_window_seconds=WINDOW_SECONDS,
    )
    factories.applications(slow, 2 * SLOW_SEATS)
    return str(slow)


def run_row(row: Row, site: MachinesSite, mail: MailReceiver) -> tuple[list[str], bool]:
    """Break the site under load; return the cells of the row, and whether it is as it must be."""
    from django.db import connection

    made = make_jobs()
    site.rows("CREATE TABLE witness (n int)")
    site.start()
    [leader] = site.cluster.members("leader")
    witness = Witness(site.cluster.machine_of(leader), site.cluster.url_of(leader), site.folder)
    crowd = Crowd(
        site.address[1], str(made["busy"]), made["tokens"], seed=1, key=made["key"],
        repeats=REPEATS, pause_seconds=PAUSE_SECONDS, host=site.address[0],
    )  # fmt: skip
    crowd.start(CLIENTS)
    watchers = Watchers(site.address, f"/api/v1/jobs/{made['busy']}", made["streams"])
    over = threading.Event()
    heads = threading.Thread(target=note_heads, args=(over,), daemon=True)
    heads.start()
    slow = make_slow_job(made["company"])
    connection.close()
    time.sleep(WINDOW_SECONDS - 2)
    clients, broken_at, broken = site.pooled_clients(), time.monotonic(), time.time()
    heal = row.break_site(site)
    gone = set(site.ended())  # with their machine

    wait_until_well(crowd, watchers, broken_at)
    heal()
    wait_until(lambda: len(site.cluster.members("replica", "sync_standby")) == 2, RECOVERY_SECONDS)
    crowd.stop()
    wait_until(lambda: crowd.is_at_rest, RECOVERY_SECONDS)
    watchers.stop()
    over.set()
    heads.join(30)
    wait_until(lambda: not site.rows(UNSENT)[0][0], OWED_SECONDS)
    notes = f"{clients} clients of the pooler"
    told, kept = witness.acknowledged(), {n for (n,) in site.rows("SELECT n FROM witness")}
    after, lost = sum(at > broken for at in told.values()), len(told.keys() - kept)
    notes += f"; {after} rows acknowledged beside the primary afterwards, {lost} lost"
    ended = site.ended()
    notes += f"; ended by themselves: {', '.join(set(ended) - gone) or 'none'}"
    cells, is_good = judge(site, crowd, slow, mail)
    changes = [at for at, is_change in crowd.successes if is_change]
    gaps, silence = map(longest_gap, (changes, watchers.read)), watchers.longest_silence(broken_at)
    cells[4:4] = [f"{crowd.longest_wait_seconds:.0f} s", f"{silence:.1f} s"]
    cells = [row.text, *(f"{gap:.1f} s" for gap in gaps), *cells, notes]
    return cells, is_good and told.keys() <= kept and not set(ended) - gone


def wait_until_well(crowd: Crowd, watchers: Watchers, broken_at: float) -> None:
    """Wait until changes are made again and every stream has learned of one."""

    def is_well() -> bool:
        now = time.monotonic()
        since = sum(is_change and at > broken_at + 3 for at, is_change in list(crowd.successes))
        return (
            since >= AFTER_CHANGES
            and now > broken_at + AFTER_SECONDS
            and watchers.have_heard_since(broken_at + 3)
        )

    wait_until(is_well, RECOVERY_SECONDS)


def judge(
    site: MachinesSite, crowd: Crowd, slow: str, mail: MailReceiver
) -> tuple[list[str], bool]:
    """Compare what clients and the mail server know with the database."""
    log = entries_of(site, crowd.job)
    faults = ledger_faults(crowd.told, log, seats=SEATS) + order_faults(crowd.applied, log)
    faults += reading_faults(crowd.readers, log)
    lost, doubled = (sum(each.startswith(kind) for each in faults) for kind in ("lost", "doubled"))
    rows = site.rows(TASKS, since="2000-01-01")
    tasks = {task: times for task, _, times in rows}
    tasks_lost = len(set(crowd.tasks) - {task for task, times in tasks.items() if times})
    twice = sum(times > 1 for times in tasks.values())
    tasks_doubled = len(tasks.keys() - set(crowd.tasks)) + twice
    copies = mail.by_event()
    due = [each for each in log_of(site) if each.is_emailed and not each.may_be_unsent]
    # This process, which made the slow job, sends none.
    due = [each for each in due if each.job == crowd.job or each.event != "APPLIED"]
    unsent = [each for each in due if each.hash not in copies]
    front = (site.folder / "front.log").read_text().splitlines()[4:]
    for each in (
        *front[:20],
        dict(crowd.failures),
        *faults[:5],
        *crowd.refusals.items(),
        *crowd.differing[:3],
        *unsent[:5],
    ):
        print(each, file=sys.stderr)
    late = site.rows(LATE, job=slow, seats=SLOW_SEATS)
    ends = ", ".join(f"{event.lower()} {seconds:.1f} s" for event, seconds in late)
    alone, noted = verify(Path(os.environ["ANCHOR_FILE"]))
    cells = [
        str(crowd.told.total()), str(lost), str(doubled),
        f"{len(crowd.differing)} of {crowd.compared}",
        ends, f"{tasks_lost}, {tasks_doubled} of {len(crowd.tasks)}",
        f"{len(unsent)}, {len(mail.copies) - len(copies)} of {len(copies)}",
        f"{'sound' if alone else 'broken'}, {'agree' if noted else 'cut off'}",
    ]  # fmt: skip
    return cells, not (faults or crowd.refusals or tasks_lost or tasks_doubled or unsent) and (
        alone and noted and len(late) == SLOW_SEATS
    )


def one(row: Row, patroni: str) -> bool:
    """Run one row on a site of its own and print it."""
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as folder,
        receiving_mail("0.0.0.0") as (mail, port),  # noqa: S104 -- HERE comes with the machines
        machines_site(Path(folder), ClusterOptions(patroni, failsafe=row.failsafe), port) as site,
    ):
        Path(folder).chmod(0o755)
        cells, is_good = run_row(row, site, mail)
    print(f"| {' | '.join(cells)} |", flush=True)
    return is_good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patroni", default="patroni", help="the program")
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--row", choices=list(ROWS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        sys.exit(not one(ROWS[options.row], options.patroni))
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|", flush=True)
    failed = []
    for name in options.rows:  # each with a Django of its own
        same = [sys.executable, __file__, "--patroni", options.patroni, "--row", name]
        failed += [name] if subprocess.run(same, check=False).returncode else []
    harness.print_load()
    if failed:
        sys.exit(f"not as it must be: {', '.join(failed)}")


if __name__ == "__main__":
    main()
