"""Files of the archive: what is in them, what they give, and damage that is noticed."""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError

from jobs.models import Job
from pipeline.audit import archive
from pipeline.audit.archive import (
    BadArchive,
    archive_log,
    archive_logs,
    archived_log_path,
    find_archive_problems,
    replay_archived_log,
    verify_archived_log,
)
from pipeline.audit.verify import replay
from pipeline.database import instants
from pipeline.domain.contests import ContestAnswer, ContestReason
from pipeline.domain.errors import FutureMoment, NoSuchMoment
from pipeline.files.exports import formatted_lines
from pipeline.models import Event
from pipeline.services.contests import answer_contest, contest
from pipeline.services.jobs import pause_job
from pipeline.services.turns import preaccept
from tests.support import factories
from tests.support.archives import closed_job, said_by
from tests.support.contests import rejected_application
from tests.support.lottery import lottery

pytestmark = pytest.mark.django_db(transaction=True)


def lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)


def rewrite(path: Path, change: Callable[[list[str]], Any]) -> None:
    changed = lines(path)
    change(changed)
    path.write_bytes(gzip.compress("".join(changed).encode()))


def test_a_file_holds_the_exported_log_behind_a_line_that_says_what_it_is(tmp_path: Path) -> None:
    job_id = closed_job()

    assert archive_logs(tmp_path, after_days=30) == (1, 0, [])

    about, *events = lines(archived_log_path(tmp_path, job_id))
    job = Job.objects.get(id=job_id)
    head = bytes(job.chain_head).hex()
    assert json.loads(about) == {
        "format": "next-in-line log 2",
        "job": str(job_id),
        "events": job.seq,
        "head": head,
    }
    rows = [json.loads(each) for each in events]
    places = [row.pop("place") for row in rows]
    assert rows == [json.loads(each) for each in formatted_lines(job, "log", "jsonl")]
    known = Event.objects.filter(job_id=job_id).order_by("seq").values_list("txid", "id")
    assert places == [list(each) for each in known]


def test_the_file_alone_gives_the_line_at_every_seq_and_time(tmp_path: Path) -> None:
    job_id = closed_job()
    path = archive_log(tmp_path, job_id)

    for event in factories.events(job_id):
        assert replay_archived_log(path, seq=event.seq) == replay(job_id, seq=event.seq)
        assert replay_archived_log(path, as_of=event.at) == replay(job_id, as_of=event.at)
    assert replay_archived_log(path) == replay(job_id)


def test_the_file_of_a_lottery_knows_when_nobody_had_a_position(tmp_path: Path) -> None:
    job_id = lottery(seconds=0.3)
    factories.applications(job_id, 3)
    time.sleep(0.3)
    factories.settle_all()
    path = archive_log(tmp_path, job_id)

    for event in factories.events(job_id):
        assert replay_archived_log(path, seq=event.seq) == replay(job_id, seq=event.seq)
    assert event.event == "PROMOTED" or event.to_status == "ACTIVE"


def test_moments_outside_the_file_are_refused(tmp_path: Path) -> None:
    job_id = closed_job()
    path = archive_log(tmp_path, job_id)
    first, *_, last = factories.events(job_id)

    for before in ({"seq": 0}, {"as_of": first.at - timedelta(microseconds=1)}):
        with pytest.raises(NoSuchMoment):
            replay_archived_log(path, **before)
    with pytest.raises(FutureMoment):
        replay_archived_log(path, seq=last.seq + 1)


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def drop_last(path: Path) -> None:
    rewrite(path, lambda rows: rows.pop())


def swap(path: Path) -> None:
    rewrite(path, lambda rows: rows.insert(3, rows.pop(4)))


def change(old: str, new: str) -> Callable[[Path], None]:
    def change_in(path: Path) -> None:
        def replace_in(rows: list[str]) -> None:
            rows[:] = [row.replace(old, new) for row in rows]

        rewrite(path, replace_in)

    return change_in


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (cut_off, "it is damaged or cut off"),
        (drop_last, "the file ends here, its first line says otherwise"),
        (swap, "seq 3: the row is missing; the next one is 4"),
        (change('"event":"PROMOTED"', '"event":"PLACED"'), "its hash does not match its content"),
        (change('"seq":2,', '"seq":"2",'), "seq 2: "),
        (change('"at":"', '"at":"x'), "event 1 cannot be read"),
        (change('"data":{', '"data":["a"],"other":{'), "its hash does not match its content"),
        (change("next-in-line log 2", "next-in-line log 3"), "a format that this release knows"),
        (change('"events":', '"events":"1","was":'), "a format that this release knows"),
        (change('"events":', '"events":1'), "the file ends here, its first line says otherwise"),
        (lambda path: path.write_bytes(b"no archive"), "it cannot be read: Not a gzipped file"),
        (lambda path: path.write_bytes(b""), "a format that this release knows"),
        (lambda path: path.write_bytes(gzip.compress(bytes(3 * 2**20))), "it is no archived log"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, damage: Callable[[Path], Any], why: str) -> None:
    job_id = closed_job()
    path = archive_log(tmp_path, job_id)

    damage(path)

    for read in (verify_archived_log, replay_archived_log):
        with pytest.raises(BadArchive, match=f"{job_id}.*{why}"):
            read(path)
    with pytest.raises(CommandError, match="1 of 1 archived logs do not agree"):
        said_by("verify_log", archive=tmp_path)


def test_a_file_under_the_name_of_another_job_is_named(tmp_path: Path) -> None:
    one, other = closed_job(), closed_job()
    path = archive_log(tmp_path, one)
    wrong = archived_log_path(tmp_path, other)
    wrong.parent.mkdir(exist_ok=True)
    path.rename(wrong)

    assert (
        f"{wrong}: it has the log of {one}, by its first line" in find_archive_problems(tmp_path)[1]
    )


@pytest.mark.parametrize("text", ['"\\ud800"', "1e999999999"])
def test_a_line_that_cannot_be_hashed_is_named(tmp_path: Path, text: str) -> None:
    path = archive_log(tmp_path, closed_job())
    rewrite(
        path, lambda rows: rows.__setitem__(2, rows[2].replace('"data":{', f'"data":{{"x":{text},'))
    )

    [problem] = find_archive_problems(tmp_path)[1]

    assert str(path) in problem


def test_a_pipe_in_the_place_of_a_file_is_named(tmp_path: Path) -> None:
    path = archive_log(tmp_path, closed_job())
    path.unlink()
    os.mkfifo(path)

    assert find_archive_problems(tmp_path) == (1, [f"{path}: it is no file"])


def without_its_last_row(path: Path) -> None:
    """Drop the last row, and say so in the first line."""

    def drop_from(rows: list[str]) -> None:
        rows.pop()
        last = json.loads(rows[-1])
        about = json.loads(rows[0]) | {"events": last["seq"], "head": last["hash"]}
        rows[0] = json.dumps(about, separators=(",", ":"), sort_keys=True) + "\n"

    rewrite(path, drop_from)


def an_answer_that_gives_a_place_back() -> UUID:
    row = rejected_application()
    asked = contest(application_id=row.id, text="Why?", actor=factories.owner_of(row))
    other = factories.application(row.job_id)  # so that nothing follows the place given back
    assert factories.status_of(other) == "ACTIVE"
    answer_contest(
        contest_id=asked.id,
        application_id=row.id,
        answer=ContestAnswer.CHANGED,
        reason=ContestReason.OUR_ERROR,
        actor=factories.RECRUITER,
    )
    return row.job_id


def a_draw() -> UUID:
    job_id = lottery(seconds=0.3, capacity=1)
    factories.applications(job_id, 1)
    pause_job(job_id=job_id, actor=factories.RECRUITER)  # so that nobody gets a seat
    time.sleep(0.3)
    factories.settle_all()
    return job_id


def a_seat_accepted_in_advance() -> UUID:
    job_id = factories.job()
    _seated, waiting = factories.applications(job_id, 2)
    until = instants.now() + timedelta(days=1)
    preaccept(application_id=waiting.id, accept_until=until, actor=factories.owner_of(waiting))
    factories.alter(job_id, capacity=2)
    return job_id


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (an_answer_that_gives_a_place_back, "before an answer has given a place back"),
        (a_draw, "before everyone has been placed by the draw"),
        (a_seat_accepted_in_advance, "before a seat accepted in advance is confirmed"),
    ],
)
def test_a_file_that_ends_within_a_change_is_named(
    tmp_path: Path, make: Callable[[], UUID], why: str
) -> None:
    job_id = make()
    path = archive_log(tmp_path, job_id)

    without_its_last_row(path)

    with pytest.raises(BadArchive, match=f"{job_id}.*the log ends {why}"):
        verify_archived_log(path)


def test_a_file_that_was_not_written_as_it_should_be_does_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = factories.job()
    write = archive.write_archived_log

    def write_less(file: Any, header: archive.ArchiveHeader) -> None:
        first = factories.events(job_id)[0]
        write(file, header._replace(events=1, head=bytes(first.hash)))

    monkeypatch.setattr(archive, "write_archived_log", write_less)

    with pytest.raises(BadArchive, match="other events than were written"):
        archive_log(tmp_path, job_id)
    assert not [each for each in tmp_path.rglob("*") if each.is_file()]
