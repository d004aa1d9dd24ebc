"""Receipts of past moments, logs as files, and the program that verifies both."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from jobs.models import Job
from pipeline.audit.receipts import (
    FIRST_DIGEST,
    extended_opaque_digest,
    opaque_rows,
    public_receipt_keys,
    sign_receipt,
)
from pipeline.audit.receipts import collect_facts as receipt_facts
from pipeline.audit.verify import replay
from pipeline.line.event_log import GENESIS, chained_hash
from pipeline.models import Application, Event
from pipeline.selectors.applications import SeenApplication
from tests.support.environment import ROOT

VERIFIER = ROOT / "docs" / "examples" / "verify_receipt.py"


def whole_log(job_id: UUID) -> list[dict[str, Any]]:
    """Return the log without names, as it is now."""
    return list(opaque_rows(job_id, after=0, upto=Job.objects.get(id=job_id).seq))


def digest_of(rows: list[dict[str, Any]]) -> bytes:
    """Return the digest of a log, from its first row on."""
    digest = FIRST_DIGEST
    for row in rows:
        digest = extended_opaque_digest(digest, row)
    return digest


def receipt_after(application: Application, seq: int) -> dict[str, Any]:
    """Return the receipt of a live application that was issued right after an event.

    Tests let time pass by moving the log, so a receipt cannot be taken before.
    """
    line = replay(application.job_id, seq=seq)
    people = [*line.active, *line.pending, *line.waitlist]
    place = next(each for each in people if each.application_id == application.id)
    event = Event.objects.get(job_id=line.job_id, seq=seq)
    row = Application(
        id=application.id,
        status=place.status.value,
        ticket=place.ticket,
        tie=place.tie,
        decay_count=place.decay_count,
        acknowledge_by=place.acknowledge_by,
    )
    waiting = sum(each.is_verified for each in line.waitlist)
    seen = SeenApplication(
        row, line.job_id, "", "", waiting, None, getattr(place, "position", None), event.at
    )
    job = Job(id=line.job_id, seq=seq, chain_head=event.hash, policy_version=event.policy_version)
    rows = list(opaque_rows(line.job_id, after=0, upto=seq))
    return sign_receipt(receipt_facts(seen, job, digest_of(rows)))


def rewrite_log(job_id: UUID, seq: int, **fields: Any) -> None:
    """Change one row of a log as the owner of the database can: with every hash behind it."""
    head = GENESIS
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        for row in Event.objects.filter(job_id=job_id).order_by("seq"):
            if row.seq == seq:
                for name, value in fields.items():
                    setattr(row, name, value)
            row.prev_hash, row.hash = head, chained_hash(head, row)
            head = row.hash
            row.save()
        Job.objects.filter(id=job_id).update(chain_head=head)


class Folder:
    """Folder of an applicant, with the keys, receipts and the log that they saved."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.save_keys()

    def save_keys(self) -> None:
        """Save the site's public keys."""
        keys = [
            {"id": key.id, "public_key": base64.b64encode(key.raw).decode()}
            for key in public_receipt_keys()
        ]
        (self.path / "keys.json").write_text(json.dumps({"keys": keys}))

    def verify(
        self, *receipts: dict[str, Any], log: list[dict[str, Any]] | None = None
    ) -> tuple[int, str]:
        """Run the program in a separate process; return its exit code and its output."""
        names = []
        for number, receipt in enumerate(receipts):
            name = self.path / f"receipt-{number}-{receipt.get('seq')}.json"
            name.write_text(json.dumps(receipt, indent=2))
            names.append(str(name))
        command = [sys.executable, str(VERIFIER), "--keys", str(self.path / "keys.json"), *names]
        if log is not None:
            (self.path / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in log))
            command += ["--log", str(self.path / "log.jsonl")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        return done.returncode, done.stdout + done.stderr
