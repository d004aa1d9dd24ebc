"""Anchors: a log that its database's owner has rewritten, chain and all, does not fit them."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import CommandError, call_command
from django.db import connection

from pipeline.audit import anchors
from pipeline.audit.task import KEY
from pipeline.audit.verify import verify_job
from pipeline.models import Event
from tasks.errors import Fatal
from tests.audit.test_forged_logs import forge
from tests.support import factories
from tests.support.handlers import Run
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)


def verify(*jobs: UUID, **options: Any) -> str:
    said = StringIO()
    call_command("verify_log", *jobs, stdout=said, **options)
    return said.getvalue()


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_the_head_of_each_log_is_signed_once_it_has_grown(rejected: UUID, file: Path) -> None:
    other = factories.job()

    assert anchors.append() == 2
    assert anchors.append() == 0
    factories.applications(other, 1)
    assert anchors.append() == 1

    first, second, third = lines(file)
    assert {first["job"], second["job"]} == {str(rejected), str(other)}
    head = factories.row_of(other)
    assert (third["job"], third["seq"]) == (str(other), head.seq)
    assert third["hash"] == bytes(head.chain_head).hex()
    assert "agree with all 3 anchors" in verify(anchors=file)


def test_a_decision_rewritten_with_its_chain_passes_verification_but_not_its_anchor(
    rejected: UUID, file: Path
) -> None:
    anchors.append()
    anchored = factories.row_of(rejected).seq
    factories.applications(rejected, 1)
    anchors.append()

    seq = forge(rejected, "REMOVED", lambda row: row.data.update(reason="NO_RESPONSE"))

    assert seq < anchored
    assert verify_job(rejected).is_sound
    assert "All is well" in verify()
    with pytest.raises(CommandError, match=f"{rejected}: seq {anchored} is not what was anchored"):
        verify(anchors=file)
    with pytest.raises(CommandError, match=f"The change is in seq 1 to {anchored}"):
        verify(rejected, anchors=file)
    assert "agree with all 0 anchors" in verify(factories.job(), anchors=file)


def test_the_last_anchor_that_still_fits_bounds_the_change(rejected: UUID, file: Path) -> None:
    anchors.append()
    good = factories.row_of(rejected).seq
    factories.applications(rejected, 2)
    anchors.append()
    last = factories.row_of(rejected).seq

    forge(rejected, "APPLIED", lambda row: row.data.update(forged=0) or row.data.pop("forged"))
    assert "agree with all 2" in verify(anchors=file), "the same content has the same hashes"
    forge(rejected, "APPLIED", lambda row: setattr(row, "actor_id", rejected))

    with pytest.raises(CommandError, match=f"seq {good + 1} to {last}"):
        verify(anchors=file)


def test_events_that_are_gone_are_named(rejected: UUID, file: Path) -> None:
    anchors.append()
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        Event.objects.filter(job_id=rejected).delete()
        cursor.execute("RESET session_replication_role")

    with pytest.raises(CommandError, match=r"logs are not sound.*now there is none"):
        verify(anchors=file)


def resigned(text: str) -> str:
    """Give the last line the hash that a forger would like, with another key."""
    *rest, last = text.splitlines()
    facts = json.loads(last) | {"hash": "0" * 64}
    facts.pop("signature")
    anchor = anchors.Anchor(UUID(facts["job"]), facts["seq"], facts["hash"], facts["at"])
    before = rest[-1].encode() if rest else b""
    line = anchors._signed_line(anchor, before, Ed25519PrivateKey.generate())
    return "\n".join([*rest, line.decode()]) + "\n"


@pytest.mark.parametrize(
    ("forge_file", "why"),
    [
        (
            lambda text: text.replace('"seq":', '"seq":1'),
            r"line 1 of the anchors is not signed with this key",
        ),
        (resigned, "line 3 of the anchors is not signed with this key"),
        (
            lambda text: "".join(text.splitlines(True)[1:]),
            "lines before line 1 of the anchors are missing",
        ),
        (lambda text: text + "{}\n", "line 4 of the anchors cannot be read"),
    ],
)
def test_a_file_that_was_changed_says_where(
    rejected: UUID, file: Path, forge_file: Callable[[str], str], why: str
) -> None:
    for _ in range(3):
        anchors.append()
        factories.applications(rejected, 1)
    assert len(lines(file)) == 3

    file.write_text(forge_file(file.read_text()))

    with pytest.raises(CommandError, match=why):
        verify(anchors=file)


def test_the_public_half_is_enough_and_the_key_is_its_owners(
    rejected: UUID, file: Path, settings: Any
) -> None:
    anchors.append()
    key: Path = settings.ANCHOR_KEY_FILE
    public = key.with_name("anchor_key.pub")

    assert key.stat().st_mode & 0o077 == 0
    assert b"PRIVATE" not in public.read_bytes()
    assert "agree with all 1" in verify(anchors=file, key=public)
    for bad in (file, file.with_name("none")):
        with pytest.raises(CommandError, match="key"):
            verify(anchors=file, key=bad)
    with pytest.raises(CommandError, match="Cannot read"):
        verify(anchors=file.with_name("none"))


def test_several_at_once_write_one_chain(rejected: UUID, file: Path) -> None:
    assert sorted(together([anchors.append] * 4)) == [0, 0, 0, 1]

    assert len(lines(file)) == 1
    assert "agree with all 1" in verify(anchors=file)


def test_the_task_anchors_for_the_site_alone_and_fails_aloud(
    rejected: UUID, file: Path, settings: Any
) -> None:
    assert Run(KEY, {}, None).result == {"anchors": 1}
    with pytest.raises(Fatal):
        Run(KEY, {}, rejected)
    settings.ANCHOR_FILE = file / "below" / "a" / "file"
    with pytest.raises(Fatal, match="ANCHOR_FILE"):
        Run(KEY, {}, None)
