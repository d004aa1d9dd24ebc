"""Time to settle 1,000 offers of one job whose deadlines pass at the same instant.

It is measured for a running decay worker, from the deadline, and for a worker that is started long
after the deadline, from the start of its process. Every miss promotes the next person in line. Each
round ends with a verification of the log.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from uuid import UUID

import harness
from processes import cpu_seconds, postmaster_of

WINDOW_SECONDS = 60
GIVE_UP_SECONDS = 60

OVERDUE = """
SELECT count(*), min(extract(epoch FROM acknowledge_by))::float8, extract(epoch FROM now())::float8
FROM pipeline_application
WHERE job_id = '{job}' AND status = 'PENDING_ACKNOWLEDGMENT' AND acknowledge_by <= {instant}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seats", type=int, default=1_000)
    options = parser.parse_args()
    cluster = harness.start()
    postmaster = postmaster_of(str(cluster.server.data))
    for name, runs in (("a running worker", True), ("a cold start", False)):
        rounds = [
            _measure(options.seats, postmaster, worker_runs=runs) for _ in range(options.rounds)
        ]
        seconds, worker, database = (harness.median(each) for each in zip(*rounds, strict=True))
        print(
            f"{options.seats:,} overdue, {name}: {seconds:.2f} s;"
            f" CPU {worker:.2f} s + PostgreSQL {database:.2f} s"
        )
    harness.print_load()


def _measure(seats: int, postmaster: int, *, worker_runs: bool) -> tuple[float, float, float]:
    job = _offered_job(seats)
    count, deadline, now = _overdue(job, "'infinity'")
    if count != seats:
        raise SystemExit(f"{count} seats are on offer, not {seats}")
    worker = _start_worker() if worker_runs else None
    time.sleep(max(0.0, deadline - now - 2) if worker_runs else deadline - now + 1)
    before = cpu_seconds(postmaster)
    start = deadline
    if worker is None:
        start = time.time()
        worker = _start_worker()
    used = cpu_seconds(worker.pid) if worker_runs else 0.0
    try:
        while _overdue(job, "now()")[0] or time.time() < deadline:
            if time.time() > max(start, deadline) + GIVE_UP_SECONDS:
                raise SystemExit("the decay worker does not come to an end")
            time.sleep(0.02)
        took = time.time() - start
        spent = cpu_seconds(worker.pid) - used, cpu_seconds(postmaster) - before
    finally:
        worker.terminate()
        worker.wait(30)
    _check(UUID(job))
    return took, *spent


def _offered_job(seats: int) -> str:
    """Create a job with this many seats on offer since one instant, and as many people waiting."""
    from importing import import_people

    from pipeline.domain.states import Actor, ActorKind
    from pipeline.services.jobs import JobChanges, pause_job, update_job

    others = harness.execute("SELECT id FROM jobs_job WHERE status = 'OPEN'")
    actor = Actor(ActorKind.SYSTEM, None)
    for (other,) in others:
        pause_job(job_id=other, actor=actor)
    job = harness.make_job(capacity=1, acknowledgment_window_seconds=WINDOW_SECONDS)
    import_people(UUID(job), f"round{len(others)}-{time.time_ns()}-", 2 * seats + 1)
    harness.execute("VACUUM ANALYZE", "CHECKPOINT")
    update_job(job_id=UUID(job), actor=actor, changes=JobChanges(capacity=seats + 1))
    return job


def _start_worker() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "manage.py", "run_decay"], cwd=harness.ROOT)


def _overdue(job: str, instant: str) -> tuple[int, float, float]:
    ((count, deadline, now),) = harness.execute(OVERDUE.format(job=job, instant=instant))
    return count, deadline or 0.0, now


def _check(job: UUID) -> None:
    from pipeline.audit.verify import verify_job

    verdict = verify_job(job)
    if verdict.chain != "ok" or verdict.differences:
        raise SystemExit(f"the log is not sound: {verdict}")


if __name__ == "__main__":
    main()
