"""Checks of the storm: on the rows while it lasts, then on the log."""

from __future__ import annotations

import threading
import time
from datetime import datetime
from types import TracebackType
from typing import Any

import harness

# Of an application: when it was sent and answered, and its id.
Applied = tuple[float, float, str]

LOOK = """
SELECT j.active_count + j.pending_count,
       (SELECT count(*) FROM pipeline_application a
        WHERE a.job_id = j.id AND a.status IN ('ACTIVE', 'PENDING_ACKNOWLEDGMENT')),
       (SELECT count(*) FROM pipeline_application a
        WHERE a.job_id = j.id AND a.status = 'WAITLIST'
          AND (a.eligible_at IS NULL OR a.eligible_at <= j.last_event_at)),
       coalesce(extract(epoch FROM clock_timestamp() - j.next_due_at), 0)::float8
FROM jobs_job j WHERE j.id = '{job}'
"""


class Watch:
    """Watcher that checks a job every 20 ms in one snapshot while its context is open."""

    def __init__(self, job_id: str, *, seats: int) -> None:
        self._statement, self._seats = LOOK.format(job=job_id), seats
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look_on)
        self.looks, self.most_seats, self.latest = 0, 0, 0.0
        self.faults: set[str] = set()

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end.set()
        self._thread.join()

    def report(self) -> list[str]:
        """Print the figures; return the faults."""
        print(
            f"{self.looks:,} looks: at most {self.most_seats} seats taken; "
            f"the latest settling was {self.latest * 1e3:.0f} ms overdue"
        )
        return sorted(self.faults)

    def _look_on(self) -> None:
        from django.db import connection

        while not self._end.wait(0.02):
            self._judge(*harness.execute(self._statement)[0])
        connection.close()

    def _judge(self, counted: int, held: int, eligible: int, overdue: float) -> None:
        self.looks += 1
        self.most_seats = max(self.most_seats, held)
        self.latest = max(self.latest, overdue)
        if held > self._seats:
            self.faults.add(f"{held} seats taken")
        if held != counted:
            self.faults.add("the counters differ from the rows")
        if held < self._seats and eligible:
            self.faults.add("a seat is idle while someone eligible waits")


def check_order(job_id: str, applied: list[Applied]) -> list[str]:
    """Return who is behind one who sent after their answer."""
    from pipeline.models import Event
    from tests.faults.whole_site.ledger import Entry, order_faults

    columns = ("seq", "at", "application_id", "event", "to_status")
    events = Event.objects.filter(job_id=job_id, event="APPLIED").values_list(*columns)
    log = [Entry(seq, at, str(id_), event, to) for seq, at, id_, event, to in events]
    faults = order_faults(applied, log)
    print(f"{len(applied):,} applications: {len(faults)} behind who sent after their answer")
    return faults


def walk_log(job_id: str, *, seats: int) -> list[str]:
    """Verify the log, then check the line after every commit in it; return the faults."""
    from pipeline.audit.verify import verify_job

    verdict = verify_job(job_id)
    print(
        f"verify_log: chain {verdict.chain}, {verdict.head_seq:,} events, "
        f"{len(verdict.differences)} differences"
    )
    started = time.perf_counter()
    overfull, idle, commits = _after_each_commit(job_id, seats)
    print(
        f"{commits:,} commits walked in {time.perf_counter() - started:.1f} s: "
        f"{overfull} overfull, {idle} with an idle seat and someone eligible waiting"
    )
    faults = list(verdict.differences)
    if overfull or idle:
        faults.append("the log contains a commit that broke an invariant")
    return faults


def _after_each_commit(job_id: str, seats: int) -> tuple[int, int, int]:
    """Count overfull commits, commits with an idle seat, and all commits.

    Events of one commit share their time, so others could see only the last event of each time.
    """
    from pipeline.audit.log_fold import LogFold
    from pipeline.models import Event

    fold, overfull, idle, commits, last_at = LogFold(job_id), 0, 0, 0, None
    for event in Event.objects.filter(job_id=job_id).order_by("seq").iterator():
        if last_at is not None and event.at != last_at:
            commits += 1
            taken, eligible = _standing(fold, last_at)
            overfull += taken > seats
            idle += taken < seats and eligible
        fold.fold_event(event)
        last_at = event.at
    return overfull, idle, commits


def _standing(fold: Any, at: datetime) -> tuple[int, bool]:
    from pipeline.domain.states import Status

    taken = fold.counts[Status.ACTIVE] + fold.counts[Status.PENDING_ACKNOWLEDGMENT]
    waiting = (place for place in fold.places.values() if place.status is Status.WAITLIST)
    eligible = any(place.eligible_at is None or place.eligible_at <= at for place in waiting)
    return taken, eligible
