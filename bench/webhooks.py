"""Webhooks: deliveries per second, and the time from an event to its arrival.

    .venv/bin/python bench/webhooks.py [DELIVERIES]

One task worker with its four slots, as in production; a receiver in a process of its own, which
answers after 5 ms or 2 s. CPU is that of the worker with its children. Arrival is measured from the
event's `at`, the database's clock under the job's lock, to the receipt of the whole request.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from urllib.request import urlopen

import harness
from processes import cpu_seconds

DELIVERIES = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdecimal() else 5_000
FAST_SECONDS, SLOW_SECONDS = 0.005, 2.0
EVENTS, PAUSE_SECONDS = 100, 0.2


def main() -> None:
    harness.start()
    fast, fast_url = receiver(FAST_SECONDS)
    slow, slow_url = receiver(SLOW_SECONDS)
    worker = subprocess.Popen([sys.executable, "manage.py", "run_tasks"], cwd=harness.ROOT)
    try:
        time.sleep(3)
        for what, url, endpoints, count in (
            ("5 ms, one endpoint", fast_url, 1, DELIVERIES),
            ("5 ms, 50 endpoints", fast_url, 50, DELIVERIES),
            ("2 s, one endpoint", slow_url, 1, 100),
            ("2 s, 50 endpoints", slow_url, 50, 1_000),
        ):
            throughput(what, url, endpoints, count, worker.pid)
        arrival(fast_url)
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(60)
        for each in (fast, slow):
            each.kill()
    harness.print_load()


def throughput(what: str, url: str, endpoints: int, count: int, worker: int) -> None:
    """Queue deliveries for endpoints, each of a company of its own, and time the sending."""
    from pipeline.webhooks import queue
    from pipeline.webhooks.endpoints import create as create_webhook_endpoint
    from pipeline.webhooks.queue import QueuedOccurrence

    clear()
    companies = [company() for _ in range(endpoints)]
    for each in companies:
        create_webhook_endpoint(company_id=each, url=url)
    for each in companies:
        now = datetime.now(UTC)
        events = [
            QueuedOccurrence(f"bench:{n}", "job.opened", now, {"seq": n})
            for n in range(count // endpoints)
        ]
        queue.add(each, events)
    cpu, began = cpu_seconds(worker), time.monotonic()
    queue.wake()
    left = "SELECT count(*) FROM pipeline_webhookdelivery WHERE state = 'PENDING'"
    while harness.execute(left)[0][0]:
        time.sleep(0.05)
    took, used = time.monotonic() - began, cpu_seconds(worker) - cpu
    failed = harness.execute(
        "SELECT error, count(*) FROM pipeline_webhookattempt WHERE error <> '' GROUP BY 1"
    )
    print(
        f"{what}: {count / took:,.0f} deliveries/s,"
        f" {1_000 * used / count:.2f} ms of CPU each, failed attempts: {dict(failed) or 'none'}"
    )


def arrival(url: str) -> None:
    """Let single events happen for an idle worker, and read from the receiver when they came."""
    from jobs.models import Job
    from pipeline.domain.states import Actor, ActorKind
    from pipeline.services.joining import apply
    from pipeline.webhooks.endpoints import create as create_webhook_endpoint

    clear()
    job = harness.make_job()
    owner = Job.objects.get(id=job).company_id
    create_webhook_endpoint(company_id=owner, url=url)
    harness.make_people(EVENTS)
    people = harness.execute(f"SELECT id FROM bench_people ORDER BY n DESC LIMIT {EVENTS}")
    stats(url)
    for (person,) in people:
        apply(
            job_id=Job.objects.get(id=job).id,
            applicant_id=person,
            name="Bench",
            actor=Actor(ActorKind.APPLICANT, person),
        )
        time.sleep(PAUSE_SECONDS)
    time.sleep(2)
    found = stats(url)
    print(
        f"from an event to its arrival, idle worker: p50 {harness.median(found):.0f} ms,"
        f" p99 {harness.percentile(found, 0.99):.0f} ms ({len(found)} events)"
    )


def company() -> object:
    from jobs.models import Company

    return Company.objects.create(name="Bench").id


def clear() -> None:
    harness.execute(
        "TRUNCATE pipeline_webhookattempt, pipeline_webhookdelivery, pipeline_webhookendpoint"
    )


def stats(url: str) -> list[float]:
    """Milliseconds from event to arrival of what came since the last call."""
    with urlopen(url) as answer:  # noqa: S310  our own receiver, on this machine
        return list(json.load(answer))


def receiver(seconds: float) -> tuple[subprocess.Popen[str], str]:
    """Start a receiver that answers after this many seconds."""
    process = subprocess.Popen(
        [sys.executable, __file__, "receive", str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    return process, process.stdout.readline().strip()


async def receive(seconds: float) -> None:
    """Serve HTTP just as far as our client needs it."""
    arrived: list[float] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                if head.startswith("get"):
                    body = json.dumps(arrived).encode()
                    arrived.clear()
                    writer.write(b"HTTP/1.0 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body))
                    writer.write(body)
                    break
                length = int(head.split("content-length:")[1].split("\r\n")[0])
                sent = json.loads(await reader.readexactly(length))["timestamp"]
                age = datetime.now(UTC) - datetime.fromisoformat(sent)
                arrived.append(age.total_seconds() * 1_000)
                await asyncio.sleep(seconds)
                writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1_000)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1:2] == ["receive"]:
        asyncio.run(receive(float(sys.argv[2])))
    else:
        os.environ["WEBHOOK_ALLOW_PRIVATE"] = "on"
        os.environ.setdefault("LOG_LEVEL", "WARNING")
        main()
