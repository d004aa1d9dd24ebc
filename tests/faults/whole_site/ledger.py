"""The ledger: what clients were told, compared with the log of the job.

Nothing here uses the product's own verification; the log's hashes are checked by `verify_log`.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

ACTS = {"APPLIED", "ACKNOWLEDGED", "WITHDRAWN", "REMOVED"}
SEATED = {"ACTIVE", "PENDING_ACKNOWLEDGMENT"}

_LOG = (
    "SELECT seq, at, application_id::text, event, to_status,"
    " CASE WHEN to_status = 'WAITLIST' AND data ->> 'verify_by' IS NULL"
    " THEN ARRAY[(data ->> 'ticket')::bigint, (data ->> 'tie')::bigint] END FROM pipeline_event"
    " WHERE job_id = %(job)s ORDER BY seq"
)


class Database(Protocol):
    """Something that answers statements: a site, wherever it runs."""

    def rows(self, statement: str, **given: Any) -> list[Any]:
        """Return the rows of a statement."""


@dataclass(frozen=True)
class Entry:
    """Row of a job's log. `place`: ticket and tie of a verified person on the waitlist."""

    seq: int
    at: datetime
    application: str | None
    event: str
    status: str | None
    place: Sequence[int] | None = None


# What one person was told of an application, in order: that an act of theirs was done, by its
# event, or a reading of its status and position.
Told = tuple[str, str] | tuple[str, str, int | None]


def entries_of(site: Database, job: str) -> list[Entry]:
    """Read the log of a job."""
    return [Entry(*row) for row in site.rows(_LOG, job=job)]


def ledger_faults(
    told: Counter[tuple[str, str]], log: Sequence[Entry], *, seats: int | None = None
) -> list[str]:
    """Compare the acts that were confirmed with the log; return what is lost, doubled or overfull.

    `told` counts each pair of an event and an application. All acts on the job are in it.
    """
    logged = Counter(
        (each.event, each.application) for each in log if each.event in ACTS and each.application
    )
    gaps = [
        f"seq {each.seq} where {expected} comes next"
        for expected, each in enumerate(log, start=1)
        if each.seq != expected
    ]
    return [
        *(f"lost: {act[0]} of {act[1]}" for act in (told - logged)),
        *(f"doubled: {act[0]} of {act[1]}" for act in (logged - told)),
        *gaps[:1],
        *([] if seats is None else _overfull(log, seats)),
    ]


def order_faults(applied: Iterable[tuple[float, float, str]], log: Sequence[Entry]) -> list[str]:
    """Return who was answered before another had sent, and stands behind them in the log.

    `applied`: for each application, when it was sent and answered.
    """
    places = {each.application: each.seq for each in log if each.event == "APPLIED"}
    found, latest = [], 0.0
    for sent, answered, application in sorted(applied, key=lambda row: places.get(row[2], 0)):
        if latest > answered:
            found.append(f"overtaken: {application}, by one who sent after its answer")
        latest = max(latest, sent)
    return found


def reading_faults(readers: Iterable[Iterable[Told]], log: Sequence[Entry]) -> list[str]:
    """Return what a person read that the line never was, or was only before what they knew.

    They knew of the acts that were confirmed to them and of what they had read before.
    """
    histories = _histories(log, {told[0] for reader in readers for told in reader})
    acts = {(each.application, each.event): each.seq for each in reversed(log)}
    found = []
    for reader in readers:
        known = 0
        for application, *what in reader:
            if len(what) == 1:
                known = max(known, acts.get((application, what[0]), 0))
                continue
            history = histories[application]
            ends = [seq for seq, _ in history[1:]] + [float("inf")]
            fitting = (
                seq
                for (seq, seen), end in zip(history, ends, strict=True)
                if end > known and list(seen) == what
            )
            if (seq := next(fitting, None)) is None:
                found.append(f"misread: {application} was {what} after seq {known}")
            else:
                known = max(known, seq)
    return found


def _histories(
    log: Sequence[Entry], applications: set[str]
) -> dict[str, list[tuple[int, tuple[str | None, int | None]]]]:
    """Return how each application stood after which commits: the seq, its status and position."""
    found: dict[str, list[tuple[int, tuple[str | None, int | None]]]]
    found = {each: [(0, (None, None))] for each in applications}
    statuses: dict[str, str | None] = {}
    places: dict[str, Sequence[int]] = {}
    line: list[Sequence[int]] = []
    for number, each in enumerate(log):
        if each.application:
            _move(each.application, each.place, places, line)
        if each.application in applications:
            statuses[each.application] = each.status
        if number + 1 == len(log) or log[number + 1].at != each.at:
            for application, status in statuses.items():
                place = places.get(application)
                standing = status, bisect_right(line, place) if place else None
                if found[application][-1][1] != standing:
                    found[application].append((each.seq, standing))
    return found


def _move(
    application: str,
    place: Sequence[int] | None,
    places: dict[str, Sequence[int]],
    line: list[Sequence[int]],
) -> None:
    if old := places.pop(application, None):
        line.remove(old)
    if place:
        places[application] = place
        insort(line, place)


def overtaking(
    applied: Iterable[tuple[float, float, str]], log: Sequence[Entry]
) -> list[tuple[int, float]]:
    """Return how many who came later stand before each, and how much later the last of them came.

    In the order of the log. `applied` as in `order_faults`; seconds.
    """
    places = {each.application: each.seq for each in log if each.event == "APPLIED"}
    ahead: list[float] = []  # the times of those before, in order
    found = []
    for sent, _, _ in sorted(applied, key=lambda row: places.get(row[2], 0)):
        latest = ahead[-1] if ahead else sent
        found.append((len(ahead) - bisect_right(ahead, sent), max(0.0, latest - sent)))
        insort(ahead, sent)
    return found


def _overfull(log: Sequence[Entry], seats: int) -> list[str]:
    """Walk the log commit by commit: the events of one commit share their time."""
    statuses: dict[str, str | None] = {}
    found = []
    for number, each in enumerate(log):
        if each.application:
            statuses[each.application] = each.status
        ends_commit = number + 1 == len(log) or log[number + 1].at != each.at
        taken = sum(status in SEATED for status in statuses.values())
        if ends_commit and taken > seats:
            found.append(f"overfull: {taken} of {seats} seats taken after seq {each.seq}")
    return found
