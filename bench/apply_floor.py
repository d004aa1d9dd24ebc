"""Applying to one hot job, compared with the floor: the same transaction in pgbench.

The floor does the same work (lock, clock, look, application, chained event, counters) in one call
of a function inside the database. There are two shapes: 8 processes of one thread each, and 2
processes of 16 threads, like the web server. The floor has as many clients as the shape has
threads. The rounds alternate. With `--fast`, commits do not wait for the disk.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import harness


@dataclass
class Shape:
    """Number of processes and of threads in each, with the results of the rounds."""

    processes: int
    threads: int
    goal: float
    ours: list[float] = field(default_factory=list)
    floor: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


SHAPES = (Shape(8, 1, goal=0.5), Shape(2, 16, goal=1.0))

FLOOR = """
CREATE SEQUENCE IF NOT EXISTS bench_next;
CREATE OR REPLACE FUNCTION bench_apply(which uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    j jobs_job; person uuid; mine uuid := gen_random_uuid(); now_ timestamptz; free boolean;
    turn bigint; live int; decided int; misses int; cooling timestamptz; doc jsonb; digest bytea;
BEGIN
    turn := nextval('bench_next');
    SELECT id INTO person FROM bench_people WHERE n = turn;
    SELECT * INTO j FROM jobs_job WHERE id = which FOR NO KEY UPDATE;
    now_ := greatest(clock_timestamp(), j.last_event_at);
    SELECT count(*) FILTER (WHERE status <> 'INACTIVE'),
           count(*) FILTER (WHERE outcome IN ('REJECTED', 'HIRED')),
           coalesce(max(decay_count), 0), max(eligible_at)
      INTO live, decided, misses, cooling
      FROM pipeline_application WHERE job_id = which AND applicant_id = person;
    free := j.active_count + j.pending_count < j.capacity;
    INSERT INTO pipeline_application (id, job_id, applicant_id, name, status, ticket, tie,
        decay_count, deadline_extended, applied_at, status_since)
    VALUES (mine, which, person, 'Bench', CASE WHEN free THEN 'ACTIVE' ELSE 'WAITLIST' END,
        CASE WHEN NOT free THEN j.next_ticket END, CASE WHEN NOT free THEN j.seq + 1 END,
        0, false, now_, now_);
    doc := jsonb_build_object('active', j.active_count, 'pending', j.pending_count, 'waiting',
        j.waitlist_count + 1, 'next_ticket', j.next_ticket + 1, 'ticket', j.next_ticket,
        'tie', j.seq + 1, 'decay_count', 0);
    digest := sha256(
        j.chain_head || convert_to(doc::text || mine || which || person || now_, 'UTF8'));
    INSERT INTO pipeline_event (job_id, seq, application_id, event, to_status, actor_kind, actor_id,
        policy_version, at, effective_at, data, prev_hash, hash, company_id)
    VALUES (which, j.seq + 1, mine, 'APPLIED', 'WAITLIST', 'COMPANY', j.company_id,
        j.policy_version, now_, now_, doc, j.chain_head, digest,
        j.company_id);
    UPDATE jobs_job SET seq = j.seq + 1, chain_head = digest, last_event_at = now_,
        active_count = j.active_count + free::int,
        waitlist_count = j.waitlist_count + (NOT free)::int,
        next_ticket = j.next_ticket + (NOT free)::int WHERE id = which;
END $$;
"""


def main() -> None:
    options = _options()
    harness.start(durable=not options.fast)
    harness.execute(FLOOR)
    for _ in range(options.rounds):
        for shape in SHAPES:
            harness.make_people(options.seconds * 6_000)
            shape.floor.append(_floor_round(shape, options.seconds))
            rate, milliseconds = _our_round(shape, options.seconds)
            shape.ours.append(rate)
            shape.cpu.append(milliseconds)
    disk = "the disk left out" if options.fast else "commits wait for the disk"
    print(f"one job, {options.rounds} rounds of {options.seconds} s, {disk}")
    for shape in SHAPES:
        _report(shape)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--fast", action="store_true", help="commits do not wait for the disk")
    return parser.parse_args()


def _floor_round(shape: Shape, seconds: int) -> float:
    job_id = harness.make_job()
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(f"SELECT bench_apply('{job_id}');\n")
        script.flush()
        clients = shape.processes * shape.threads
        return harness.pgbench(Path(script.name), clients=clients, seconds=seconds)


def _our_round(shape: Shape, seconds: int) -> tuple[float, float]:
    job_id = harness.make_job()
    (used,) = harness.execute("SELECT coalesce(nextval('bench_next'), 1), max(n) FROM bench_people")
    slices = _slices(*used, parts=shape.processes)
    count = shape.processes
    with multiprocessing.get_context("spawn").Pool(count, harness.setup) as pool:
        pool.map(_warm_up, range(count), chunksize=1)
        results = pool.starmap(
            _apply_for,
            [(job_id, span, shape.threads, seconds) for span in slices],
            chunksize=1,
        )
    total = sum(count for count, _cpu, _took in results)
    took = max(took for *_, took in results)
    harness.execute(f"SELECT setval('bench_next', {used[1]})")
    return total / took, sum(cpu for _, cpu, _took in results) / total * 1e3


def _slices(first: int, last: int, *, parts: int) -> list[tuple[int, int]]:
    width = (last - first) // parts
    return [(first + i * width, first + (i + 1) * width) for i in range(parts)]


def _warm_up(_: int) -> None:
    harness.execute("SELECT 1")
    time.sleep(0.2)


def _apply_for(
    job_id: str, span: tuple[int, int], threads: int, seconds: int
) -> tuple[int, float, float]:
    """Apply in this many threads; return the number of applications, CPU and elapsed time."""
    people = _people(*span)
    ready = threading.Barrier(threads + 1)
    done = [0] * threads

    def one_thread(number: int) -> None:
        from django.db import connection

        from pipeline.domain.states import Actor, ActorKind
        from pipeline.services.joining import apply

        actor = Actor(ActorKind.COMPANY, people[0])
        harness.execute("SELECT 1")  # open the connection before the clock starts
        ready.wait()
        for person in people[number::threads]:
            if time.perf_counter() >= end:
                break
            apply(job_id=UUID(job_id), applicant_id=person, name="Bench", actor=actor)
            done[number] += 1
        connection.close()

    running = [threading.Thread(target=one_thread, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    start, cpu = time.perf_counter(), time.process_time()
    end = start + seconds
    ready.wait()
    for thread in running:
        thread.join()
    return sum(done), time.process_time() - cpu, time.perf_counter() - start


def _people(first: int, last: int) -> list[Any]:
    rows = harness.execute(
        f"SELECT id FROM bench_people WHERE n >= {first} AND n < {last} ORDER BY n"
    )
    return [row[0] for row in rows]


def _report(shape: Shape) -> None:
    ratios = [mine / theirs for mine, theirs in zip(shape.ours, shape.floor, strict=True)]
    clients = shape.processes * shape.threads
    print(f"{shape.processes} processes of {shape.threads} thread(s)")
    print(f"  floor (pgbench, {clients} clients): {harness.median(shape.floor):8.0f}/s")
    print(
        f"  service layer: {harness.median(shape.ours):8.0f}/s,"
        f" {harness.median(shape.cpu):.2f} ms client CPU each"
    )
    print(
        f"  ratio: median {harness.median(ratios):.2f}, from {min(ratios):.2f} to"
        f" {max(ratios):.2f} (goal: at least {shape.goal})"
    )


if __name__ == "__main__":
    main()
