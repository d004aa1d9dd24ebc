"""Rows of the fault matrix: what is done to the site while people use it."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

import psycopg

from pipeline.database.cluster import PORT
from tests.faults.line.prepare import SLOW_JOBS, SLOW_SEATS
from tests.faults.line.proxy import Proxy
from tests.faults.line.stage import Stage
from tests.support.environment import ROOT
from tests.support.task_workers import children_of
from tests.support.waiting import eventually
from tests.support.wrong_clock import wrong_clock

DAY = 86_400
DECAYED = (
    "SELECT count(*)::int FROM pipeline_event WHERE job_id = ANY(%(jobs)s) AND event = 'DECAYED'"
)
LATER_THAN_NOW = (
    "SELECT count(*)::int FROM pipeline_event"
    " WHERE job_id = %(job)s AND (at > clock_timestamp() OR effective_at > clock_timestamp())"
)
TERMINATE = (
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
    " WHERE usename = 'nextinline_app' AND pid <> pg_backend_pid()"
)
REFUSE_HALF = """
CREATE FUNCTION disk_is_full() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF random() < 0.5 THEN
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER disk_is_full BEFORE INSERT ON pipeline_event EXECUTE FUNCTION disk_is_full();
"""
SUPERVISE = "tests.faults.line.supervise"
FEWEST_OF_A_TASK_WORKER = 2  # processes: itself and its fork server
REFUSE_NOTHING = "DROP FUNCTION disk_is_full CASCADE"


@dataclass(frozen=True)
class Row:
    """One row. `may_forget`: a lost database may take kept answers with it, never their effect."""

    name: str
    act: Callable[[Stage], None]
    may_forget: bool = False


def kill_web(stage: Stage) -> None:
    stage.site.programs["web"].kill()
    stage.site.programs["web"].start()
    eventually(stage.site.is_answering, 60)


def kill_web_workers(stage: Stage) -> None:
    stage.site.programs["web"].kill(only_children=True)
    eventually(stage.site.is_answering, 60)


def kill_web_master(stage: Stage) -> None:
    """Kill the master of the web server alone, and start another one on its port at once."""
    stage.site.programs["web"].kill_master()
    stage.site.programs["web"].start()
    eventually(stage.site.is_answering, 60)


def stop_web_worker(stage: Stage) -> None:
    """Stop one of the two web workers, in whatever it is doing."""
    victim = random.choice(sorted(children_of(stage.site.programs["web"])))
    os.kill(victim, signal.SIGSTOP)
    stage.rest(1.5, long_seconds=random.choice([10, 40]))
    with suppress(ProcessLookupError):  # gunicorn replaces a worker that is silent for 30 s
        os.kill(victim, signal.SIGCONT)


def take_decay_worker_away(stage: Stage) -> None:
    """Stop the decay worker while deadlines pass, and kill it when it begins to settle them."""
    worker, jobs = stage.site.programs["decay"], stage.made["slow"][0]
    due = _decayed(stage, *jobs) + SLOW_JOBS * SLOW_SEATS
    worker.stop()
    stage.let_deadlines_pass(jobs)
    worker.resume()
    stage.rest(0.1, long_seconds=random.random())
    worker.kill()
    worker.start()
    eventually(lambda: _decayed(stage, *jobs) >= due, 90)


def _decayed(stage: Stage, *jobs: str) -> int:
    return int(stage.site.rows(DECAYED, jobs=list(jobs))[0][0])


def kill_task_worker(stage: Stage) -> None:
    stage.site.programs["tasks"].kill()
    stage.site.programs["tasks"].start()


def kill_decay_master(stage: Stage) -> None:
    stage.site.programs["decay"].kill_master()
    stage.site.programs["decay"].start()


def kill_task_master(stage: Stage) -> None:
    """Kill the process that hands out tasks; its fork server and children are left."""
    stage.site.programs["tasks"].kill_master()
    stage.site.programs["tasks"].start()


def kill_master_of_task_workers(stage: Stage) -> None:
    """Kill the process that keeps two task workers running."""
    tasks = stage.site.programs["tasks"]
    tasks.kill()
    tasks.start("--processes", "2")
    eventually(lambda: len(children_of(tasks)) >= 2 * FEWEST_OF_A_TASK_WORKER, 60)
    stage.work(10)
    tasks.kill_master()
    tasks.start()


def kill_supervisor(stage: Stage) -> None:
    """Run the programs under a supervisor, as `manage.py up` does, and kill it."""
    site = stage.site
    for program in site.programs.values():
        program.kill()
    commands = {program.name: program.command for program in site.programs.values()}
    environment = site.programs["web"].environment
    command = [sys.executable, "-m", SUPERVISE, json.dumps(commands)]
    supervisor = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
    try:
        eventually(site.is_answering, 60)
        stage.work(10)
    finally:
        supervisor.kill()
        supervisor.wait()
    for program in site.programs.values():
        program.start()
    eventually(site.is_answering, 60)


def stop_task_worker(stage: Stage) -> None:
    """Stop the worker; in the long form past its lease, so that its runs are another one's."""
    stage.site.programs["tasks"].stop()
    stage.rest(1, long_seconds=10)
    stage.site.programs["tasks"].resume()


def crash_database(stage: Stage) -> None:
    stage.site.kill_database()
    stage.rest(0.3, long_seconds=3)
    stage.site.cluster.ensure()


def restart_database(stage: Stage) -> None:
    stage.site.cluster.server.stop()
    stage.site.cluster.ensure()


def terminate_backends(stage: Stage) -> None:
    for _ in range(5):
        stage.work(5)
        stage.site.rows(TERMINATE)


def delay(stage: Stage, network: Callable[[Stage], Proxy]) -> None:
    network(stage).delay_seconds = 0.05
    stage.work(10)
    network(stage).delay_seconds = 0.0


def cut(stage: Stage, network: Callable[[Stage], Proxy]) -> None:
    network(stage).is_cut = True
    network(stage).cut()
    stage.wait_for_failures(3)
    network(stage).is_cut = False


def swallow(stage: Stage, network: Callable[[Stage], Proxy]) -> None:
    """Swallow answers for a while, then end the connections over which they did not come."""
    network(stage).is_swallowing = True
    before = network(stage).swallowed_bytes
    eventually(lambda: network(stage).swallowed_bytes > before, 60)
    stage.rest(1, long_seconds=8)
    network(stage).cut()
    network(stage).is_swallowing = False


def fill_disk(stage: Stage) -> None:
    """Fail half the commits as on a disk without room for another page of a table."""
    stage.site.rows(REFUSE_HALF)
    stage.wait_for_failures(5)
    stage.site.rows(REFUSE_NOTHING)


def fill_disk_of_log(stage: Stage) -> None:
    """Let no process of the server write to any file: it crashes, and cannot start.

    That is what PostgreSQL does when its write-ahead log has no room. A limit of the size of files
    stands for the full disk, because mounting a small one needs rights that CI may not have.
    """
    user = stage.site.cluster.server.user
    identity: dict[str, Any] = {"user": user.pw_uid, "group": user.pw_gid} if user else {}
    for pid in stage.site.database_processes():
        limit = ["prlimit", "--fsize=0:", "--pid", str(pid)]
        subprocess.run(limit, check=False, capture_output=True, cwd="/", **identity)
    stage.wait_for_failures(5)
    stage.rest(0, long_seconds=5)
    stage.site.kill_database()
    stage.site.cluster.ensure()


def hold_lock(stage: Stage) -> None:
    """Hold the job's lock, longer than a change waits for it."""
    with psycopg.connect(
        host=str(stage.site.cluster.socket_dir), port=PORT, user="postgres", dbname="postgres"
    ) as holder:
        holder.execute("SELECT 1 FROM jobs_job WHERE id = %s FOR UPDATE", [stage.crowd.job])
        busy = stage.crowd.failures[503, "BUSY"]
        eventually(lambda: stage.crowd.failures[503, "BUSY"] > busy, 60)
        stage.rest(0, long_seconds=60)


def set_clocks_wrong(stage: Stage) -> None:
    """Run the processes with clocks that are days early and late; the database's decides.

    They stay wrong, so this row is the last.
    """
    programs, jobs = stage.site.programs, stage.made["slow"][1]
    for name, days in (("web", 3), ("decay", -3), ("tasks", 3)):
        programs[name].kill()
        programs[name].start(**wrong_clock(days * DAY, stage.folder))
    due = _decayed(stage, *jobs) + SLOW_JOBS * SLOW_SEATS
    stage.let_deadlines_pass(jobs)
    eventually(stage.site.is_answering, 90)
    # The control: this clock is really wrong.
    assert abs(_date_of_web(stage) - datetime.now(UTC) - timedelta(days=3)) < timedelta(hours=1)
    stage.work()
    # Overdue by the database's clock, and not by the worker's.
    eventually(lambda: _decayed(stage, *jobs) >= due, 90)
    # Not overdue by the database's clock, though by those of web server and task worker.
    assert stage.long_seconds or _decayed(stage, stage.crowd.job) == 0
    [(late,)] = stage.site.rows(LATER_THAN_NOW, job=stage.crowd.job)
    assert late == 0


def _date_of_web(stage: Stage) -> datetime:
    with closing(http.client.HTTPConnection("127.0.0.1", stage.site.port, timeout=30)) as client:
        key = stage.made["key"]
        client.request("GET", "/api/v1/jobs", headers={"Authorization": f"Bearer {key}"})
        answer = client.getresponse()
        answer.read()
    return parsedate_to_datetime(str(answer.headers["Date"]))


def exhaust_connections(stage: Stage) -> None:
    """Let the web server and the workers have two connections, all together."""
    stage.site.rows("ALTER ROLE nextinline_app CONNECTION LIMIT 2")
    stage.site.rows(TERMINATE)
    stage.wait_for_failures(5)
    stage.site.rows("ALTER ROLE nextinline_app CONNECTION LIMIT -1")


def come_slowly(stage: Stage) -> None:
    """Open many connections that send a request one byte at a time, and read nothing."""
    head = b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n"
    with ExitStack() as all_of_them:
        clients = [
            all_of_them.enter_context(socket.create_connection(("127.0.0.1", stage.site.port), 5))
            for _ in range(300)
        ]
        for number in range(20):
            for client in clients[::2]:
                with suppress(OSError):
                    client.send(head[number : number + 1])
            for client in clients[1::2]:
                with suppress(OSError):
                    client.send(head if number == 0 else b"x")
            stage.work(3)


def _to_web(stage: Stage) -> Proxy:
    return stage.to_web


def _to_database(stage: Stage) -> Proxy:
    return stage.to_database


ROWS = [
    Row("web server killed (kill -9)", kill_web),
    Row("web workers killed", kill_web_workers),
    Row("web worker stopped (SIGSTOP)", stop_web_worker),
    Row("decay worker stopped, then killed", take_decay_worker_away),
    Row("task worker killed", kill_task_worker),
    Row("task worker stopped", stop_task_worker),
    Row("web server's master killed alone", kill_web_master),
    Row("decay worker killed", kill_decay_master),
    Row("task worker's first process killed alone", kill_task_master),
    Row("master of two task workers killed", kill_master_of_task_workers),
    Row("supervisor of all programs killed", kill_supervisor),
    Row("database killed", crash_database, may_forget=True),
    Row("database restarted", restart_database, may_forget=True),
    Row("database connections terminated", terminate_backends, may_forget=True),
    Row("network to the database slow", partial(delay, network=_to_database)),
    Row("network to the database cut", partial(cut, network=_to_database), may_forget=True),
    Row(
        "network from the database swallows answers",
        partial(swallow, network=_to_database),
        may_forget=True,
    ),
    Row("network to the web server slow", partial(delay, network=_to_web)),
    Row("network to the web server cut", partial(cut, network=_to_web)),
    Row("network from the web server swallows answers", partial(swallow, network=_to_web)),
    Row("disk full, for tables", fill_disk),
    Row("disk full, for the write-ahead log", fill_disk_of_log, may_forget=True),
    Row("lock of the job held by another session", hold_lock),
    Row("connections of the database exhausted", exhaust_connections, may_forget=True),
    Row("300 slow clients", come_slowly),
    Row("clocks wrong by three days", set_clocks_wrong),
]
