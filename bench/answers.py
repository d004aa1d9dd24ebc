"""CPU of applying with five answers, compared with applying to a job without a form.

The rounds alternate. Each counts the CPU of this process and of its database connection, so other
work on the machine matters little. The answers are checked in each application, as on the page.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any
from uuid import UUID

import harness

ANSWERS = {
    "town": "Kiel",
    "years": 4,
    "shift": "Early",
    "days": ["Mon", "Wed"],
    "why": "I have built boats since I was a child, and I would like to learn from your crew.",
}
GOAL = 1.3


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--people", type=int, default=1_000)
    given = options.parse_args()
    harness.start(durable=False)
    plain, asking = harness.make_job(), _job_with_form()
    harness.make_people(2 * given.rounds * given.people + 200)
    people = [row[0] for row in harness.execute("SELECT id FROM bench_people ORDER BY n")]
    for job_id in (plain, asking):
        _apply(job_id, people[:100], people[-1])
        del people[:100]
    ratios, costs = [], {plain: [], asking: []}
    for _ in range(given.rounds):
        used = {}
        for job_id in (plain, asking):
            used[job_id] = _apply(job_id, people[: given.people], people[-1])
            del people[: given.people]
            costs[job_id].append(sum(used[job_id]) / given.people * 1e3)
        ratios.append(sum(used[asking]) / sum(used[plain]))
    harness.print_load()
    print(f"{given.rounds} rounds of {given.people} people each, five answers")
    for words, job_id in (("without a form", plain), ("with five answers", asking)):
        print(f"  {words}: {harness.median(costs[job_id]):.2f} ms CPU each")
    print(
        f"  ratio: median {harness.median(ratios):.2f}, from {min(ratios):.2f} to"
        f" {max(ratios):.2f} (goal: at most {GOAL})"
    )


def _job_with_form() -> str:
    from pipeline.domain.states import SYSTEM
    from pipeline.form.questions import Kind, build_question
    from pipeline.form.versions import publish

    job_id = harness.make_job()
    described: list[dict[str, Any]] = [
        {"kind": Kind.SHORT_TEXT, "key": "town"},
        {"kind": Kind.NUMBER, "key": "years", "minimum": 0, "maximum": 60},
        {"kind": Kind.CHOICE, "key": "shift", "choices": ["Early", "Late"]},
        {"kind": Kind.CHOICES, "key": "days", "choices": ["Mon", "Tue", "Wed"]},
        {"kind": Kind.LONG_TEXT, "key": "why"},
    ]
    questions = [build_question({"label": each["key"], **each}) for each in described]
    publish(job_id=UUID(job_id), questions=questions, actor=SYSTEM)
    return job_id


def _apply(job_id: str, people: list[Any], company: Any) -> tuple[float, float]:
    """Apply for each person; return the CPU seconds of this process and of the database's."""
    from jobs.models import Job
    from pipeline.domain.states import Actor, ActorKind
    from pipeline.form.answers import fill
    from pipeline.services.joining import apply

    ((pid,),) = harness.execute("SELECT pg_backend_pid()")
    job = Job.objects.get(id=job_id)
    actor = Actor(ActorKind.COMPANY, company)
    own, database = time.process_time(), _cpu_of(pid)
    for person in people:
        filled = fill(job, ANSWERS) if job.form_version else None
        apply(job_id=job.id, applicant_id=person, name="Bench", actor=actor, filled=filled)
    return time.process_time() - own, _cpu_of(pid) - database


def _cpu_of(pid: int) -> float:
    """Return the CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
