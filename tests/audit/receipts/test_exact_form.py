"""A second verifier, written from "The exact form" in docs/fairness.md and nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.db import connection, transaction
from django.test import Client

from jobs.models import Company
from pipeline.audit.receipts import issue_receipt, sign_receipt
from pipeline.audit.verify import verify_job
from pipeline.models import Application, Event
from tests.support import factories
from tests.support.applicants import leave
from tests.support.clock import database_now
from tests.support.environment import ROOT
from tests.support.receipts import Folder, rewrite_log, whole_log
from tests.support.sandboxes import DAY, advance, line_with_offers, sandbox

pytestmark = pytest.mark.django_db(transaction=True)

FORM = (
    (ROOT / "docs/fairness.md").read_text().partition("## The exact form")[2].partition("\n## ")[0]
)


def fields_of(table: str) -> set[str]:
    """Return the fields that a table of the page names."""
    rows = FORM.partition(f"| {table} | meaning |\n")[2].partition("\n\n")[0]
    return {
        name
        for row in rows.splitlines()
        for name in re.findall(r"`([a-z_]+)`", row.split(" | ", 1)[0])
    }


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def canonical(value: Any) -> str:
    """Write canonical JSON, by hand: not with the library that the site uses."""
    match value:
        case dict():
            inner = (f"{canonical(name)}:{canonical(value[name])}" for name in sorted(value))
            return "{" + ",".join(inner) + "}"
        case list():
            return "[" + ",".join(map(canonical, value)) + "]"
        case str():
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
        case None:
            return "null"
        case bool():
            return str(value).lower()
    assert isinstance(value, int)
    return str(value)


def accepts(keys: dict[str, Any], receipt: dict[str, Any], log: list[dict[str, Any]]) -> bool:
    """Verify a receipt and its log as the page says."""
    known = {}
    for key in keys["keys"]:
        raw = base64.b64decode(key["public_key"])
        assert len(raw) == 32
        assert key["id"] == digest(raw)[:16]
        known[key["id"]] = Ed25519PublicKey.from_public_bytes(raw)
    signed = {name: value for name, value in receipt.items() if name != "signature"}
    signature = base64.b64decode(receipt["signature"])
    try:
        known[receipt["key"]].verify(signature, canonical(signed).encode())
    except InvalidSignature:
        return False
    reached = bytes(32)
    for number, row in enumerate(log[: receipt["seq"]], start=1):
        content = {name: value for name, value in row.items() if name != "leaf"}
        if row["seq"] != number or row["leaf"] != digest(canonical(content).encode()):
            return False
        reached = hashlib.sha256(reached + bytes.fromhex(row["leaf"])).digest()
    mine = digest(f"{receipt['job']}:{receipt['application']}".encode())[:32]
    return (
        len(log) >= receipt["seq"]
        and receipt["log_digest"] == reached.hex()
        and receipt["chain_head"] == log[receipt["seq"] - 1]["hash"]
        and mine in {row["application"] for row in log}
    )


@pytest.fixture
def keys() -> Any:
    return Client().get("/.well-known/next-in-line-keys.json").json()


@pytest.fixture
def waiting(settings: Any) -> Application:
    """Return someone who waits, on a site whose address has letters beyond ASCII."""
    settings.SITE_URL = "https://jobs.zürich.example"
    job = factories.job(capacity=1)
    _, mine, _ = factories.applications(job, 3)
    return mine


def test_it_accepts_real_receipts_of_a_moving_line(keys: Any, waiting: Application) -> None:
    first = issue_receipt(waiting.id)
    leave(Application.objects.get(job_id=waiting.job_id, status="ACTIVE"))
    second = issue_receipt(waiting.id)
    log = whole_log(waiting.job_id)

    assert second["deadline"]
    assert "ü" in first["issuer"]
    assert all(accepts(keys, receipt, log) for receipt in (first, second))


def test_it_refuses_what_was_changed(keys: Any, waiting: Application) -> None:
    receipt, log = issue_receipt(waiting.id), whole_log(waiting.job_id)
    changed_row = [*log[:2], log[2] | {"at": log[3]["at"]}, *log[3:]]
    rewrite_log(waiting.job_id, 3, actor_id=None)

    assert not accepts(keys, receipt | {"position": 2}, log)
    assert not accepts(keys, receipt, changed_row)
    assert not accepts(keys, receipt, log[:-1])
    assert not accepts(keys, receipt, whole_log(waiting.job_id))


def test_a_hidden_part_alone_can_be_changed_unseen_as_the_page_says(
    keys: Any, waiting: Application
) -> None:
    receipt = issue_receipt(waiting.id)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        Event.objects.filter(job_id=waiting.job_id, seq=3).update(actor_id=None)

    assert accepts(keys, receipt, whole_log(waiting.job_id))
    assert not verify_job(waiting.job_id).is_sound


def test_the_page_names_every_field(waiting: Application) -> None:
    receipt, log = issue_receipt(waiting.id), whole_log(waiting.job_id)

    assert fields_of("field of a receipt") == receipt.keys()
    assert fields_of("field of a row") == log[0].keys()


def test_a_sandboxs_receipt_is_signed_as_a_test_and_refused(
    company: Company, tmp_path: Path
) -> None:
    tested = sandbox(company)
    job, (mine, *_) = line_with_offers(tested, people=2)
    advance(tested, DAY // 2)
    receipt, log = issue_receipt(mine.id), whole_log(job)
    # As before sandboxes were marked, and as if its time had come.
    unmarked = {name: value for name, value in receipt.items() if name not in ("test", "signature")}
    old = sign_receipt(unmarked)
    now = {"issued_at": database_now().isoformat().replace("+00:00", "Z")}
    old_now = sign_receipt(unmarked | now)
    folder = Folder(tmp_path)

    assert receipt["test"] is True
    for given, why in (
        ((receipt, None), "it is of a sandbox"),
        ((old, None), "which is still to come"),
        ((old_now, log), "moved the clock"),
    ):
        code, said = folder.verify(given[0], log=given[1])
        assert code == 1
        assert why in said, said


def test_a_receipt_from_before_the_mark_stays_valid(waiting: Application, tmp_path: Path) -> None:
    receipt = issue_receipt(waiting.id)
    unmarked = {name: value for name, value in receipt.items() if name not in ("test", "signature")}
    slow = {"issued_at": (database_now() + timedelta(minutes=4)).isoformat()}

    for given in (unmarked, unmarked | slow):
        code, said = Folder(tmp_path).verify(sign_receipt(given), log=whole_log(waiting.job_id))
        assert code == 0, said
    assert receipt["test"] is False
    assert json.loads(json.dumps(receipt)) == receipt
