"""Commands: each takes the arguments and returns an exit code, if it is not 0."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from nextinline.commands import follow, listening
from nextinline.commands.connection import Unusable, connect, site_address
from nextinline.commands.output import tell, write_lines, write_object
from nextinline.webhooks import new_secret

SECRET = "WEBHOOK_SECRET"  # noqa: S105  the name of a variable
NOT_ALL = 1


def show_company(_options: Namespace) -> None:
    """Print the company of the key."""
    with connect() as client:
        write_object(client.own_company())


def list_jobs(options: Namespace) -> None:
    """Print the jobs."""
    filters = {"status": options.status, "search": options.search}
    with connect() as client:
        write_lines(client.jobs.list(**filters, external_id=options.external_id))


def show_job(options: Namespace) -> None:
    """Print a job."""
    with connect() as client:
        write_object(client.jobs.get(options.job_id))


def create_job(options: Namespace) -> None:
    """Create a job."""
    fields = {"title": options.title, "capacity": options.capacity, **_body(options.json)}
    with connect() as client:
        write_object(client.jobs.create(**fields, idempotency_key=options.idempotency_key))


def open_job(options: Namespace) -> None:
    """Open or resume a job."""
    with connect() as client:
        write_object(client.jobs.open(options.job_id))


def pause_job(options: Namespace) -> None:
    """Pause a job."""
    with connect() as client:
        write_object(client.jobs.pause(options.job_id))


def close_job(options: Namespace) -> None:
    """Close a job."""
    with connect() as client:
        write_object(client.jobs.close(options.job_id))


def list_queue(options: Namespace) -> None:
    """Print the waitlist."""
    with connect() as client:
        write_lines(client.jobs.queue(options.job_id))


def summarise_job(options: Namespace) -> None:
    """Print a job's figures."""
    with connect() as client:
        write_object(client.jobs.summary(options.job_id))


def verify_job(options: Namespace) -> int:
    """Print what is proved of a job's log; the exit code is 1 if the chain is broken."""
    with connect() as client:
        verdict = client.jobs.verify(options.job_id)
    write_object(verdict)
    return 0 if verdict["chain"] == "ok" else NOT_ALL


def list_applications(options: Namespace) -> None:
    """Print the applications to a job."""
    filters = {name: getattr(options, name) for name in ("status", "outcome", "search")}
    with connect() as client:
        write_lines(client.applications.list(options.job_id, **filters))


def find_application(options: Namespace) -> int:
    """Print the application with an id of the company's own; the exit code is 1 without one."""
    with connect() as client:
        found = client.applications.find(options.external_id)
    if found is None:
        tell(f"There is no application with the external_id {options.external_id}.")
        return NOT_ALL
    write_object(found)
    return 0


def show_application(options: Namespace) -> None:
    """Print an application."""
    with connect() as client:
        write_object(client.applications.get(options.application_id))


def list_timeline(options: Namespace) -> None:
    """Print what happened to an application."""
    with connect() as client:
        write_lines(client.applications.timeline(options.application_id))


def remove_application(options: Namespace) -> None:
    """Decide on an application."""
    given = ("outcome", "reason", "note", "text", "idempotency_key")
    decision = {name: getattr(options, name) for name in given}
    with connect() as client:
        write_object(client.applications.remove(options.application_id, **decision))


def submit(options: Namespace) -> None:
    """Submit a person to a job."""
    fields = {"name": options.name, "email": options.email, **_body(options.json)}
    if options.external_id is not None:
        fields["external_id"] = options.external_id
    if options.metadata:
        fields["metadata"] = _pairs(options.metadata)
    key = options.idempotency_key
    with connect() as client:
        write_object(client.applications.submit(options.job_id, **fields, idempotency_key=key))


def import_people(options: Namespace) -> int:
    """Import people from a file, and print what became of each row.

    The exit code is 1 unless every row was admitted, now or before.
    """
    job_id, key = options.job_id, options.idempotency_key
    content = _read(options.file)
    with connect() as client:
        if options.file.suffix.lower() in (".json", ".jsonl", ".ndjson"):
            people = _people(options.file, content)
            task = client.applications.import_many(job_id, people, idempotency_key=key)
        else:
            task = client.applications.import_file(job_id, content, idempotency_key=key)
        if options.no_wait:
            write_object(task)
            return 0
        try:
            ended = client.tasks.wait(task["id"], at_most_seconds=options.wait_seconds)
        except TimeoutError:
            tell(f"The import goes on as task {task['id']}.")
            return NOT_ALL
        if ended["result"] is None:
            tell(f"The import has ended as {ended['status']}: see task {task['id']}.")
            return NOT_ALL
        write_lines(client.tasks.rows(task["id"]))
    result: dict[str, Any] = ended["result"]
    tell(" ".join(f"{name}={value}" for name, value in result.items()))
    return 0 if result["ending"] == "COMPLETE" and not result["refused"] else NOT_ALL


def follow_feed(options: Namespace) -> None:
    """Print a feed, and keep the place in it after each page that is printed."""
    feed = "changes" if options.changes else "events"
    wait = options.every if options.follow else None
    with connect() as client, _kept(options.cursor_file, feed) as kept:
        pages = follow.followed_pages(
            client,
            f"/{feed}",
            cursor=kept.read() if kept else None,
            start="now" if options.start == "now" else None,
            expand=options.expand,
            wait_seconds=wait,
        )
        for page in pages:
            write_lines(each for each in page["data"] if _is_wanted(each, options))
            if kept:
                kept.write(page["next_cursor"])


def _is_wanted(row: dict[str, Any], options: Namespace) -> bool:
    name = row.get("event") or row.get("kind")
    return (not options.event or name in options.event) and (
        not options.job or row["job_id"] in options.job
    )


def list_webhooks(_options: Namespace) -> None:
    """Print the endpoints."""
    with connect() as client:
        write_lines(client.webhooks.list())


def listen(options: Namespace) -> None:
    """Forward webhooks to a program on this machine, for ever."""
    address = options.forward_to
    address = f"http://127.0.0.1{address}" if address.startswith(":") else address
    if not address.startswith(("http://", "https://")):
        raise Unusable("--forward-to is an address like http://127.0.0.1:9000/hooks or :9000/hooks")
    if options.endpoint and options.cursor_file:
        raise Unusable("--cursor-file is for events, and cannot be used with --endpoint.")
    secret = os.environ.get(SECRET, "").strip() or new_secret()
    forwarder = listening.Forwarder(
        address, secret=secret, types=options.type, attempts=max(1, options.attempts)
    )
    what = f"deliveries of {options.endpoint}" if options.endpoint else "events"
    with connect() as client, _kept(options.cursor_file, "webhooks of events") as kept:
        listening.announce(address, secret, what)
        if options.endpoint:
            listening.forward_deliveries(
                client, forwarder, webhook_id=options.endpoint, every_seconds=options.every
            )
        else:
            listening.forward_feed(client, forwarder, kept=kept, every_seconds=options.every)


def serve_assistant(options: Namespace) -> None:
    """Serve an assistant over standard input and output."""
    try:
        from nextinline.commands import assistant
    except ImportError as error:
        raise Unusable(
            f"Install the extra mcp: pip install 'nextinline-client[mcp]' ({error})"
        ) from None
    assistant.serve(allow_writes=options.allow_writes)


def call(options: Namespace) -> None:
    """Send any request, and print the answer."""
    body = _body(options.json) if options.json else None
    with connect() as client:
        answer = client.request(
            options.method,
            f"/{options.path.lstrip('/')}",
            query=_pairs(options.query),
            json=body,
            idempotency_key=options.idempotency_key,
        )
    if "json" in answer.headers.get("content-type", ""):
        write_object(answer.json())
    else:
        sys.stdout.buffer.write(answer.content)


def _kept(path: Path | None, feed: str) -> follow.CursorFile | nullcontext[None]:
    if path is None:
        return nullcontext()
    return follow.CursorFile(path, address=site_address(), feed=feed)


def _read(path: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror}") from None


def _body(path: Path | None) -> dict[str, Any]:
    found = {} if path is None else _json(path, _read(path))
    if not isinstance(found, dict):
        raise Unusable(f"{path} holds no JSON object.")
    return found


def _json(path: Path, content: bytes | str) -> Any:
    try:
        return json.loads(content)
    except ValueError as error:
        raise Unusable(f"{path} is not JSON: {error}") from None


def _people(path: Path, content: bytes) -> list[Any]:
    if path.suffix.lower() != ".json":
        lines = content.decode("utf-8-sig", errors="replace").splitlines()
        return [_json(path, line) for line in lines if line.strip()]
    found = _json(path, content)
    people = found.get("applications") if isinstance(found, dict) else found
    if not isinstance(people, list):
        raise Unusable(f'{path} holds no list, and no object with the list "applications".')
    return people


def _pairs(given: Iterable[str]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    wrong = [name for name, sign, _ in pairs if not name or not sign]
    if wrong:
        raise Unusable(f"{wrong[0]!r} is not NAME=VALUE")
    return {name: value for name, _, value in pairs}
