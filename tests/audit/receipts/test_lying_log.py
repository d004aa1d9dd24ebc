"""A site that lies in its log from the start, signs it, and is found out by its own rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.audit.receipts import issue_receipt, sign_receipt
from pipeline.domain import draw
from pipeline.models import Application
from tests.support import factories
from tests.support.receipts import Folder, digest_of, whole_log

pytestmark = pytest.mark.django_db(transaction=True)
Rows = list[dict[str, Any]]


@pytest.fixture
def line() -> list[Application]:
    """Three people who wait for one seat: me, someone else, and the last."""
    job = factories.job(capacity=1)
    factories.application(job)
    return factories.applications(job, 3)


def said_of(rows: Rows, who: Application) -> dict[str, Any]:
    """The last thing that the log says about a person."""
    name = draw.opaque_id(who.job_id, who.id)
    return next(row for row in reversed(rows) if row["application"] == name)


def add(rows: Rows, who: Application, event: str, to: str, **data: Any) -> None:
    """Add a row about a person as the site would write it, with everything before unchanged."""
    before = said_of(rows, who)
    row = {name: value for name, value in rows[-1].items() if name != "leaf"} | {
        "seq": len(rows) + 1,
        "event": event,
        "application": before["application"],
        "from_status": before["to_status"],
        "to_status": to,
        "data": rows[-1]["data"] | before["data"] | data,
    }
    text = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    rows.append(row | {"leaf": hashlib.sha256(text.encode()).hexdigest()})


def let_a_newcomer_in_front(rows: Rows, line: list[Application]) -> None:
    add(rows, line[2], "LEFT", "INACTIVE", ticket=None, tie=None)
    add(rows, line[2], "APPLIED", "WAITLIST", ticket=0, tie=len(rows) + 1)


def move_while_verifying(rows: Rows, line: list[Application]) -> None:
    add(rows, line[2], "VERIFIED", "WAITLIST", ticket=0)


def move_while_deferring(rows: Rows, line: list[Application]) -> None:
    add(rows, line[2], "DEFERRED", "WAITLIST", ticket=0)


def move_while_saying_yes(rows: Rows, line: list[Application]) -> None:
    add(rows, line[2], "PREACCEPTED", "WAITLIST", ticket=0)


def move_ahead_without_a_reason(rows: Rows, line: list[Application]) -> None:
    place = said_of(rows, line[2])["data"]
    told = {"people_passed": 2, "from_ticket": place["ticket"], "from_tie": place["tie"]}
    add(rows, line[2], "MOVED_AHEAD", "WAITLIST", ticket=0, tie=len(rows) + 1, **told)


def move_ahead_and_tell_of_fewer(rows: Rows, line: list[Application]) -> None:
    place = said_of(rows, line[2])["data"]
    told = {"exception": "OTHER", "from_ticket": place["ticket"], "from_tie": place["tie"]}
    add(rows, line[2], "MOVED_AHEAD", "WAITLIST", ticket=0, tie=len(rows) + 1, **told)


def pass_what_nobody_asked_to_pass(rows: Rows, line: list[Application]) -> None:
    add(rows, line[1], "PASSED", "WAITLIST", passes_used=1)


def pass_to_another_place(rows: Rows, line: list[Application]) -> None:
    gone = {"ticket": None, "tie": None}
    add(rows, line[0], "PROMOTED", "PENDING_ACKNOWLEDGMENT", deadline="2999-01-01", **gone)
    add(rows, line[0], "PASSED", "WAITLIST", ticket=0, tie=5, deadline=None, passes_used=1)


def pass_too_late(rows: Rows, line: list[Application]) -> None:
    place = {name: said_of(rows, line[0])["data"][name] for name in ("ticket", "tie")}
    gone = dict.fromkeys(place)
    add(rows, line[0], "PROMOTED", "PENDING_ACKNOWLEDGMENT", deadline="1999-01-01", **gone)
    add(rows, line[0], "PASSED", "WAITLIST", deadline=None, passes_used=1, **place)


def pass_without_counting_it(rows: Rows, line: list[Application]) -> None:
    add(rows, line[0], "PASS_ASKED", "WAITLIST", pass_next=True)
    add(rows, line[0], "PASSED", "WAITLIST", pass_next=None)


def forget_a_pass(rows: Rows, line: list[Application]) -> None:
    add(rows, line[0], "PASS_ASKED", "WAITLIST", pass_next=True)
    add(rows, line[0], "PASSED", "WAITLIST", pass_next=None, passes_used=1)
    add(rows, line[0], "LEFT", "INACTIVE", ticket=None, tie=None, passes_used=0)


def give_back_what_nobody_held(rows: Rows, line: list[Application]) -> None:
    add(rows, line[2], "REINSTATED", "WAITLIST", ticket=0)


def count_a_miss_too_early(rows: Rows, line: list[Application]) -> None:
    gone = {"ticket": None, "tie": None}
    add(rows, line[0], "PROMOTED", "PENDING_ACKNOWLEDGMENT", deadline="2999-01-01", **gone)
    add(rows, line[0], "DECAYED", "WAITLIST", ticket=99, tie=len(rows) + 1, deadline=None)


def seat_somebody_who_had_left(rows: Rows, line: list[Application]) -> None:
    add(rows, line[2], "LEFT", "INACTIVE", ticket=None, tie=None)
    add(rows, line[2], "PROMOTED", "PENDING_ACKNOWLEDGMENT")


def move_while_contested(rows: Rows, line: list[Application]) -> None:
    add(rows, line[2], "LEFT", "INACTIVE", ticket=None, tie=None)
    add(rows, line[2], "NOTED", "INACTIVE", ticket=0)


def note_an_end_of_somebody_who_waits(rows: Rows, line: list[Application]) -> None:
    add(rows, line[2], "NOTED", "WAITLIST")


def take_back_what_nobody_asked_about(rows: Rows, line: list[Application]) -> None:
    stood = said_of(rows, line[1])["data"]
    add(rows, line[1], "LEFT", "INACTIVE", ticket=None, tie=None)
    add(rows, line[1], "REINSTATED", "WAITLIST", ticket=stood["ticket"], tie=stood["tie"])


def give_back_another_place(rows: Rows, line: list[Application]) -> None:
    add(rows, line[2], "LEFT", "INACTIVE", ticket=None, tie=None)
    add(rows, line[2], "NOTED", "INACTIVE")
    add(rows, line[2], "NOTED", "INACTIVE")
    add(rows, line[2], "REINSTATED", "WAITLIST", ticket=0, tie=1)


def receipt_of(rows: Rows, me: Application) -> dict[str, Any]:
    """A receipt that the site signs for a made-up log."""
    kept = {k: v for k, v in issue_receipt(me.id).items() if k not in ("key", "signature")}
    shown = {"seq": len(rows), "chain_head": rows[-1]["hash"], "log_digest": digest_of(rows).hex()}
    return sign_receipt(kept | shown)


@pytest.mark.parametrize(
    ("lie", "named"),
    [
        (let_a_newcomer_in_front, "let someone into the line at (0, 8), ahead of its end"),
        (move_while_verifying, "verified an address and changed the place"),
        (move_while_deferring, "deferred a turn and changed the place"),
        (move_while_saying_yes, "said yes and changed the place"),
        (move_ahead_without_a_reason, "moved someone ahead without a reason"),
        (move_ahead_and_tell_of_fewer, "moved someone ahead of 2 people and says None"),
        (pass_what_nobody_asked_to_pass, "passed a turn unasked"),
        (
            pass_to_another_place,
            "passed a turn unasked, too late or too often",
        ),
        (pass_too_late, "passed a turn unasked, too late"),
        (pass_without_counting_it, "counts the turns that this person has passed wrongly"),
        (forget_a_pass, "counts the turns that this person has passed wrongly"),
        (give_back_what_nobody_held, "gave back a place that this person never held"),
        (count_a_miss_too_early, "counts as missed a deadline that had not passed"),
        (move_while_contested, "noted a review and changed the place"),
        (note_an_end_of_somebody_who_waits, "noted a review for someone who had not left"),
        (take_back_what_nobody_asked_about, "gave someone their place back although no one had"),
        (give_back_another_place, "gave back a place that this person never held"),
        (seat_somebody_who_had_left, "gave a seat to someone who had left"),
    ],
)
def test_a_lie_about_the_order_is_named_though_every_hash_and_signature_fits(
    lie: Callable[[Rows, list[Application]], None],
    named: str,
    line: list[Application],
    tmp_path: Path,
) -> None:
    rows, folder = whole_log(line[0].job_id), Folder(tmp_path)
    honest = folder.verify(receipt_of(rows, line[0]), log=rows)

    lie(rows, line)
    code, said = folder.verify(receipt_of(rows, line[0]), log=rows)

    assert honest[0] == 0, honest
    assert code == 1
    assert f"event {len(rows)} {named}" in said
    assert "never got worse" not in said


def test_rows_after_the_last_receipt_prove_nothing(line: list[Application], tmp_path: Path) -> None:
    rows, folder = whole_log(line[0].job_id), Folder(tmp_path)
    receipt = receipt_of(rows, line[0])
    bound = len(rows)

    move_while_verifying(rows, line)
    code, said = folder.verify(receipt, log=rows)

    assert code == 0
    assert f"events 1 to {bound} of the log are those that the receipts are bound to" in said
    assert "1 later events are bound to no receipt and were not checked" in said
