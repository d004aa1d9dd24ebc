"""Threads of the client take few addresses, which the memory limit of a task counts."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.environment import process_environment

GROWTH = """
import django, sys, time
from concurrent.futures import ThreadPoolExecutor
django.setup()
from pipeline.webhooks.client import _bound_memory_of_webhook_clients
from pipeline.webhooks.network import RESOLVERS

def megabytes():
    return int(open("/proc/self/statm").read().split()[0]) * 4_096 / 2**20

def work(_):
    blocks = [bytes(5_000) for _ in range(200)]
    time.sleep(0.2)

if sys.argv[1] == "bounded":
    _bound_memory_of_webhook_clients()
before = megabytes()
with ThreadPoolExecutor(RESOLVERS) as pool:
    list(pool.map(work, range(2 * RESOLVERS)))
print(megabytes() - before)
"""


def grown_megabytes(how: str) -> float:
    run = subprocess.run(
        [sys.executable, "-c", GROWTH, how],
        env=process_environment(),
        check=True,
        capture_output=True,
        text=True,
    )
    return float(run.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_all_threads_leave_a_task_its_memory() -> None:
    assert grown_megabytes("bounded") < 256


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_control_unbounded_they_would_take_more_than_a_task_may() -> None:
    assert grown_megabytes("unbounded") > 512
