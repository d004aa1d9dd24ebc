"""A year of 10,000 companies: disk, indexes, vacuum, and hot statements beside so many rows.

Each company has an open job. The hot statements are measured; then the year is added, which is a
number of events in jobs that were closed since; then they are measured again. The year's rows are
written by SQL a day at a time, in the order of their times, with the indexes in place unless told
otherwise, and without waiting for the disk. The database is removed at the end.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import harness
import year_rows

TABLES = ("pipeline_event", "pipeline_application", "applicants_applicant", "jobs_job")
STATEMENTS = {
    "apply": "apply: joins the waitlist",
    "promote": "withdraw from a seat: promotes the next",
    "confirm": "confirm the seat",
    "due": "decay worker: look for a due job, none is",
    "board": "board: all its reads",
    "feed": "feed: 100 events from a company's first",
    "feed_end": "feed: what is new",
    "replay": "replay: an open job after half its log",
    "replay_closed": "replay: a closed job of 2,000 events, half way",
}
RETENTION_JOBS, RETENTION_SECONDS = 300, 60
Times = list[tuple[float, float]]  # of each call, in ms: by the clock, and CPU
MEGABYTE = 10**6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000_000, help="in closed jobs")
    parser.add_argument("--companies", type=int, default=10_000, help="each with an open job")
    parser.add_argument("--calls", type=int, default=1_000, help="of each hot statement")
    parser.add_argument(
        "--indexes-after",
        action="store_true",
        help="make the indexes when all rows are there: faster, and"
        " they are smaller than grown ones",
    )
    options = parser.parse_args()
    harness.start(durable=False)
    people = max(50_021, options.events // 5)
    year_rows.make_open_jobs(options.companies, people, indexes_after=options.indexes_after)
    before = measure(options.calls)
    events, took = year_rows.make_year(
        options.events, options.companies, people, indexes_after=options.indexes_after
    )
    print(f"{events:,} events, written in {took:,.0f} s with their applications\n")
    report_vacuum()
    report_disk(events)
    report_statements(before, measure(options.calls))
    report_retention()
    harness.print_load()
    harness.remove()


def measure(calls: int) -> dict[str, Times]:
    """Call each hot statement on open jobs at random; return its times."""
    from pipeline.audit.verify import replay_one_page
    from pipeline.domain.states import Actor, ActorKind
    from pipeline.selectors.board import read_board
    from pipeline.selectors.system import feed_end, read_feed
    from pipeline.services.joining import apply
    from pipeline.services.leaving import withdraw
    from pipeline.services.settling import settle_next_due
    from pipeline.services.turns import acknowledge

    took: dict[str, Times] = defaultdict(list)

    def timed(name: str, call: Callable[[], Any]) -> Any:
        result, times = with_times(call)
        took[name].append(times)
        return result

    def person_with(status: str, job: UUID) -> tuple[UUID, Actor]:
        [(application, person)] = harness.execute(
            f"SELECT id, applicant_id FROM pipeline_application WHERE job_id = '{job}'"
            f" AND status = '{status}' ORDER BY id LIMIT 1"
        )
        return application, Actor(ActorKind.APPLICANT, person)

    jobs = harness.execute("SELECT id, company_id, seq FROM jobs_job WHERE status = 'OPEN'")
    closed = harness.execute(
        "SELECT id, seq FROM jobs_job WHERE status = 'CLOSED' AND seq > 2000 ORDER BY id LIMIT 2000"
    )
    harness.make_people(calls)
    people = harness.execute(f"SELECT id FROM bench_people ORDER BY n DESC LIMIT {calls}")
    warm_up = min(50, calls // 4)
    company = Actor(ActorKind.COMPANY)
    for (job, owner, seq), (newcomer,) in zip(random.sample(jobs, calls), people, strict=True):
        apply_to_job = {"job_id": job, "applicant_id": newcomer, "name": "Bench", "actor": company}
        timed("apply", lambda: apply(**apply_to_job))  # noqa: B023  called at once
        seated, actor = person_with("ACTIVE", job)
        timed("promote", lambda: withdraw(application_id=seated, actor=actor))  # noqa: B023  called at once
        offered, actor = person_with("PENDING_ACKNOWLEDGMENT", job)
        timed("confirm", lambda: acknowledge(application_id=offered, actor=actor))  # noqa: B023  called at once
        timed("due", settle_next_due)
        timed("board", lambda: read_board(job))  # noqa: B023  called at once
        timed("feed", lambda: read_feed(owner, after=None, limit=100))  # noqa: B023  called at once
        end = feed_end(owner)
        timed("feed_end", lambda: read_feed(owner, after=end, limit=100))  # noqa: B023  called at once
        timed("replay", lambda: replay_one_page(job, seq=seq // 2, limit=100))  # noqa: B023  called at once
        if closed:
            old, head = random.choice(closed)
            timed("replay_closed", lambda: replay_one_page(old, seq=head // 2, limit=100))  # noqa: B023  called at once
    return {name: times[warm_up:] for name, times in took.items()}


def with_times(call: Callable[[], Any]) -> tuple[Any, tuple[float, float]]:
    """Call it; return what it gives, its milliseconds and its CPU, client and server together."""
    [(pid,)] = harness.execute("SELECT pg_backend_pid()")
    server = Path(f"/proc/{pid}/schedstat")  # begins with the nanoseconds on a CPU

    def cpu_ms() -> float:
        return time.thread_time() * 1_000 + int(server.read_text().split()[0]) / 1_000_000

    used, start = cpu_ms(), time.perf_counter()
    result = call()
    return result, ((time.perf_counter() - start) * 1_000, cpu_ms() - used)


def report_vacuum() -> None:
    """Print the seconds of the first vacuum after the year, and of one with nothing to do."""
    print("| table | first vacuum and analyze | again |\n|---|---:|---:|")
    for table in TABLES:
        seconds = []
        for _ in range(2):
            start = time.perf_counter()
            harness.execute(f"VACUUM ANALYZE {table}")
            seconds.append(f"{time.perf_counter() - start:.1f} s")
        print(f"| `{table}` | {' | '.join(seconds)} |")
    print()


def report_disk(events: int) -> None:
    """Print the sizes of tables and of each of their indexes."""
    print("| table or index | MB | bytes per event |\n|---|---:|---:|")
    [(database,)] = harness.execute("SELECT pg_database_size(current_database())")
    rows = [("the whole database", database)]
    for table in TABLES:
        rows += harness.execute(f"SELECT '`{table}`', pg_table_size('{table}')")
        rows += harness.execute(
            "SELECT 'its `' || c.relname || '`', pg_relation_size(c.oid) FROM pg_index i"
            f" JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = '{table}'::regclass"
            f" AND pg_relation_size(c.oid) >= {MEGABYTE} ORDER BY 2 DESC"
        )
    for name, size in rows:
        print(f"| {name} | {size / MEGABYTE:,.0f} | {size / events:,.0f} |")
    print()


def report_statements(before: dict[str, Times], after: dict[str, Times]) -> None:
    """Print the times of hot statements with the year, and the CPU with it and without."""
    print("| statement, ms | p50, p99 | CPU, p50 | CPU without the year | ratio |")
    print("|---|---:|---:|---:|---:|")
    for name, words in STATEMENTS.items():
        wall, cpu = zip(*after[name], strict=True)
        texts = [f"{harness.median(wall):.2f}, {harness.percentile(wall, 0.99):.2f}"]
        texts += [f"{harness.median(cpu):.2f}", "", ""]
        if name in before:
            without = harness.median([each[1] for each in before[name]])
            texts[2:] = [f"{without:.2f}", f"{harness.median(cpu) / without:.2f}"]
        print(f"| {words} | {' | '.join(texts)} |")
    print("CPU is that of client and server together.\n")


def report_retention() -> None:
    """Print how long retention looks for what is due, and holds a job's lock."""
    from pipeline.privacy import retention

    found, (wall, cpu) = with_times(retention.erase_batch)
    print(f"retention finds {found} due in {wall:,.0f} ms, {cpu:,.0f} ms of CPU")
    harness.execute(
        "INSERT INTO jobs_retention (job_id, keep_days, legal_hold) SELECT id, 30, false FROM"
        f" jobs_job WHERE status = 'CLOSED' ORDER BY closed_at LIMIT {RETENTION_JOBS}"
    )
    held: Times = []
    end_of_one_job = retention._separate_people

    def watched(job_id: UUID, application_ids: list[UUID]) -> None:
        held.append(with_times(lambda: end_of_one_job(job_id, application_ids))[1])

    retention._separate_people = watched
    erased, used, began = 0, 0.0, time.monotonic()
    while time.monotonic() < began + RETENTION_SECONDS:
        count, times = with_times(retention.erase_batch)
        erased, used = erased + count, used + times[1]
        if count < retention.BATCH:
            break
    walls, cpus = zip(*held, strict=True)
    print(
        f"retention erases {erased:,} applications in {time.monotonic() - began:.0f} s, "
        f"{used / erased:.1f} ms of CPU each; in batches of {retention.BATCH} it holds a job for"
        f" {harness.median(walls):,.0f} ms (p50), {max(walls):,.0f} ms at most,"
        f" {max(cpus):,.0f} ms of CPU at most"
    )


if __name__ == "__main__":
    main()
