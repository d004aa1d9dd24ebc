"""Web servers behind PgBouncer in transaction mode; workers, LISTEN and long reads without it."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.deploy.pgbouncer import Pooler, pooler
from tests.faults.line.prepare import SEATS
from tests.faults.whole_site.ledger import entries_of, ledger_faults, order_faults, reading_faults
from tests.faults.whole_site.people import Crowd
from tests.faults.whole_site.processes import Site, whole_site
from tests.live.listening import Stream
from tests.support.environment import ROOT
from tests.support.smtp import free_port
from tests.support.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SLOWLY = "SELECT 1, pg_sleep(0.02)"
CLIENTS, SERVERS, PEOPLE = 160, 20, 12
DONE = "SELECT count(*) FROM tasks_taskevent WHERE kind = 'succeeded' AND task_id = ANY(%(ids)s)"
CHANGED_COLUMN = """
import sys, django, psycopg
django.setup()
from pipeline.server.requests import limit_statements
limit_statements()
from tasks.sql.prepared import PreparedStatement
owner = psycopg.connect(sys.argv[1], autocommit=True)
owner.execute("CREATE TABLE changing (x int); GRANT SELECT ON changing TO nextinline_app")
owner.execute("INSERT INTO changing VALUES (1)")
read = PreparedStatement("SELECT x FROM changing", lambda x: x)
found = [read.all()]
owner.execute("ALTER TABLE changing ALTER x TYPE text")
for _ in range(3):
    try:
        found.append(read.all())
    except Exception as error:
        found.append(type(error).__name__)
owner.execute("DROP TABLE changing")
print(found)
"""
STREAM_TOKEN = """
import sys, uuid, django
django.setup()
from pipeline.live.stream_tokens import issue
print(issue([uuid.UUID(sys.argv[1])]))
"""
SESSION_OF_OWNER = """
import django
django.setup()
from django.contrib.sessions.models import Session
from jobs.models import Company
from tests.support.accounts import browser_of, member_of
print(browser_of(member_of(Company.objects.get())).cookies["sessionid"].value)
"""


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that the pooler's user can reach (pytest's own are closed)."""
    path = Path(tempfile.mkdtemp(prefix="pooler-", dir="/tmp")).resolve()
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def pooled(folder: Path) -> Iterator[tuple[Site, Pooler, dict[str, object]]]:
    """A site whose web servers connect through a pooler, with a busy job."""
    settings = {"DJANGO_SETTINGS_MODULE": "tests.faults.line.settings", "DEMO_TASKS": "on"}
    with ExitStack() as running:
        site = running.enter_context(whole_site(folder, **settings))
        made = json.loads(site.prepare("tests.faults.line.prepare", "fill", "1", str(PEOPLE)))
        here = running.enter_context(pooler(site.cluster.socket_dir, folder))
        direct = site.environment["DATABASE_URL"]
        site.environment |= {"DATABASE_URL": here.url(), "DATABASE_DIRECT_URL": direct}
        site.environment |= here.settings
        site.start()
        yield site, here, made


def get(site: Site, path: str, **headers: str) -> tuple[int, str]:
    client = http.client.HTTPConnection("127.0.0.1", site.port, timeout=30)
    client.request("GET", path, headers=headers)
    with closing(client), client.getresponse() as answer:
        return answer.status, answer.read().decode()


def test_the_story_goes_through_the_pooler_while_160_clients_hold_connections_to_it(
    pooled: tuple[Site, Pooler, dict[str, object]],
) -> None:
    site, here, made = pooled
    [job] = made["busy"]  # type: ignore[misc]
    before = here.transactions()
    token = site.run("-c", STREAM_TOKEN, job).strip()
    crowd = Crowd(site.port, job, made["tokens"], seed=1, key=made["key"], repeats=0.3)  # type: ignore[arg-type]
    with ExitStack() as held, Stream(f"http://127.0.0.1:{site.port}", token) as stream:
        clients = [held.enter_context(here.connect()) for _ in range(CLIENTS)]
        crowd.start(4)
        with ThreadPoolExecutor(CLIENTS) as threads:
            asked = list(threads.map(lambda each: each.execute(SLOWLY).fetchone(), clients))
        eventually(lambda: crowd.answers.total() >= 60 and len(crowd.tasks) >= 2, 60)
        heard = stream.skip_checks()
        crowd.end()
        [(servers,)] = site.rows(
            "SELECT count(*) FROM pg_stat_activity WHERE usename = 'nextinline_app'"
        )

    assert len(asked) == CLIENTS
    assert servers <= SERVERS + 20  # the pooler's, and those of workers, LISTEN and announcements
    assert here.transactions() - before > crowd.answers.total()
    assert heard[0]
    assert crowd.told
    assert not crowd.refusals
    log = entries_of(site, job)
    assert ledger_faults(crowd.told, log, seats=SEATS) == []
    assert order_faults(crowd.applied, log) == []
    assert reading_faults(crowd.readers, log) == []
    eventually(lambda: site.rows(DONE, ids=crowd.tasks)[0][0] == len(crowd.tasks), 60)
    assert "verified" in site.run("manage.py", "verify_log").lower()


def test_a_download_of_a_whole_line_reads_on_where_requests_change_connections(
    pooled: tuple[Site, Pooler, dict[str, object]],
) -> None:
    site, _, made = pooled
    session = site.run("-c", SESSION_OF_OWNER).strip()
    slow = made["slow"][0][0]  # type: ignore[index]

    status, rows = get(
        site, f"/company/jobs/{slow}/export/applications.csv", Cookie=f"sessionid={session}"
    )

    assert status == 200
    assert len(rows.splitlines()) == 1 + 4


def test_requests_go_on_a_moment_after_the_database_does(
    pooled: tuple[Site, Pooler, dict[str, object]],
) -> None:
    site, _, made = pooled
    path = f"/api/v1/jobs/{made['busy'][0]}"  # type: ignore[index]

    site.kill_database()
    eventually(lambda: get(site, path)[0] == 503)
    time.sleep(2)  # until the pooler itself has tried to reach the database again
    site.cluster.ensure()

    eventually(lambda: get(site, path)[0] == 200, 5)


def test_requests_have_their_limits_and_workers_have_no_limit_of_requests(
    pooled: tuple[Site, Pooler, dict[str, object]],
) -> None:
    site, here, _ = pooled
    shown = "SELECT current_setting('lock_timeout'), current_setting('statement_timeout')"

    with here.connect() as through:
        assert through.execute(shown).fetchone() == ("3s", "10s")
    said = site.run(
        "-c", f"import django; django.setup(); from django.db import connection as c\n"
        f"with c.cursor() as cursor: cursor.execute({shown!r}); print(cursor.fetchone())"
    )  # fmt: skip
    assert said.strip() == "('3s', '0')"


def test_a_session_setting_reaches_other_clients_so_the_checks_are_needed(
    pooled: tuple[Site, Pooler, dict[str, object]],
) -> None:
    _, here, _ = pooled

    with here.connect() as one, here.connect() as other:
        one.execute("SET enable_seqscan = off")
        seen = other.execute("SHOW enable_seqscan").fetchone()
        other.execute("RESET enable_seqscan")

    assert seen == ("off",)


def start(site: Site, *command: str, **environment: str) -> tuple[int, str]:
    """Start a program that is to refuse, and return its exit code and its words."""
    run = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=site.environment | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return run.returncode, run.stdout + run.stderr


WEB = ("-m", "gunicorn", "-c", "python:pipeline.server.gunicorn_config", "pipeline.asgi", "--bind")
COMMANDS = {
    "decay": ("manage.py", "run_decay"),
    "tasks": ("manage.py", "run_tasks"),
    "web": (*WEB, f"127.0.0.1:{free_port()}"),
}


@pytest.mark.parametrize(
    ("ignored", "wrong", "programs"),
    [
        ("", ("DATABASE_URL",), ["decay"]),  # the pooler refuses start-up options
        (", options", ("DATABASE_DIRECT_URL",), ["decay", "tasks", "web"]),
    ],
)
def test_programs_refuse_a_pooled_address_where_they_need_sessions(
    pooled: tuple[Site, Pooler, dict[str, object]],
    folder: Path,
    ignored: str,
    wrong: tuple[str, ...],
    programs: list[str],
) -> None:
    site, _, _ = pooled
    change = ("= extra_float_digits", f"= extra_float_digits{ignored}")
    own = folder / f"other{len(ignored)}"
    own.mkdir()
    with pooler(site.cluster.socket_dir, own, change) as other:
        changes = {"DATABASE_DIRECT_URL": ""} | dict.fromkeys(wrong, other.url())
        for program in programs:
            code, said = start(site, *COMMANDS[program], **changes)
            assert code != 0, program
            assert "DATABASE_DIRECT_URL" in said, said


def test_a_pooler_that_drops_the_limits_is_refused_and_doctor_names_them(
    pooled: tuple[Site, Pooler, dict[str, object]], folder: Path
) -> None:
    site, here, _ = pooled
    (folder / "bare").mkdir()
    text = (ROOT / "deploy" / "pgbouncer" / "pgbouncer.ini").read_text()
    [query] = re.findall(r" connect_query='[^']*'", text)
    with pooler(site.cluster.socket_dir, folder / "bare", (query, "")) as bare:
        code, said = start(site, *WEB, f"127.0.0.1:{free_port()}", DATABASE_URL=bare.url())
        found = pooler_findings(site, DATABASE_URL=bare.url())
    good = pooler_findings(site, DATABASE_URL=here.url())

    assert code != 0
    assert "lock_timeout" in said
    [(level, message)] = found
    assert level == "problem"
    assert "statement_timeout" in message
    assert [level for level, _ in good] == ["ok"]


def test_a_pooler_without_prepared_statements_is_refused_while_they_are_on(
    pooled: tuple[Site, Pooler, dict[str, object]], folder: Path
) -> None:
    site, here, _ = pooled
    (folder / "forgetful").mkdir()
    change = [("max_prepared_statements = 500", "max_prepared_statements = 0")]
    with pooler(
        site.cluster.socket_dir, folder / "forgetful", *(change if here.prepares else [])
    ) as other:
        how = {"DATABASE_URL": other.url(), "PREPARED_STATEMENTS": "on"}
        code, said = start(site, *WEB, f"127.0.0.1:{free_port()}", **how)
        found = pooler_findings(site, **how)

    assert code != 0
    assert "prepared statements" in said
    assert [level for level, _ in found] == ["problem"]


def pooler_findings(site: Site, **environment: str) -> list[tuple[str, str]]:
    """Return level and message of each finding of doctor about the pooler."""
    _, said = start(site, "manage.py", "doctor", "--json", **environment)
    told, _ = json.JSONDecoder().raw_decode(said)
    rows = [row for row in told["findings"] if row["check"] == "pooler"]
    return [(row["level"], row["message"]) for row in rows]


def test_a_migration_that_changes_a_column_breaks_no_prepared_statement(
    pooled: tuple[Site, Pooler, dict[str, object]],
) -> None:
    """Run through the pooler if it keeps prepared statements, which it does since 1.21.

    Through an older one nothing is prepared, so nothing could break. Then it is PostgreSQL's own
    address, where a connection's statements are as stale as those that a pooler keeps.
    """
    site, here, _ = pooled
    direct = {"DATABASE_URL": site.environment["DATABASE_DIRECT_URL"], "DATABASE_DIRECT_URL": ""}

    owner = f"host={site.cluster.socket_dir} user=nextinline_owner dbname=postgres"
    how = {"PREPARED_STATEMENTS": "on"} | ({} if here.prepares else direct)
    said = site.run("-c", CHANGED_COLUMN, owner, **how)

    assert said.strip() == "[[1], ['1'], ['1'], ['1']]"
