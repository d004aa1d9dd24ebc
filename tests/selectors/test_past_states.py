"""The states that the replay page reads equal a replay of the log."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pipeline.audit.verify import Line, replay
from pipeline.domain.errors import FutureMoment, JobNotFound, NoSuchMoment
from pipeline.domain.states import Status
from pipeline.models import Event
from pipeline.selectors import past
from pipeline.selectors import past as sql
from pipeline.selectors.past import PastPlace, PastState
from pipeline.services.joining import verify
from tests.support import factories
from tests.support.applicants import leave
from tests.support.busy_line import busy_job
from tests.support.clock import database_now
from tests.support.lottery import draw, lottery

pytestmark = pytest.mark.django_db(transaction=True)


def assert_same(moment: PastState, line: Line) -> None:
    assert (moment.seq, moment.event.at) == (line.seq, line.at)
    assert (moment.job["status"], moment.job["capacity"]) == (line.status, line.capacity)
    assert moment.job["policy"] == line.policy.values()
    assert moment.policy_version == line.policy_version
    for name, people in (
        ("active", line.active),
        ("pending", line.pending),
        ("waitlist", line.waitlist),
    ):
        assert getattr(moment, name) == people, name
    assert list(moment.counts.values()) == [
        len(line.active),
        len(line.pending),
        len(line.waitlist),
        sum(not place.is_verified for place in line.waitlist),
    ]


@pytest.mark.parametrize("seed", range(6))
def test_every_moment_of_a_random_history_is_as_replay_gives_it(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways = (sql.FROM_THE_START, sql.FROM_THE_END)
    job = busy_job(seed)

    times = set()
    for seq in range(1, factories.row_of(job).seq + 1):
        line = replay(job, seq=seq)
        for way in ways:
            monkeypatch.setattr(sql, "FROM_THE_START", way)
            assert_same(sql.read_state(job, seq=seq), line)
        times.add(line.at)
    for time in times:
        assert sql.read_state(job, as_of=time).seq == replay(job, as_of=time).seq


@pytest.mark.parametrize("seed", range(6))
def test_two_moments_differ_as_their_replays_do(seed: int) -> None:
    job = busy_job(seed)
    head = factories.row_of(job).seq

    for earlier, later in ((1, head), (head // 3, head // 2), (head // 2, head), (head, head)):
        found = {d.application_id: (d.kind, d.before, d.after) for d in sql.read_differences(
            job, earlier, later, shown=1_000
        ) or []}  # fmt: skip
        assert found == slow_differences(replay(job, seq=earlier), replay(job, seq=later), job)


@pytest.mark.parametrize("seed", range(4))
def test_far_into_a_long_log_moments_differ_as_before_but_nobody_has_a_place(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = busy_job(seed)
    head = factories.row_of(job).seq
    monkeypatch.setattr(past, "MOST_COMPARED", head // 2)

    for earlier, later in ((head // 2 + 1, head), (head * 2 // 3, head)):
        expected = slow_differences(replay(job, seq=earlier), replay(job, seq=later), job)
        found = {
            d.application_id: d.kind
            for d in sql.read_differences(job, earlier, later, shown=1_000) or []
        }
        assert found == {who: told[0] for who, told in expected.items() if told[0] not in NO_PLACE}
    assert sql.read_differences(job, 1, head) is None


def test_before_a_draw_nobody_has_a_place_so_nobody_moves() -> None:
    job = lottery(capacity=1)
    people = factories.applications(job, 4)
    late = factories.application(job, verified=False)
    before = factories.row_of(job).seq
    verify(application_id=late.id, actor=factories.owner_of(late))
    leave(people[0])
    waiting = factories.row_of(job).seq
    draw(job)
    drawn = Event.objects.filter(job_id=job, event="PLACED").latest("seq").seq

    def kinds(earlier: int, later: int, *has_places: bool) -> list[tuple[str, int | None]]:
        found = sql.read_differences(job, earlier, later, has_places=has_places) or []
        return [(each.kind, each.before) for each in found]

    assert kinds(before, waiting, False, False) == [("left", None), ("verified", None)]
    assert kinds(waiting, drawn, False, True) == [("drawn", None)] * 4


def test_in_the_middle_of_a_long_log_only_the_counts_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = factories.job()
    factories.applications(job, 12)
    monkeypatch.setattr(past, "MOST_FOLDED", 4)

    for seq, listed in ((4, 2), (7, 0), (10, 8), (14, 12)):
        moment = sql.read_state(job, seq=seq)
        people = len(moment.active) + len(moment.waitlist)
        assert (people, sum(moment.counts.values())) == (listed, seq - 2)
        assert moment.is_listed == bool(listed)


NO_PLACE = ("moved", "verified")


def slow_differences(before: Line, after: Line, job: object) -> dict[object, object]:
    then = {p.application_id: p for p in [*before.active, *before.pending, *before.waitlist]}
    now = {p.application_id: p for p in [*after.active, *after.pending, *after.waitlist]}
    span = factories.events(job, after=before.seq)[: after.seq - before.seq]  # type: ignore[arg-type]
    came = {event.application_id for event in span if event.event == "APPLIED"}
    found = {}
    for who in {*then, *now, *came}:
        was, is_now = then.get(who), now.get(who)
        kind = slow_kind(was, is_now)
        if was is None and who not in came:
            kind = "returned"
        if kind:
            found[who] = (kind, was and was.position, is_now and is_now.position)
    return found


def slow_kind(was: PastPlace | None, is_now: PastPlace | None) -> str | None:
    if was is None:
        return "joined" if is_now else "passed"
    if is_now is None:
        return "left"
    if was.status == is_now.status:
        if was.position == is_now.position:
            return None
        return "verified" if was.position is None else "moved"
    if was.status == Status.WAITLIST:
        return "seated"
    return "confirmed" if is_now.status == Status.ACTIVE else "lost"


def test_of_a_long_line_only_the_front_leaves_the_database() -> None:
    job = factories.job(capacity=2)
    factories.applications(job, 12)

    moment = sql.read_state(job, shown=4)

    assert [place.position for place in moment.waitlist] == [1, 2, 3, 4]
    assert moment.counts == {"active": 2, "pending": 0, "waiting": 10, "unverified": 0}
    shown = sql.read_differences(job, 1, moment.head, shown=3) or []
    assert [(each.kind, each.total) for each in shown] == [("joined", 12)] * 3


def test_moments_that_are_none_are_refused() -> None:
    before = database_now()
    job = factories.job()

    with pytest.raises(NoSuchMoment):
        sql.read_state(job, seq=0)
    with pytest.raises(NoSuchMoment):
        sql.read_state(job, as_of=before)
    with pytest.raises(FutureMoment):
        sql.read_state(job, seq=3)
    with pytest.raises(FutureMoment):
        sql.read_state(job, as_of=database_now().replace(year=2200))
    with pytest.raises(JobNotFound):
        sql.read_state(factories.company().id)


def test_the_queries_do_not_grow_with_the_log() -> None:
    job = busy_job(1)

    with CaptureQueriesContext(connection) as queries:
        head = sql.read_state(job).head
        sql.read_differences(job, 3, head)

    assert len(queries) == 5
