"""The proof of a job's log, over the API."""

from __future__ import annotations

import hashlib
from uuid import UUID

import pytest
from django.db import connection

from tests.support import factories
from tests.support.callers import Caller, code_of, person, pointers


def test_a_sound_log_verifies(acme: Caller, job: UUID) -> None:
    body = acme.get(f"/jobs/{job}/verify").json()

    row = factories.row_of(job)
    assert body == {
        "chain": "ok",
        "first_bad_seq": None,
        "head": {"seq": row.seq, "hash": bytes(row.chain_head).hex()},
        "replay_matches": True,
        "differences": [],
        "known": None,
    }


def test_a_changed_row_shows(acme: Caller, job: UUID) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("UPDATE pipeline_event SET actor_id = NULL WHERE seq = 4")
        cursor.execute("SET session_replication_role = DEFAULT")

    body = acme.get(f"/jobs/{job}/verify").json()

    assert (body["chain"], body["first_bad_seq"]) == ("broken", 4)
    assert body["differences"] != []


def test_a_hash_noted_earlier_is_known_as_long_as_history_is_the_same(
    acme: Caller, job: UUID
) -> None:
    head = acme.get(f"/jobs/{job}/verify").json()["head"]
    factories.application(job)

    def known(seq: int, digest: str) -> bool:
        return acme.get(f"/jobs/{job}/verify", {"seq": seq, "hash": digest}).json()["known"]

    assert known(head["seq"], head["hash"]) is True
    assert known(head["seq"], head["hash"].upper()) is True
    assert known(head["seq"] - 1, head["hash"]) is False
    assert known(99_999, head["hash"]) is False
    assert known(-1, head["hash"]) is False
    assert known(head["seq"], hashlib.sha256(b"").hexdigest()) is False


def test_an_applicant_of_the_job_verifies_what_they_noted_and_sees_no_differences(
    acme: Caller, job: UUID
) -> None:
    applicant, caller = person()
    factories.application(job, applicant)
    head = acme.get(f"/jobs/{job}/verify").json()["head"]

    body = caller.get(f"/jobs/{job}/verify", {"seq": head["seq"], "hash": head["hash"]}).json()

    assert (body["chain"], body["known"], body["differences"]) == ("ok", True, None)


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ({"seq": "1"}, "/hash"),
        ({"hash": "0" * 64}, "/seq"),
        ({"seq": "x", "hash": "0" * 64}, "/seq"),
        ({"seq": "1", "hash": "0" * 63}, "/hash"),
        ({"seq": "1", "hash": "g" * 64}, "/hash"),
    ],
)
def test_half_a_note_is_refused(
    acme: Caller, job: UUID, query: dict[str, str], pointer: str
) -> None:
    answer = acme.get(f"/jobs/{job}/verify", query)

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == [pointer]
