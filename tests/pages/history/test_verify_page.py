"""Proving a log by pressing a button."""

from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.test import Client

from pipeline.domain.errors import VerifierBusy
from pipeline.models import Event
from tests.support import factories
from tests.support.history import History, page


def press(client: Client, past: History, **noted: object) -> tuple[int, str]:
    response = client.post(page(past.job, "verify/"), noted)
    return response.status_code, " ".join(response.content.decode().split())


def test_a_sound_log_shows_its_head_to_be_noted(viewer: Client, past: History) -> None:
    status, text = press(viewer, past)

    assert status == 200
    assert "The log is sound" in text
    assert bytes(factories.row_of(past.job).chain_head).hex() in text


def test_what_was_noted_is_known_again_or_it_is_said_that_it_is_not(
    viewer: Client, past: History
) -> None:
    digest = bytes(Event.objects.get(job_id=past.job, seq=4).hash).hex()

    assert "Event 4 matches your copy" in press(viewer, past, seq=4, hash=f" {digest.upper()} ")[1]
    for noted in ({"seq": 5, "hash": digest}, {"seq": 400, "hash": digest}):
        assert "The log does not match your copy" in press(viewer, past, **noted)[1]


@pytest.mark.parametrize(
    "noted",
    [{"seq": 4}, {"hash": "a" * 64}, {"seq": 4, "hash": "xyz"}, {"seq": "-1", "hash": "a" * 64}],
)
def test_half_a_note_is_refused(viewer: Client, past: History, noted: dict[str, object]) -> None:
    assert press(viewer, past, **noted)[0] == 422


def test_a_changed_row_is_named(viewer: Client, past: History) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(
            "UPDATE pipeline_event SET actor_kind = 'SYSTEM' WHERE job_id = %s AND seq = 6",
            [past.job],
        )

    assert "The log is broken at event 6" in press(viewer, past)[1]


def test_when_others_verify_it_says_to_come_back(
    viewer: Client, past: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object, **__: object) -> None:
        raise VerifierBusy

    monkeypatch.setattr("pipeline.pages.history.verify_job", busy)

    status, text = press(viewer, past)

    assert status == 503
    assert "Try again in a moment" in text
