"""A job with a random log of a million events, for `pages.py --log`.

People apply, are promoted, confirm, miss, return and miss again, withdraw and are decided on, in
cascades like the product's. At the end the job may close, which releases everyone who waits.
Counters, places and causes are those of a real line; only the hashes do not form a chain.
"""

from __future__ import annotations

import heapq
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import harness
from uuid_utils.compat import uuid7

SEATS = 50
STEP = timedelta(seconds=2)
WINDOW, COOLDOWN = timedelta(days=1), timedelta(hours=1)
EVENT = (
    "job_id, seq, application_id, event, from_status, to_status, outcome, actor_kind, cause_seq,"
    " policy_version, at, effective_at, data, prev_hash, hash, company_id, txid"
)
APPLICATION = (
    "id, job_id, applicant_id, name, status, outcome, ticket, tie, decay_count, applied_at,"
    " promoted_at, acknowledge_by, status_since, ended_at, deadline_extended"
)
NAMES = ("Ana", "Bo", "Cy", "Dee", "Eli", "Fay", "Gus", "Hana", "Ivo", "Jun")
WAITS, PENDING, ACTIVE, OUT = "WAITLIST", "PENDING_ACKNOWLEDGMENT", "ACTIVE", "INACTIVE"


class Person:
    """One application."""

    __slots__ = (
        "applied",
        "deadline",
        "id",
        "misses",
        "outcome",
        "promoted",
        "since",
        "status",
        "ticket",
        "tie",
    )  # fmt: skip

    def __init__(self) -> None:
        self.id = uuid7()
        self.status: str | None = None
        self.outcome = self.ticket = self.tie = self.deadline = self.promoted = None
        self.applied = self.since = datetime.now(UTC)
        self.misses = 0


class History:
    """Random history of a job, one row of its log after the other."""

    def __init__(self, job: Any, events: int) -> None:
        self.job, self.seq = job, job.seq
        self.at = datetime.now(UTC) - STEP * events
        self.people: list[Person] = []
        self.line: list[tuple[int, int, Person]] = []
        self.seated: dict[str, list[Person]] = {PENDING: [], ACTIVE: []}
        self.waiting, self.ticket = 0, 1
        self.dice = random.Random(7)

    def rows(self, most: int) -> Iterator[tuple[Any, ...]]:
        """Iterate over rows of the log, up to about this number."""
        while self.seq < most:
            self.at += STEP
            held = len(self.seated[PENDING]) + len(self.seated[ACTIVE])
            if held < SEATS or self.dice.random() < 0.45:
                yield self._apply(held < SEATS)
            else:
                yield from self._free()

    def closed(self) -> Iterator[tuple[Any, ...]]:
        """Close the job and release everyone without a confirmed seat."""
        self.at += STEP
        data = {"status": "CLOSED", "capacity": SEATS, "policy": self.job.policy.values()}
        yield self._row(None, "JOB_CLOSED", None, None, None, data)
        closing = self.seq
        for person in self.people:
            if person.status in (WAITS, PENDING):
                yield self._move(person, "CLOSED_OUT", OUT, outcome="JOB_CLOSED", cause=closing)

    def _apply(self, free: bool) -> tuple[Any, ...]:
        person = Person()
        person.applied = self.at
        self.people.append(person)
        return self._move(person, "APPLIED", ACTIVE if free else WAITS)

    def _free(self) -> Iterator[tuple[Any, ...]]:
        """Let a person confirm or leave their seat, and promote the next one."""
        pending, active = self.seated[PENDING], self.seated[ACTIVE]
        if len(active) > 5 and self.dice.random() < 0.3:
            pending = []
        person = self.dice.choice(pending or active)
        luck = self.dice.random()
        if pending and luck < 0.6:
            yield self._move(person, "ACKNOWLEDGED", ACTIVE)
            return
        if not pending:
            how = self.dice.choice(("REJECTED", "HIRED", "REMOVED"))
            yield self._move(person, "REMOVED", OUT, outcome=how)
        elif luck < 0.7:
            yield self._move(person, "WITHDRAWN", OUT, outcome="WITHDRAWN")
        elif person.misses == 3:
            yield self._move(person, "LAPSED", OUT, outcome="LAPSED")
        else:
            person.misses += 1
            yield self._move(person, "DECAYED", WAITS)
        if self.line:
            cause = self.seq
            yield self._move(heapq.heappop(self.line)[2], "PROMOTED", PENDING, cause=cause)

    def _move(
        self, person: Person, event: str, to: str, *, outcome: str | None = None,
        cause: int | None = None
    ) -> tuple[Any, ...]:  # fmt: skip
        was, seq = person.status, self.seq + 1
        if was in self.seated:
            self.seated[was].remove(person)
        self.waiting += (to == WAITS) - (was == WAITS)
        person.status, person.outcome, person.since = to, outcome, self.at
        person.ticket = person.tie = person.deadline = None
        if to in self.seated:
            self.seated[to].append(person)
        if to == PENDING:
            person.deadline, person.promoted = self.at + WINDOW, self.at
        if to == WAITS:
            person.ticket, person.tie = self.ticket + person.misses, seq
            self.ticket += event == "APPLIED"
            heapq.heappush(self.line, (person.ticket, seq, person))
        return self._row(person, event, was, outcome, cause, {})

    def _row(
        self, person: Person | None, event: str, was: str | None, outcome: str | None,
        cause: int | None, data: dict[str, Any]
    ) -> tuple[Any, ...]:  # fmt: skip
        self.seq += 1
        told = data | {
            "active": len(self.seated[ACTIVE]), "pending": len(self.seated[PENDING]),
            "waiting": self.waiting, "next_ticket": self.ticket,
        }  # fmt: skip
        if person:
            told |= {"decay_count": person.misses}
            told |= {"ticket": person.ticket, "tie": person.tie} if person.ticket else {}
            told |= {"deadline": _stamp(person.deadline)} if person.deadline else {}
            told |= {"eligible_at": _stamp(self.at + COOLDOWN)} if event == "DECAYED" else {}
        digest = sha256(str(self.seq).encode()).digest()
        return (
            self.job.id, self.seq, person and person.id, event, was, person and person.status,
            outcome, "SYSTEM", cause, 1, self.at, self.at, json.dumps(told), digest, digest,
            self.job.company_id, 1,
        )  # fmt: skip


def _stamp(moment: datetime) -> str:
    from pipeline.line.event_log import logged_time

    return logged_time(moment)


def make(events: int, *, closes: bool = False) -> Any:
    """Create a job with this many events, closed at the end if it `closes`; return the job."""
    from jobs.models import Job

    job = Job.objects.get(id=harness.make_job(capacity=SEATS))
    history = History(job, events)
    harness.execute("DROP TABLE IF EXISTS told", f"CREATE TEMP TABLE told AS SELECT {EVENT} FROM"
                    " pipeline_event LIMIT 0")  # fmt: skip
    _copy("told", EVENT, history.rows(events))
    if closes:
        _copy("told", EVENT, history.closed())
    harness.execute(f"INSERT INTO pipeline_event ({EVENT}) SELECT {EVENT} FROM told ORDER BY seq")
    _write_line(job, history, closes)
    harness.execute("VACUUM ANALYZE pipeline_event", "VACUUM ANALYZE pipeline_application")
    return Job.objects.get(id=job.id)


def _write_line(job: Any, history: History, closes: bool) -> None:
    harness.make_people(len(history.people))
    people = harness.execute(
        f"SELECT id FROM bench_people ORDER BY n DESC LIMIT {len(history.people)}"
    )
    rows = (
        (p.id, job.id, who, f"{NAMES[n % 10]} {NAMES[n // 10 % 10]}son", p.status, p.outcome,
         p.ticket, p.tie, p.misses, p.applied, p.promoted, p.deadline, p.since,
         p.since if p.outcome else None, False)
        for n, (p, (who,)) in enumerate(zip(history.people, people, strict=True))
    )  # fmt: skip
    _copy("pipeline_application", APPLICATION, rows)
    harness.execute(f"""
        UPDATE jobs_job SET seq = {history.seq}, next_ticket = {history.ticket},
            head_ticket = {history.line[0][0] if history.line else history.ticket},
            active_count = {len(history.seated[ACTIVE])},
            pending_count = {len(history.seated[PENDING])}, waitlist_count = {history.waiting},
            last_event_at = '{history.at}', created_at = '{history.people[0].applied}',
            opened_at = '{history.people[0].applied}'
            {f", status = 'CLOSED', closed_at = '{history.at}'" if closes else ""}
        WHERE id = '{job.id}'""")


def _copy(table: str, columns: str, rows: Iterator[tuple[Any, ...]]) -> None:
    from django.db import connection

    with (
        connection.cursor() as cursor,
        cursor.cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy,
    ):
        for row in rows:
            copy.write_row(row)


def learn() -> None:
    """Index all names, as a worker does in the background."""
    from pipeline.maintenance import name_index

    while name_index.update():
        pass
