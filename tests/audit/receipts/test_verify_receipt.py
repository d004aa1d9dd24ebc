"""Receipts, the log without names, and the program that verifies both without the site."""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

from pipeline.audit.receipts import issue_receipt, public_receipt_keys, sign_receipt
from pipeline.audit.verify import verify_job
from pipeline.domain.states import Move, ReinstatementReason
from pipeline.line.lock import line_transaction, lock_job_of
from pipeline.line.moves import make_move
from pipeline.line.settle import fill_seats
from pipeline.line.write import write
from pipeline.models import Application, Event
from pipeline.services.leaving import reinstate
from tests.support import factories
from tests.support.applicants import leave
from tests.support.busy_line import busy_job
from tests.support.clock import let_time_pass
from tests.support.receipts import VERIFIER, Folder, receipt_after, rewrite_log, whole_log

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def me() -> Application:
    """An applicant who waits first, with two people behind, one in the seat."""
    job = factories.job(capacity=1)
    factories.application(job)
    mine, _, _ = factories.applications(job, 3)
    return mine


def seq_of(application: Application, event: str) -> int:
    return Event.objects.filter(application_id=application.id, event=event).latest("seq").seq


def miss(application: Application) -> None:
    """Let the seated person leave, and the one who is offered the seat miss it."""
    leave(Application.objects.get(job_id=application.job_id, status="ACTIVE"))
    let_time_pass(application.job_id, factories.WINDOW)
    factories.settle_all()


def test_a_miss_and_a_place_given_back_are_proved(me: Application, folder: Folder) -> None:
    miss(me)
    reinstate(application_id=me.id, reason=ReinstatementReason.OUR_ERROR, actor=factories.RECRUITER)
    missed, back = seq_of(me, "DECAYED"), seq_of(me, "REINSTATED")
    receipts = [receipt_after(me, seq) for seq in (5, missed, back)]

    code, said = folder.verify(*receipts, issue_receipt(me.id), log=whole_log(me.job_id))

    assert code == 0, said
    assert f"event {missed}: you missed a deadline (DECAYED)" in said
    assert f"event {missed + 1} promoted someone behind you" not in said  # they were ahead by then
    assert f"event {back}: your former place was given back" in said
    assert "your place never got worse but by the named events" in said


def test_a_receipt_of_now_is_the_one_after_the_last_event(me: Application) -> None:
    now = issue_receipt(me.id)
    then = receipt_after(me, now["seq"])

    changing = {"issued_at", "signature"}
    assert {k: v for k, v in now.items() if k not in changing} == {
        k: v for k, v in then.items() if k not in changing
    }
    assert (now["position"], now["people_waiting"]) == (1, 3)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_in_an_honest_line_every_receipt_holds(seed: int, folder: Folder) -> None:
    job = busy_job(seed)
    log = whole_log(job)
    people = list(Application.objects.filter(job_id=job).order_by("id"))

    for person in people[:: max(1, len(people) // 4)]:
        code, said = folder.verify(issue_receipt(person.id), log=log)

        assert code == 0, said


def test_a_cool_down_is_a_named_reason(folder: Folder) -> None:
    job = factories.job(capacity=1, penalty_places=0)
    factories.application(job)
    me = factories.application(job)
    miss(me)
    factories.application(job)  # gets the free seat while the cool-down runs
    missed = seq_of(me, "DECAYED")

    code, said = folder.verify(issue_receipt(me.id), log=whole_log(job))

    assert code == 0, said
    assert f"your cool-down after event {missed} had not ended" in said


def _change_position(receipt: dict[str, Any]) -> dict[str, Any]:
    return receipt | {"position": 2}


def _sign_with_another_key(receipt: dict[str, Any]) -> dict[str, Any]:

    facts = {k: v for k, v in receipt.items() if k not in ("key", "signature")}
    with override_settings(RECEIPT_KEY=b"f" * 32):
        return sign_receipt(facts)


def _claim_the_key(receipt: dict[str, Any]) -> dict[str, Any]:
    return _sign_with_another_key(receipt) | {"key": receipt["key"]}


@pytest.mark.parametrize(
    ("forge", "named"),
    [
        (_change_position, "forged or changed"),
        (_sign_with_another_key, "there is no key"),
        (_claim_the_key, "forged or changed"),
        (lambda receipt: receipt | {"version": 2}, "no receipt that this program knows"),
    ],
)
def test_a_forged_receipt_is_named(
    me: Application, folder: Folder, forge: Callable[..., Any], named: str
) -> None:
    genuine = issue_receipt(me.id)

    code, said = folder.verify(genuine, forge(genuine))

    assert (code, folder.verify(genuine)[0]) == (1, 0)
    assert "PROBLEM  receipt-1" in said
    assert named in said


def _drop(rows: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    return [row for row in rows if row["seq"] != number]


def _edit(rows: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    return [row | {"event": "LEFT"} if row["seq"] == number else row for row in rows]


@pytest.mark.parametrize(
    ("tamper", "named"),
    [
        (lambda rows: _drop(rows, 4), "row 4 of the log is missing"),
        (lambda rows: _edit(rows, 4), "row 4 of the log was changed"),
        (lambda rows: rows[:-1], "rows 6 to 6 of the log are missing"),
        (lambda rows: [rows[1], rows[0], *rows[2:]], "row 1 of the log is missing"),
    ],
)
def test_a_log_that_was_tampered_with_is_named(
    me: Application, folder: Folder, tamper: Callable[..., Any], named: str
) -> None:
    receipt, log = issue_receipt(me.id), whole_log(me.job_id)

    code, said = folder.verify(receipt, log=tamper(log))

    assert folder.verify(receipt, log=log)[0] == 0
    assert (code, named in said) == (1, True), said


@pytest.mark.parametrize(
    "change", [{"actor_id": None}, {"event": "VERIFIED"}, {"data": {}}, {"policy_version": 9}]
)
def test_a_log_that_its_owner_rewrote_with_every_hash_is_named(
    me: Application, folder: Folder, change: dict[str, Any]
) -> None:
    early, late = receipt_after(me, 4), issue_receipt(me.id)
    honest = folder.verify(early, late, log=whole_log(me.job_id))

    rewrite_log(me.job_id, 5, **change)
    code, said = folder.verify(early, late, log=whole_log(me.job_id))

    assert honest[0] == 0, honest
    assert code == 1
    assert "the log was rewritten: what it says about events 5 to 6" in said


def test_what_the_log_of_applicants_leaves_out_cannot_be_rewritten_either(
    me: Application, folder: Folder
) -> None:
    receipt = issue_receipt(me.id)

    rewrite_log(me.job_id, 3, actor_kind="COMPANY")  # which no row of theirs shows
    verdict = verify_job(me.job_id)
    code, said = folder.verify(receipt, log=whole_log(me.job_id))

    assert verdict.is_sound  # the database alone does not show it
    assert (code, "the log was rewritten" in said) == (1, True)


def test_receipts_after_a_rewriting_contradict_those_before(
    me: Application, folder: Folder
) -> None:
    before = issue_receipt(me.id)

    rewrite_log(me.job_id, 3, actor_kind="COMPANY")
    after = issue_receipt(me.id)
    code, said = folder.verify(before, after)

    assert before["seq"] == after["seq"]
    assert (code, "it shows another history" in said) == (1, True)


@line_transaction
def overtake(*, application: Application, fair: bool) -> None:
    """Free the seat, and give it to that person, whoever waits before them; or to the first."""
    job = lock_job_of(application.id)
    seated = Application.objects.get(job_id=job.id, status="ACTIVE")
    make_move(job, job.attach(seated), Move.WITHDRAW)
    if fair:
        fill_seats(job)
    else:
        make_move(job, job.application(application.id), Move.PROMOTE, cause_seq=job.seq)
    write(job, commit=True)


@pytest.mark.parametrize("fair", [True, False])
def test_somebody_promoted_out_of_order_is_named(
    me: Application, folder: Folder, fair: bool
) -> None:
    last = Application.objects.filter(job_id=me.job_id, status="WAITLIST").latest("ticket")

    overtake(application=last, fair=fair)
    code, said = folder.verify(issue_receipt(me.id), log=whole_log(me.job_id))

    assert code == (0 if fair else 1), said
    assert ("gave a seat to someone behind you" in said) is not fair
    assert verify_job(me.job_id).chain == "ok"  # each row alone follows the one before it


def test_a_receipt_of_an_earlier_key_holds_while_the_key_is_published(
    me: Application, folder: Folder
) -> None:
    receipt = issue_receipt(me.id)
    first = folder.verify(receipt)[0]

    old = public_receipt_keys()[0].raw
    with override_settings(RECEIPT_KEY=b"n" * 32, RECEIPT_FORMER_KEYS=[old]):
        folder.save_keys()
        kept = folder.verify(receipt, issue_receipt(me.id))
    with override_settings(RECEIPT_KEY=b"n" * 32, SECRET_KEY="another"):
        folder.save_keys()
        dropped = folder.verify(receipt)

    assert (first, kept[0]) == (0, 0), kept
    assert (dropped[0], "there is no key" in dropped[1]) == (1, True)


def test_an_earlier_secret_key_verifies_while_it_is_a_fallback(
    me: Application, folder: Folder
) -> None:
    with override_settings(SECRET_KEY="a former key"):
        receipt = issue_receipt(me.id)
    with override_settings(SECRET_KEY_FALLBACKS=["a former key"]):
        folder.save_keys()

    assert folder.verify(receipt)[0] == 0


@pytest.mark.parametrize("broken", ["", "[]", '{"kind": "receipt"}', "{" * 100_000])
def test_a_file_that_is_no_receipt_is_said_to_be_none(folder: Folder, broken: str) -> None:
    path = folder.path / "mine.json"
    path.write_text(broken)

    command = [sys.executable, VERIFIER, "--keys", folder.path / "keys.json", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr


def test_base64_of_a_key_is_that_of_its_id(folder: Folder) -> None:
    text = (folder.path / "keys.json").read_text()
    other = base64.b64encode(b"x" * 32).decode()
    key = base64.b64encode(public_receipt_keys()[0].raw).decode()
    (folder.path / "keys.json").write_text(text.replace(key, other))

    code, said = folder.verify({"kind": "receipt"})

    assert (code, "is not the one of that id" in said) == (2, True)
