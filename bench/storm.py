"""500 people and 8 processes on one job of 10 seats, over HTTP, while three decay workers run.

People apply, acknowledge, withdraw and let deadlines pass at random, and the company removes some.
Meanwhile the database is watched for a job with too many seats taken, and for a seat that is idle
while an eligible person waits. Afterwards the log is verified and walked commit by commit. Exits
with 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import random
import socket
import subprocess
import sys
import time
from collections import Counter
from typing import Any

import harness
from storm_checks import Applied, Watch, check_order, walk_log

SEATS, PROCESSES, DECAY_WORKERS = 10, 8, 3
POLICY = {
    "acknowledgment_window_seconds": 60,
    "acknowledge_first_seat": True,
    "max_decays": None,
    "cooldown_seconds": 5,
}


def main() -> None:
    options = _options()
    harness.start()
    port, key = free_port(), company_key()
    servers = _start_servers(port)
    try:
        job_id = create_job(port, key)
        with Watch(job_id, seats=SEATS) as watch:
            answers, applied = _storm(port, key, job_id, options)
    finally:
        _stop(servers)
    sys.exit(_report(answers, watch, job_id, applied))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=300)
    return parser.parse_args()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def company_key() -> str:
    from jobs import keys
    from jobs.companies import create_company
    from jobs.models import Scope

    company = create_company(name="Storm", owner_email="owner@storm.example")
    return keys.create(company_id=company.id, name="storm", scopes=list(Scope))[1]


def _start_servers(port: int) -> list[subprocess.Popen]:
    gunicorn = [
        sys.executable,
        "-m",
        "gunicorn",
        "pipeline.asgi",
        "-c",
        "pipeline/server/gunicorn_config.py",
    ]
    decay = [sys.executable, "manage.py", "run_decay"]
    commands = [[*gunicorn, "-b", f"127.0.0.1:{port}"], *[decay] * DECAY_WORKERS]
    servers = [subprocess.Popen(command, cwd=harness.ROOT, env=os.environ) for command in commands]
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return servers
        time.sleep(0.1)
    raise SystemExit("the web server did not start")


def _stop(servers: list[subprocess.Popen]) -> None:
    for server in servers:
        server.terminate()
    for server in servers:
        server.wait(15)


class Client:
    """Keep-alive connection to the API that counts every answer."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.answers: Counter[str] = Counter()
        self.applied: list[Applied] = []

    def call(self, method: str, path: str, token: str, body: Any = None) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body)
        self._connection.request(method, f"/api/v1{path}", content, headers)
        response = self._connection.getresponse()
        answer = json.loads(response.read() or b"null")
        self.answers[self._name(response.status, answer)] += 1
        return response.status, answer

    def connects(self) -> bool:
        """Tell whether the server accepts connections."""
        try:
            self._connection.connect()
        except OSError:
            return False
        self._connection.close()
        return True

    @staticmethod
    def _name(status: int, answer: Any) -> str:
        return f"{status} {answer.get('code', '')}" if status >= 400 else str(status)


def create_job(port: int, key: str) -> str:
    body = {"title": "Storm", "capacity": SEATS, "policy": POLICY}
    status, job = Client(port).call("POST", "/jobs", key, body)
    if status != 201:
        raise SystemExit(f"the job was not created: {status} {job}")
    return str(job["id"])


def _storm(
    port: int, key: str, job_id: str, options: argparse.Namespace
) -> tuple[Counter[str], list[Applied]]:
    tokens = _tokens(options.people)
    shares = [
        (port, key, job_id, tokens[i::PROCESSES], options.seconds, i) for i in range(PROCESSES)
    ]
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        found = pool.starmap(_crowd, shares, chunksize=1)
    return sum((answers for answers, _ in found), Counter()), [
        each for _, applied in found for each in applied
    ]


def _tokens(people: int) -> list[str]:
    from applicants.people import find_or_create_person
    from applicants.tokens import issue as issue_token_to_applicant

    addresses = [f"person{number}@storm.example" for number in range(people)]
    return [issue_token_to_applicant(find_or_create_person(address)) for address in addresses]


def _crowd(
    port: int, key: str, job_id: str, tokens: list[str], seconds: int, seed: int
) -> tuple[Counter[str], list[Applied]]:
    dice, client, end = random.Random(seed), Client(port), time.monotonic() + seconds
    dice.shuffle(tokens)
    applications: dict[str, str] = {}
    for token in tokens:
        _come(client, job_id, token, applications)
    while time.monotonic() < end:
        _act(client, key, job_id, dice.choice(tokens), applications, dice)
        time.sleep(dice.random() * 0.1)
    return client.answers, client.applied


def _come(client: Client, job_id: str, token: str, applications: dict[str, str]) -> None:
    sent_at = time.monotonic()  # one clock for all processes of the machine
    status, answer = client.call("POST", f"/jobs/{job_id}/applications", token, {})
    if status == 201:
        applications[token] = answer["id"]
        client.applied.append((sent_at, time.monotonic(), answer["id"]))


def _act(
    client: Client, key: str, job_id: str, token: str, applications: dict[str, str], dice: Any
) -> None:
    mine = applications.get(token)
    if mine is None:
        return _come(client, job_id, token, applications)
    _, application = client.call("GET", f"/applications/{mine}", token)
    match application.get("status"):
        case "INACTIVE":
            _come(client, job_id, token, applications)
        case "PENDING_ACKNOWLEDGMENT" if dice.random() < 0.5:
            client.call("POST", f"/applications/{mine}/acknowledge", token)
        case "ACTIVE" if dice.random() < 0.5:
            body = {"outcome": "REMOVED", "reason": "NO_RESPONSE"}
            client.call("POST", f"/applications/{mine}/remove", key, body)
        case "ACTIVE" | "WAITLIST" if dice.random() < 0.1:
            client.call("POST", f"/applications/{mine}/withdraw", token)
    return None


def _report(answers: Counter[str], watch: Watch, job_id: str, applied: list[Applied]) -> int:
    total = sum(answers.values())
    print(f"\n{total:,} answers:")
    for name, count in sorted(answers.items()):
        print(f"  {name:32} {count:>8,}")
    busy = answers["503 BUSY"]
    failed = sum(count for name, count in answers.items() if name[0] == "5") - busy
    print(f"5xx but BUSY: {failed}; BUSY: {busy} = {busy / total:.4%} (goal: at most 0.1 %)")
    faults = [*watch.report(), *walk_log(job_id, seats=SEATS), *check_order(job_id, applied)]
    if failed or busy > total / 1_000:
        faults.append("too many 5xx answers")
    for fault in faults:
        print(f"FAULT: {fault}")
    print("All is well." if not faults else f"{len(faults)} faults.")
    return 1 if faults else 0


if __name__ == "__main__":
    main()
