"""Resources of the client: addresses, which the memory limit counts, and files."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from tests.support.environment import process_environment

GROWTH = """
import django, sys, time
from concurrent.futures import ThreadPoolExecutor
django.setup()
from pipeline.outgoing.client import _limit_memory
from pipeline.outgoing.client import RESOLVERS

def megabytes():
    return int(open("/proc/self/statm").read().split()[0]) * 4_096 / 2**20

def work(_):
    blocks = [bytes(5_000) for _ in range(200)]
    time.sleep(0.2)

if sys.argv[1] == "bounded":
    _limit_memory()
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


FILES = """
import django, resource, sys
django.setup()
from pipeline.outgoing.client import allow_webhook_connections

_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, min(hard, int(sys.argv[1]))))
allow_webhook_connections()
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(("hard", "soft"), [(128, 128), (100_000, 8_192)])
def test_it_may_open_as_many_connections_as_the_machine_allows(hard: int, soft: int) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    run = subprocess.run(
        [sys.executable, "-c", FILES, str(hard)],
        env=process_environment(),
        check=True,
        capture_output=True,
        text=True,
    )

    assert int(run.stdout.split()[0]) == min(soft, most)
