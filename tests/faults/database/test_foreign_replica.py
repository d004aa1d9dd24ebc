"""A server that follows another history than the primary's serves nothing, however far it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from tests.faults.database.replica import Replica, replica_of
from tests.faults.whole_site.processes import Site, whole_site
from tests.support.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

MAKE = """
import uuid, django
django.setup()
from jobs.models import Company
from jobs.policies import Policy
from pipeline.domain.states import Actor, ActorKind
from pipeline.services.jobs import Posting, create_job
company = Company.objects.get()
actor = Actor(ActorKind.COMPANY, uuid.uuid4())
posting = Posting(title="Only here")
print(create_job(company_id=company.id, posting=posting, capacity=2, policy=Policy(), actor=actor))
"""
# Asks as a marked function does.
SEE = """
import json, sys, django
django.setup()
from jobs.models import Job
from pipeline.database import replica
from pipeline.management.doctor.database_findings import check_replica

@replica.reads_replica
def is_there():
    return Job.objects.filter(id=sys.argv[1]).exists()

exec(sys.argv[2])
said = [is_there()]
"""
ASK_DOCTOR = "said += [[each.level, each.text] for each in check_replica()]\n"
SAY = "print(json.dumps(said, default=str))"
# Each of these alone must suffice; they are true of a good replica.
MISMATCHES = """
import django
django.setup()
from django.db import connections
from pipeline.database import replica
place = replica.committed_place()
for other in ({}, {"system": 1}, {"timeline": 0}, {"timeline": 9}, {"hash": bytes(32)}):
    replica._Proven.starts = ("", "")
    print(replica.read_state(connections["replica"], place._replace(**other)).name)
"""
# As it was: the place alone.
NO_COMPARISON = """
replica._LOOK = "SELECT true, %(timeline)s, pg_last_wal_replay_lsn() >= %(lsn)s::pg_lsn, true, ''"
replica._is_history_shared = lambda *_: True
"""
NO_LOOK_BACK = "replica._is_history_shared = lambda *_: True"
# As on a machine so busy that one look takes all the time that there is.
NO_TIME = "replica.WAIT_SECONDS = 0\n"
# As after a failover, before the replica has noted the new primary's timeline.
NEW_TIMELINE = """
from pipeline.management.doctor import database_findings
committed = replica.committed_place
later = lambda: committed()._replace(timeline=committed().timeline + 1)
replica.committed_place = later
"""


@dataclass
class Histories:
    """A site's database and its replica, and a job that only those two have.

    `restored` was started from an earlier copy of the primary without recovery, and so has its
    timeline; `promoted` is a replica that became a primary before the job was made.
    """

    site: Site
    replica: Replica
    restored: Replica
    promoted: Replica
    job: str

    def see(self, primary: str, *, change: str = "") -> tuple[bool, list[list[str]]]:
        """Ask for the job with another primary and the replica; return it and the findings."""
        urls = {"DATABASE_URL": primary, "REPLICA_URL": self.replica.url}
        script = SEE + ASK_DOCTOR + SAY
        seen, *found = json.loads(self.site.run("-c", script, self.job, change, **urls))
        return seen, found


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Histories]:
    """Three histories that were one."""
    folder = tmp_path_factory.mktemp("histories")
    with ExitStack() as running:
        site = running.enter_context(whole_site(folder))
        site.prepare("tests.faults.line.prepare", "fill", "1", "2")
        replica = running.enter_context(replica_of(site.cluster))
        restored = running.enter_context(
            replica_of(site.cluster, name="restored", port=5434, follows=False)
        )
        promoted = running.enter_context(replica_of(site.cluster, name="promoted", port=5435))
        promoted.rows("SELECT pg_promote()")
        job = site.run("-c", MAKE).split()[-1]
        [(end,)] = restored.rows("SELECT pg_current_wal_flush_lsn()")
        [(other_end,)] = promoted.rows("SELECT pg_current_wal_flush_lsn()")
        site.rows("SELECT pg_switch_wal()")
        site.run("-c", MAKE)
        far = f"SELECT pg_last_wal_replay_lsn() > greatest('{end}'::pg_lsn, '{other_end}')"
        eventually(lambda: replica.rows(far) == [(True,)], 30)
        yield Histories(site, replica, restored, promoted, job)


FOREIGN = "The server in REPLICA_URL is not a replica of this primary: its history differs."


def test_a_replica_of_what_was_before_a_restore_serves_nothing(histories: Histories) -> None:
    """The restored server continues in the same timeline, so only the events differ."""
    primary = histories.restored.url

    assert histories.see(primary) == (False, [["problem", FOREIGN]])
    assert histories.see(primary, change=NO_LOOK_BACK)[0] is True
    histories.site.run("-c", MAKE, DATABASE_URL=primary)  # an event that the replica lacks
    assert histories.see(primary, change=NO_LOOK_BACK) == (False, [["problem", FOREIGN]])


def test_a_slow_look_does_not_take_another_history_for_a_lag(histories: Histories) -> None:
    """The first look sees the place reached, but may have begun before that."""
    seen = histories.see(histories.restored.url, change=NO_TIME)

    assert seen == (False, [["problem", FOREIGN]])


def test_a_replica_of_the_former_primary_serves_nothing_after_a_promotion(
    histories: Histories,
) -> None:
    assert histories.see(histories.promoted.url) == (False, [["problem", FOREIGN]])


@pytest.mark.parametrize("other", ["restored", "promoted"])
def test_without_the_comparison_the_lost_job_would_be_shown(
    histories: Histories, other: str
) -> None:
    primary = getattr(histories, other).url

    assert histories.see(primary, change=NO_COMPARISON)[0] is True


def test_the_promoted_server_is_told_by_its_timeline_alone(histories: Histories) -> None:
    assert histories.see(histories.promoted.url, change=NO_LOOK_BACK)[0] is False


def test_each_comparison_alone_tells_another_history(histories: Histories) -> None:
    told = histories.site.run("-c", MISMATCHES, REPLICA_URL=histories.replica.url).split()

    assert told == ["CURRENT", "STRANGER", "STRANGER", "FORMER_TIMELINE", "STRANGER"]


def test_a_replica_that_has_not_noted_a_new_timeline_serves_nothing_and_is_not_called_foreign(
    histories: Histories,
) -> None:
    primary = histories.site.environment["DATABASE_URL"]

    _, [[level, text]] = histories.see(primary, change=NEW_TIMELINE)

    assert level == "warning"
    assert "has all events, but has not noted the primary's timeline" in text


def test_marked_reads_of_a_site_on_a_server_in_recovery_run_there(histories: Histories) -> None:
    urls = dict.fromkeys(("DATABASE_URL", "REPLICA_URL"), histories.replica.url)

    assert json.loads(histories.site.run("-c", SEE + SAY, histories.job, "", **urls)) == [True]
