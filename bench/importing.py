"""Importing people from a file, compared with applying for them one by one, in one run.

Both fill empty jobs in one database, in alternating pieces. Applying one by one is what the API
does for a company: find or create the person, then apply. Then a whole file of 100,000 rows is
read, stored and imported.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import harness

ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one-by-one", type=int, default=1_000, help="people in all rounds")
    parser.add_argument("--imported", type=int, default=20_000, help="people in all rounds")
    parser.add_argument("--whole", type=int, default=100_000, help="rows of the whole file")
    parser.add_argument("--fast", action="store_true", help="do not wait for the disk")
    options = parser.parse_args()
    harness.start(durable=not options.fast)
    _ratio(options.one_by_one // ROUNDS, options.imported // ROUNDS)
    if options.whole:
        _whole(options.whole)


def _ratio(singly: int, imported: int) -> None:
    import_job, apply_job = UUID(harness.make_job()), UUID(harness.make_job())
    taken: dict[str, list[list[float]]] = {"apply": [], "import": []}
    for n in range(ROUNDS + 1):
        one_by_one = _timed(partial(_apply, apply_job, n, singly), singly)
        many = _timed(partial(import_people, import_job, f"many-{n}", imported), imported)
        if n:  # the first round prepares statements and fills caches
            taken["apply"].append(one_by_one)
            taken["import"].append(many)
    middle = {
        what: [statistics.median(times) for times in zip(*rounds, strict=True)]
        for what, rounds in taken.items()
    }
    for what, (clock, ours, theirs) in middle.items():
        print(f"{what:>7}: {clock:6.0f} us a person; CPU {ours:5.0f} + {theirs:5.0f} (PostgreSQL)")
    (clock, *applying), (after, *importing) = middle["apply"], middle["import"]
    print(f"import is {clock / after:.1f} times as fast (goal: 40),")
    print(f"and takes 1/{sum(applying) / sum(importing):.1f} of the CPU")


def _timed(act: Callable[[], object], count: int) -> list[float]:
    """Return microseconds per person: elapsed, CPU of this process, CPU of its backend."""
    before = (time.perf_counter(), time.process_time(), _backend_seconds())
    act()
    after = (time.perf_counter(), time.process_time(), _backend_seconds())
    return [1e6 * (b - a) / count for a, b in zip(before, after, strict=True)]


def _backend_seconds() -> float:
    ((backend,),) = harness.execute("SELECT pg_backend_pid()")
    spent = Path(f"/proc/{backend}/stat").read_text().rpartition(")")[2].split()
    return (int(spent[11]) + int(spent[12])) / os.sysconf("SC_CLK_TCK")


def _apply(job_id: UUID, n: int, count: int) -> None:
    from applicants.people import find_or_create_person
    from pipeline.services.joining import apply

    for who in range(count):
        person = find_or_create_person(f"single-{n}-{who}@bench.example")
        apply(job_id=job_id, applicant_id=person.id, name=f"Person {who}", actor=_actor())


def import_people(job_id: UUID, prefix: str, count: int) -> list[float]:
    """Read, store and import this many people, in as many files as it takes.

    Return how many seconds storing and importing took.
    """
    from pipeline.files.imports.reading import MOST_ROWS

    times = [0.0, 0.0]
    for n, first in enumerate(range(0, count, MOST_ROWS)):
        parts = _import_file(job_id, f"{prefix}-{n}", min(MOST_ROWS, count - first))
        times = [whole + part for whole, part in zip(times, parts, strict=True)]
    return times


def _import_file(job_id: UUID, prefix: str, count: int) -> list[float]:
    from jobs.models import Job
    from pipeline.files.imports.admitting import admit_rows
    from pipeline.files.imports.starting import store_upload

    company_id = Job.objects.values_list("company_id", flat=True).get(id=job_id)
    times = [time.perf_counter()]
    import_id = store_upload(
        company_id=company_id,
        job_id=job_id,
        name="people.csv",
        content=_file(prefix, count),
        actor=_actor(),
    )
    times.append(time.perf_counter())
    run = admit_rows(import_id)
    times.append(time.perf_counter())
    assert (run.accepted, run.refused) == (count, 0)
    return [later - earlier for earlier, later in pairwise(times)]


def _file(prefix: str, count: int) -> Iterator[bytes]:
    yield b"name,email\n"
    for first in range(0, count, 1_000):
        rows = range(first, min(first + 1_000, count))
        yield "".join(f"Person {n},{prefix}-{n}@bench.example\n" for n in rows).encode()


def _actor():  # type: ignore[no-untyped-def]  # bench is not typed
    from uuid import UUID

    from pipeline.domain.states import Actor, ActorKind

    return Actor(ActorKind.COMPANY, UUID(int=1))


def _whole(rows: int) -> None:
    from pipeline.audit.verify import verify_job

    job_id = UUID(harness.make_job())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    stored, taken = import_people(job_id, "whole", rows)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{rows:,} rows: read and stored in {stored:.1f} s, imported in {taken:.1f} s")
    print(f"memory: {(after - before) / 1024:.0f} MB more than before, at most")
    verdict = verify_job(job_id)
    print(f"the log: {verdict.chain}; replay gives the rows: {verdict.replay_matches}")


if __name__ == "__main__":
    main()
