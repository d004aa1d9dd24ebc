"""Shared parts of the benchmarks: a fresh database on their own cluster, and simple statistics.

Import this before any other module of the project: it sets the database in the environment.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from pipeline.database.cluster import Cluster

# The checkout to measure: this one, unless a benchmark compares it with another.
ROOT = Path(os.environ.get("BENCH_ROOT") or Path(__file__).resolve().parent.parent)
sys.path.insert(0, str(ROOT))
DATABASE = "bench"
SETTINGS = "pipeline.settings"


def start(*, durable: bool = True) -> Cluster:
    """Make a fresh, migrated database and set up Django on it, for this process and its children.

    Return its cluster. With `durable`, commits wait for the disk, as in production.
    """
    from pipeline.database.cluster import Cluster

    on = "on" if durable else "off"
    base = ROOT / ".local" / "postgres" / f"bench-{'durable' if durable else 'fast'}"
    cluster = Cluster(base, fsync=on, synchronous_commit=on, shared_buffers="1GB")
    cluster.ensure()
    _recreate(str(cluster.socket_dir))
    os.environ["DATABASE_URL"] = f"postgres://postgres@/{quote(str(cluster.socket_dir))}/{DATABASE}"
    os.environ["DEMO_TASKS"] = "on"
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    os.environ["SECRET_KEY"] = "of-a-benchmark-0123456789-abcdefg"  # noqa: S105
    os.environ["DJANGO_SETTINGS_MODULE"] = SETTINGS
    setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    return cluster


def copy_database(source: str, target: str) -> None:
    """Replace a database with a copy of another one, after ending that one's connections."""
    import psycopg
    from django.conf import settings
    from django.db import connection

    connection.close()
    host = settings.DATABASES["default"]["HOST"]
    with psycopg.connect(host=host, user="postgres", dbname="postgres", autocommit=True) as server:
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [source]
        )
        server.execute(f"DROP DATABASE IF EXISTS {target} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {target} TEMPLATE {source}")


def setup() -> None:
    """Set up Django in a child process, on the database that `start` made."""
    import django

    django.setup()


def _recreate(host: str) -> None:
    import psycopg

    with psycopg.connect(host=host, user="postgres", dbname="postgres", autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {DATABASE}")


def remove() -> None:
    """Remove the database of this run, and give its disk back."""
    import psycopg
    from django.conf import settings
    from django.db import connection

    connection.close()
    host = settings.DATABASES["default"]["HOST"]
    with psycopg.connect(host=host, user="postgres", dbname="postgres", autocommit=True) as server:
        server.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


def make_job(*, capacity: int = 10, **policy: object) -> str:
    """Create an open job of a new company; return its id."""
    from jobs.companies import create_company
    from jobs.policies import Policy
    from pipeline.domain.states import Actor, ActorKind
    from pipeline.services.jobs import Posting, create_job

    company = create_company(name="Bench", owner_email="owner@bench.example")
    job_id = create_job(
        company_id=company.id,
        posting=Posting("Bench"),
        capacity=capacity,
        policy=Policy(**policy),
        actor=Actor(ActorKind.COMPANY, company.id),
    )
    return str(job_id)


def make_people(count: int) -> None:
    """Create `count` applicants, numbered in the table `bench_people`."""
    execute(
        "CREATE TABLE IF NOT EXISTS bench_people (n bigserial PRIMARY KEY, id uuid)",
        "WITH made AS (INSERT INTO applicants_applicant (id, email, name, created_at)"
        " SELECT gen_random_uuid(), gen_random_uuid() || '@bench.example', '', now()"
        f" FROM generate_series(1, {count}) RETURNING id)"
        " INSERT INTO bench_people (id) SELECT id FROM made",
    )


def execute(*statements: str) -> list[tuple]:
    """Run statements unchanged; return the rows of the last one, if any."""
    from django.db import connection

    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


def print_load() -> None:
    """Print the load of the last minute: results from a busy machine are unreliable."""
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def median(numbers: Sequence[float]) -> float:
    """Return the median."""
    ordered = sorted(numbers)
    return ordered[len(ordered) // 2]


def percentile(numbers: Sequence[float], share: float) -> float:
    """Return the smallest number that at least this share of the numbers does not exceed."""
    ordered = sorted(numbers)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def pgbench(script: Path, *, clients: int, seconds: int) -> float:
    """Return the transactions per second of a pgbench script on the benchmark's database."""
    from django.conf import settings

    from pipeline.database.binaries import find_binaries

    host = settings.DATABASES["default"]["HOST"]
    command = [str(find_binaries().folder / "pgbench"), "-n", "-h", host, "-U", "postgres"]
    command += ["-c", str(clients), "-j", "2", "-T", str(seconds), "-f", str(script), DATABASE]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"pgbench failed: {done.stderr[-1000:]}")
    line = next(line for line in done.stdout.splitlines() if line.startswith("tps"))
    return float(line.split()[2])
