"""Uploads with kills of web server, task workers and database: none lost, orphaned or shown.

    .venv/bin/python bench/uploads.py
    .venv/bin/python bench/uploads.py --uploads 10000

Threads upload files over the API, each under an Idempotency-Key until it is acknowledged, and
attach every second one. Meanwhile programs are killed by SIGKILL, one after the other. Then every
acknowledged file is read again and compared; a stranger's key asks for each; and rows and objects
are compared after the hours in which uploads expire. Prints a table, and exits with 1 if anything
is lost, orphaned or shown. A scanner that speaks ClamAV's protocol runs, so that no file is
visible before its scan.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from hashlib import sha256
from http.client import HTTPException
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pipeline.settings")

import django  # noqa: E402

django.setup()

from tests.faults.whole_site.processes import Site, whole_site  # noqa: E402
from tests.support.clamd import clamd  # noqa: E402
from tests.support.waiting import eventually  # noqa: E402

THREADS, KILL_EVERY_SECONDS, PEOPLE_EACH = 8, 5.0, 5
PREPARE = """
import json, sys
import django
django.setup()
from jobs import keys
from jobs.models import Scope
from tests.support import factories
company, other = factories.company().id, factories.company().id
job = factories.job(company_id=company)
factories.application(job)
people = [str(each.id) for each in factories.applications(job, int(sys.argv[1]))]
def key_of(company_id):
    return keys.create(company_id=company_id, name="bench", scopes=list(Scope))[1]
found = {"job": str(job), "people": people}
print(json.dumps(found | {"key": key_of(company), "stranger": key_of(other)}))
"""
LET_HOURS_PASS = (
    "UPDATE pipeline_attachment SET expires_at = expires_at - interval '2 hours'"
    " WHERE application_id IS NULL",
    "UPDATE pipeline_removedobject SET due_at = due_at - interval '2 hours'",
    "UPDATE tasks_task SET run_after = clock_timestamp() WHERE status = 'PENDING'",
)
UNSCANNED = (
    "SELECT count(*) FROM pipeline_attachment WHERE state = 'WAITING' AND received_at IS NOT NULL"
)
LEFT = (
    "SELECT (SELECT count(*) FROM pipeline_removedobject)"
    " + (SELECT count(*) FROM pipeline_attachment WHERE application_id IS NULL)"
)
TIDY = (
    "import django; django.setup(); from tasks.enqueue import enqueue; enqueue('attachments.tidy')"
)


class Uploader:
    """What the threads share: the site, what it has acknowledged, and counts."""

    def __init__(self, site: Site, made: dict[str, Any], uploads: int) -> None:
        self.site, self.made, self.uploads = site, made, uploads
        self.numbers = count()
        self.acknowledged: dict[str, tuple[str, str]] = {}  # by id: digest, application
        self.counts: Counter[str] = Counter()

    def call(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
        """Ask the site once; 0 if it does not answer."""
        key = headers.pop("key", self.made["key"])
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.site.port}/api/v1{path}", data=body or None, method=method
        )
        request.add_header("Authorization", f"Bearer {key}")
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
                return answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read()
        except (OSError, HTTPException):  # also one that ends in the middle of its answer
            return 0, b""

    def insist(self, method: str, path: str, body: bytes, **headers: str) -> dict[str, Any]:
        """Ask until the site answers; what it refuses for good is an error."""
        while True:
            status, answer = self.call(method, path, body, **headers)
            if 200 <= status < 300:
                return json.loads(answer)
            if status not in (0, 409, 429) and status < 500:
                raise RuntimeError(f"{method} {path}: {status} {answer!r}")
            self.counts["repeated"] += 1
            time.sleep(0.2)

    def run(self) -> None:
        """Upload until all are done."""
        while (number := next(self.numbers)) < self.uploads:
            content = b"%%PDF-1.4\n%d %s" % (number, random.randbytes(random.randint(10, 60_000)))
            boundary = uuid4().hex
            body = (
                (
                    f'--{boundary}\r\nContent-Disposition: form-data; name="job_id"\r\n\r\n'
                    f"{self.made['job']}\r\n--{boundary}\r\nContent-Disposition: form-data;"
                    f' name="file"; filename="cv.pdf"\r\n\r\n'
                ).encode()
                + content
                + f"\r\n--{boundary}--\r\n".encode()
            )
            kind = f"multipart/form-data; boundary={boundary}"
            key = f"bench-{number}"
            made = self.insist("POST", "/uploads", body, Content_Type=kind, Idempotency_Key=key)
            application = ""
            if number % 2 == 0:
                application = self.made["people"][number // 2 // PEOPLE_EACH]
                ids = json.dumps({"upload_ids": [made["id"]]}).encode()
                path, kind = f"/applications/{application}/files", "application/json"
                self.insist("POST", path, ids, Content_Type=kind, Idempotency_Key=f"{key}-a")
            self.acknowledged[made["id"]] = sha256(content).hexdigest(), application


def kill_one(site: Site, name: str) -> None:
    """Kill a program of the site, and start it again."""
    if name == "database":
        site.kill_database()
        site.cluster.ensure()
        return
    site.programs[name].kill()
    site.programs[name].start()
    if name == "web":
        eventually(site.is_answering, 60)


def upload_all(uploader: Uploader, kills: bool) -> None:
    """Run the threads, and kill programs while they run."""
    threads = [threading.Thread(target=uploader.run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    names = ("web", "tasks", "database")
    for number in count():
        until = time.monotonic() + KILL_EVERY_SECONDS
        while time.monotonic() < until and any(each.is_alive() for each in threads):
            time.sleep(0.1)
        if not any(each.is_alive() for each in threads):
            return
        if kills:
            name = names[number % len(names)]
            kill_one(uploader.site, name)
            uploader.counts[f"kills of {name}"] += 1


def check(uploader: Uploader, folder: Path) -> dict[str, int]:
    """Compare what was acknowledged with what is there, and what a stranger sees."""
    site, lost, shown = uploader.site, 0, 0
    attached = {each: of for each, of in uploader.acknowledged.items() if of[1]}

    def scanned() -> bool:
        for statement in LET_HOURS_PASS[2:]:
            site.rows(statement)
        return site.rows(UNSCANNED)[0][0] == 0

    eventually(scanned, 120)
    for file_id, (digest, application) in attached.items():
        path = f"/applications/{application}/files/{file_id}"
        status, content = uploader.call("GET", path)
        lost += status != 200 or sha256(content).hexdigest() != digest
        shown += uploader.call("GET", path, key=uploader.made["stranger"])[0] != 404
    for file_id in uploader.acknowledged:
        path = f"/uploads/{file_id}"
        shown += uploader.call("GET", path, key=uploader.made["stranger"])[0] != 404
    for statement in LET_HOURS_PASS:
        site.rows(statement)
    site.run("-c", TIDY)
    eventually(lambda: site.rows(LEFT)[0][0] == 0, 120)
    keys = {row[0] for row in site.rows("SELECT storage_key FROM pipeline_attachment")}
    objects = {str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()}
    return {"lost": lost + len(keys - objects), "orphaned": len(objects - keys), "shown": shown}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uploads", type=int, default=200)
    parser.add_argument("--no-kills", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made, clamd() as scanner:
        folder = Path(made) / "attachments"
        more = {
            "ATTACHMENT_STORAGE": str(folder),
            "ATTACHMENT_REMOVALS_FILE": str(Path(made) / "removed.jsonl"),
            "CLAMAV_ADDRESS": scanner.address,
            "THROTTLE_UPLOAD": "off",
        }
        with whole_site(Path(made), **more) as site:
            people = options.uploads // 2 // PEOPLE_EACH + 1
            prepared = prepare(site, people)
            site.start()
            uploader = Uploader(site, prepared, options.uploads)
            began = time.monotonic()
            upload_all(uploader, kills=not options.no_kills)
            seconds = time.monotonic() - began
            found = check(uploader, folder)
    rows = {
        "uploads acknowledged": len(uploader.acknowledged),
        "uploads a second": round(len(uploader.acknowledged) / seconds, 1),
        **uploader.counts,
        **found,
    }
    for name, number in rows.items():
        print(f"{name:<24}{number:>10}")
    if any(found.values()) or len(uploader.acknowledged) != options.uploads:
        sys.exit(1)


def prepare(site: Site, people: int) -> dict[str, Any]:
    """Fill the site's database."""
    from tests.faults.whole_site.processes import copy_migrated_files

    copy_migrated_files(site.cluster)
    site.cluster.ensure()
    done: dict[str, Any] = json.loads(site.run("-c", PREPARE, str(people)))
    return done


if __name__ == "__main__":
    main()
