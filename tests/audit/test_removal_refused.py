"""Logs that must not be removed: what the command refuses, and what the database does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import DatabaseError, connection, transaction
from uuid_utils.compat import uuid7

from pipeline.audit import removal
from pipeline.audit.archive import archive_log, archived_log_path
from pipeline.audit.removal import remove_archived_logs
from pipeline.audit.verify import verify_job
from pipeline.domain.contests import ContestAnswer, ContestReason
from pipeline.domain.states import Outcome, Reason
from pipeline.models import PendingDecision
from pipeline.services.contests import answer_contest, contest
from pipeline.services.jobs import close_job
from pipeline.services.leaving import remove
from tests.audit.test_forged_logs import forge
from tests.audit.test_removal import YEARS, ended_job, rows_of
from tests.support import factories
from tests.support.clock import let_time_pass

pytestmark = pytest.mark.django_db(transaction=True)


def _nothing(folder: Path, job_id: UUID) -> None:
    pass


def _forged(folder: Path, job_id: UUID) -> None:
    del folder
    forge(job_id, "APPLIED", lambda row: row.data.update(active=9))


def _lost(folder: Path, job_id: UUID) -> None:
    archived_log_path(folder, job_id).unlink()


def _damaged(folder: Path, job_id: UUID) -> None:
    path = archived_log_path(folder, job_id)
    path.write_bytes(path.read_bytes()[:-20])


def _about_to_decide(folder: Path, job_id: UUID) -> None:
    later = "2126-01-01T00:00:00Z"
    PendingDecision.objects.create(
        id=uuid7(), job_id=job_id, outcome="REJECTED", decided_by=uuid7(), due_at=later
    )
    del folder


def _replaced_in_manifest(folder: Path, job_id: UUID) -> None:
    head, manifest = bytes(factories.row_of(job_id).chain_head).hex(), folder / "manifest.jsonl"
    manifest.write_text(manifest.read_text().replace(head, "0" * 64))


@pytest.mark.parametrize(
    ("why", "prepare"),
    [
        ("not archived yet", _nothing),
        ("has grown", _nothing),
        ("people still have seats", _nothing),
        ("not sound", _forged),
        ("cannot be read", _lost),
        ("damaged", _damaged),
        ("a decision is about to take effect", _about_to_decide),
        ("not the file that the manifest names", _replaced_in_manifest),
    ],
)
def test_a_log_that_must_stay_stays_and_the_others_go(
    tmp_path: Path, why: str, prepare: Callable[[Path, UUID], None]
) -> None:
    stays = factories.job(capacity=1)
    [active] = factories.applications(stays, 1)
    close_job(job_id=stays, actor=factories.RECRUITER)
    if why == "has grown":
        archive_log(tmp_path, stays)
    if why != "people still have seats":
        remove(application_id=active.id, outcome=Outcome.HIRED, actor=factories.RECRUITER)
    let_time_pass(stays, YEARS + 1)
    goes = ended_job()
    archive_log(tmp_path, goes)
    if why not in ("not archived yet", "has grown"):
        archive_log(tmp_path, stays)
    prepare(tmp_path, stays)

    done = remove_archived_logs(tmp_path, after_days=400)

    assert (done.logs, len(done.refused)) == (1, 1), done
    assert why in done.refused[0]
    assert str(stays) in done.refused[0]
    assert rows_of(stays)
    assert not rows_of(goes)


def test_a_log_stays_while_people_wait_to_be_told_that_the_job_has_closed(tmp_path: Path) -> None:
    job_id = factories.job(capacity=1)
    active, _waiting = factories.applications(job_id, 2)
    close_job(job_id=job_id, actor=factories.RECRUITER)
    remove(application_id=active.id, outcome=Outcome.HIRED, actor=factories.RECRUITER)
    row = factories.row_of(job_id)
    assert (row.active_count, row.pending_count, row.waitlist_count) == (0, 0, 1)
    let_time_pass(job_id, YEARS + 1)
    archive_log(tmp_path, job_id)

    [refused] = remove_archived_logs(tmp_path, after_days=400).refused

    assert "people still have seats in it or wait" in refused


def test_a_log_stays_while_an_applicant_waits_for_an_answer(tmp_path: Path) -> None:
    job_id = factories.job(capacity=1)
    [person] = factories.applications(job_id, 1)
    close_job(job_id=job_id, actor=factories.RECRUITER)
    remove(
        application_id=person.id,
        outcome=Outcome.REJECTED,
        reason=Reason.NOT_A_MATCH,
        actor=factories.RECRUITER,
    )
    asked = contest(application_id=person.id, text="Why?", actor=factories.owner_of(person))
    let_time_pass(job_id, YEARS + 1)
    archive_log(tmp_path, job_id)

    [refused] = remove_archived_logs(tmp_path, after_days=400).refused

    assert "someone asked to look at a decision again" in refused
    answer_contest(
        contest_id=asked.id,
        application_id=person.id,
        answer=ContestAnswer.UPHELD,
        reason=ContestReason.DECISION_STANDS,
        actor=factories.RECRUITER,
    )
    let_time_pass(job_id, YEARS + 1)  # which changes the log, so it needs another archive
    later = tmp_path / "later"
    later.mkdir()
    archive_log(later, job_id)
    assert remove_archived_logs(later, after_days=400).logs == 1


def test_a_log_that_would_be_locked_for_long_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = ended_job()
    archive_log(tmp_path, job_id)
    monkeypatch.setattr(removal, "LONGEST", len(rows_of(job_id)) - 1)

    [refused] = remove_archived_logs(tmp_path, after_days=400).refused

    assert f"it has more than {removal.LONGEST} events" in refused
    monkeypatch.setattr(removal, "LONGEST", len(rows_of(job_id)))
    assert remove_archived_logs(tmp_path, after_days=400).logs == 1


def test_what_the_database_refuses_is_named_and_the_others_go(tmp_path: Path) -> None:
    refused, goes = ended_job(), ended_job()
    for job_id in (refused, goes):
        archive_log(tmp_path, job_id)
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
            f" $$ BEGIN IF OLD.job_id = '{refused}' THEN RAISE 'not this one'; END IF;"
            " RETURN OLD; END $$;"
            " CREATE TRIGGER refuse BEFORE DELETE ON pipeline_event"
            " FOR EACH ROW EXECUTE FUNCTION refuse()"
        )
    try:
        done = remove_archived_logs(tmp_path, after_days=400)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION refuse() CASCADE")

    assert done.logs == 1
    assert "the database refused: not this one" in done.refused[0]
    assert rows_of(refused)
    assert not rows_of(goes)
    assert verify_job(refused).is_sound


def delete(statement: str, *values: Any) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, values)


def test_the_database_lets_nothing_but_a_whole_archived_log_go(tmp_path: Path) -> None:
    job_id, opened = ended_job(), factories.job()
    row, head = factories.row_of(job_id), factories.row_of(job_id).chain_head
    record = (
        "INSERT INTO pipeline_removedlog (job_id, events, head, last_txid, last_id)"
        " VALUES (%s, %s, %s, 1, 1); "
    )
    everything = "DELETE FROM pipeline_event WHERE job_id = %s"
    known = [job_id, row.seq, head]

    with pytest.raises(DatabaseError, match="append-only"):
        delete(everything, job_id)
    with pytest.raises(DatabaseError, match="only a whole log"):
        delete(f"{record}{everything} AND seq > 1", *known, job_id)
    with pytest.raises(DatabaseError, match="only a whole log"):
        delete(f"{record}{everything}", job_id, row.seq + 1, head, job_id)
    with pytest.raises(DatabaseError, match="only a whole log"):
        delete(f"{record}{everything}", job_id, row.seq, b"x" * 32, job_id)
    with pytest.raises(DatabaseError, match="was not removed"):
        delete(record, *known)
    young = factories.row_of(opened)
    with pytest.raises(DatabaseError, match="only a whole log"):
        delete(f"{record}{everything}", opened, young.seq, young.chain_head, opened)
    assert rows_of(job_id)
    assert verify_job(job_id).is_sound

    delete(f"{record}{everything}", *known, job_id)  # what the command does

    with pytest.raises(DatabaseError, match="was not put back"):
        delete("DELETE FROM pipeline_removedlog WHERE job_id = %s", job_id)
    with pytest.raises(DatabaseError, match="Cannot update"):
        delete("UPDATE pipeline_removedlog SET events = 1 WHERE job_id = %s", job_id)
    with pytest.raises(DatabaseError, match="append-only"):  # in a later transaction
        delete(
            everything.replace("job_id", "%s <> job_id AND event = 'JOB_CREATED' AND job_id"),
            job_id,
            opened,
        )
