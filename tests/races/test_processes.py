"""The same races between real processes."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from uuid import UUID

import pytest

from tests.support import factories
from tests.support.environment import ROOT
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)

PROCESSES = 4


def race(environment: dict[str, str], *arguments: str, people: list[list[UUID]]) -> Counter[str]:
    """Let a process for each list of people apply at the same moment, and count their answers."""
    lists = [",".join(map(str, each)) for each in people]
    command = [sys.executable, "-m", "tests.races.processes", *arguments, *lists]
    run = subprocess.run(
        command, env=environment, cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE
    )
    return Counter(run.stdout.split())


def strangers(each: int) -> list[list[UUID]]:
    return [[factories.applicant().id for _ in range(each)] for _ in range(PROCESSES)]


def test_processes_fill_exactly_the_seats_there_are(environment: dict[str, str]) -> None:
    job_id = factories.job(capacity=3)

    answers = race(environment, str(job_id), people=strangers(10))

    assert answers == {"ACTIVE": 3, "WAITLIST": 37}
    assert_line_is_sound(job_id)


def test_processes_let_the_same_person_in_once(environment: dict[str, str]) -> None:
    job_id, person = factories.job(capacity=3), factories.applicant()

    answers = race(environment, str(job_id), people=[[person.id]] * PROCESSES)

    assert answers == {"ACTIVE": 1, "AlreadyApplied": PROCESSES - 1}
    assert_line_is_sound(job_id)


def test_without_the_lock_processes_would_overbook(environment: dict[str, str]) -> None:
    job_id = factories.job(capacity=1)

    race(environment, "--without-lock", str(job_id), people=strangers(1))

    seated = factories.Application.objects.filter(job_id=job_id, status="ACTIVE").count()
    assert seated > 1
