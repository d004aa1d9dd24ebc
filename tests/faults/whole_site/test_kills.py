"""Kills of a whole site under load: nothing that was promised is lost.

Web processes, workers and database are killed with SIGKILL, in an order that SEED decides, while
people apply, confirm and withdraw over HTTP. The option --long makes it an hour of kills.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.whole_site.checks import faults_of, log_of
from tests.faults.whole_site.people import Crowd
from tests.faults.whole_site.prepare import SLOW_CAPACITY
from tests.faults.whole_site.processes import SLOTS, Site, whole_site
from tests.faults.whole_site.receivers import (
    HookReceiver,
    MailReceiver,
    receiving_mail,
    receiving_webhooks,
)
from tests.support.waiting import eventually

KILLS, SECONDS_OF_KILL, SEED = 10, 6, int(os.environ.get("KILL_SEED", "7"))
# Of every ten kills; a decay worker is a worker, too.
SHARES = {"web": 3, "tasks": 3, "decay": 1, "database": 3}
PEOPLE, THREADS, PAUSE_SECONDS = 30, 5, 0.15
SETTLING_SECONDS = 90

pytestmark = [pytest.mark.timeout(240 + 10 * KILLS), pytest.mark.long_with_option]

# What was sent and is recorded. Everything that waits for the end of a dead process's lease, or for
# its next attempt, is due at once: so a test need not wait for minutes.
SENT = "SELECT '<' || replace(id::text, '-', '') || '@localhost>' FROM pipeline_email WHERE {state}"
LET_RUNS_END = (
    "UPDATE pipeline_webhookendpoint SET leased_until = clock_timestamp() WHERE lease IS NOT NULL"
)
LET_REQUESTS_END = (
    "UPDATE pipeline_idempotencyrecord SET leased_until = leased_until - interval '60 seconds'"
    " WHERE status IS NULL AND leased_until < to_timestamp(%(killed)s) + interval '60 seconds'"
)
LET_RETRIES_COME = (
    "UPDATE tasks_task SET run_after = clock_timestamp() WHERE status = 'PENDING' AND attempt > 0"
    " AND run_after > clock_timestamp()",
    "UPDATE pipeline_webhookdelivery SET next_attempt_at = clock_timestamp()"
    " WHERE state = 'PENDING' AND attempts > 0",
    # Not those that are locked: the site locks several, too, and not in this order.
    "UPDATE pipeline_webhookendpoint SET next_due_at = clock_timestamp(), rests_until = NULL"
    " WHERE id IN (SELECT id FROM pipeline_webhookendpoint WHERE id IN"
    " (SELECT endpoint_id FROM pipeline_webhookdelivery WHERE state = 'PENDING')"
    " FOR NO KEY UPDATE SKIP LOCKED)",
)
LEFT = (
    "SELECT (SELECT count(*) FROM pipeline_webhookdelivery WHERE state = 'PENDING')"
    " + (SELECT count(*) FROM tasks_task t JOIN tasks_tasktype k ON k.id = t.type_id"
    "    WHERE k.key IN ('email.event', 'email.bulk', 'webhooks.queue')"
    "      AND t.status NOT IN ('SUCCEEDED', 'DEAD'))"
)


@dataclass
class Storm:
    """A site with its people and receivers, and what was done to it."""

    site: Site
    crowd: Crowd
    mail: MailReceiver
    hooks: HookReceiver
    slow_job: str
    killed: Counter[str]
    began: float
    phases: dict[str, float]

    def end_phase(self, name: str) -> None:
        """Note how long a part of the test took."""
        now = time.monotonic()
        self.phases[name] = now - self.began
        self.began = now

    def kill(self, name: str, dice: random.Random) -> None:
        """Kill a part of the site, let others feel it for a moment, and start it again."""
        killed_at = time.time()
        if name == "database":
            self.site.kill_database()
            time.sleep(dice.random())
            self.site.cluster.ensure()
        else:
            program = self.site.programs[name]
            only_children = name == "web" and dice.random() < 0.5
            program.kill(only_children=only_children)
            if not only_children:
                time.sleep(dice.random() / 2)
        self._after_kill(name, killed_at)
        if name != "database" and self.site.programs[name].process.poll() is not None:
            self.site.programs[name].start()
        self.killed[name] += 1

    def _after_kill(self, name: str, killed_at: float) -> None:
        if name in ("tasks", "database"):
            time.sleep(0.2)  # what is on its way to the mail server arrives
            sent = self.site.rows(SENT.format(state="state <> 'QUEUED'"))
            self.mail.note_kill({message for (message,) in sent})
            self.site.rows(LET_RUNS_END)
        if name in ("web", "database"):
            time.sleep(0.2)  # what a killed process was about to commit is committed
            self.site.rows(LET_REQUESTS_END, killed=killed_at)
        self.let_retries_come()

    def let_retries_come(self) -> None:
        """Let the time pass until the next attempt of what failed."""
        for statement in LET_RETRIES_COME:
            self.site.rows(statement)

    def settle(self) -> None:
        """Wait until everything that is owed was sent."""

        def is_settled() -> bool:
            self.let_retries_come()
            time.sleep(0.3)
            return not self.site.rows(LEFT)[0][0]

        eventually(is_settled, SETTLING_SECONDS)


@contextmanager
def storm(folder: Path, **environment: str) -> Iterator[Storm]:
    """A site under load."""
    began = time.monotonic()
    with receiving_mail() as (mail, port), receiving_webhooks() as hooks:
        environment["EMAIL_URL"] = f"smtp://127.0.0.1:{port}"
        with whole_site(folder, **environment) as site:
            url = f"http://127.0.0.1:{hooks.receiver.port}/hook"
            script = "tests.faults.whole_site.prepare"
            made = json.loads(site.prepare(script, url, str(PEOPLE)))
            hooks.secrets = made["secrets"]
            site.start()
            crowd = Crowd(
                site.port, made["busy"], made["tokens"], seed=SEED, pause_seconds=PAUSE_SECONDS
            )
            crowd.start(THREADS)
            try:
                made_storm = Storm(site, crowd, mail, hooks, made["slow"], Counter(), began, {})
                made_storm.end_phase("start")
                yield made_storm
            finally:
                crowd.end()


def order_of_kills(count: int, dice: random.Random) -> list[str]:
    """What is killed, one after another: of each its share."""
    whole = [name for name, share in SHARES.items() for _ in range(share)]
    kills = [name for _ in range(-(-count // len(whole))) for name in whole][:count]
    dice.shuffle(kills)
    return kills


def kill_one_after_another(storm: Storm, kills: list[str], dice: random.Random) -> None:
    """Kill, each time after a little while in which the part was up."""
    for name in kills:
        eventually(storm.site.is_answering, 30)
        time.sleep(dice.uniform(0.5, 2.0))
        storm.kill(name, dice)
    eventually(storm.site.is_answering, 30)


def has_decayed(storm: Storm) -> Callable[[], bool]:
    """Tell whether the offers that nobody answered are over."""

    def look() -> bool:
        missed = [each for each in log_of(storm.site) if each.job == storm.slow_job]
        return sum(each.event == "DECAYED" for each in missed) >= SLOW_CAPACITY

    return look


def test_after_many_kills_every_event_has_its_email_and_its_webhooks(
    folder: Path, long_seconds: int
) -> None:
    dice, kills = random.Random(SEED), max(KILLS, long_seconds // SECONDS_OF_KILL)

    with storm(folder) as site_in_storm:
        kill_one_after_another(site_in_storm, order_of_kills(kills, dice), dice)
        site_in_storm.end_phase("kills")
        site_in_storm.crowd.end()
        eventually(has_decayed(site_in_storm), SETTLING_SECONDS)
        site_in_storm.end_phase("deadlines")
        site_in_storm.settle()
        site_in_storm.end_phase("settling")

        site, crowd, mail = site_in_storm.site, site_in_storm.crowd, site_in_storm.mail
        faults = faults_of(site, crowd, mail, site_in_storm.hooks)
        verdict = site.run("manage.py", "verify_log")
        report(site_in_storm)

    assert faults.are_none, faults
    assert crowd.refusals == {}
    assert "All is well: 2 logs verified" in verdict
    killed = site_in_storm.killed
    assert killed.total() == kills
    assert (
        min(killed["web"], killed["tasks"] + killed["decay"], killed["database"]) >= 3 * kills // 10
    )
    # A second copy only of what was in the hands of a child when it or its database was killed.
    in_hand = (SLOTS + 1) * (killed["tasks"] + killed["database"])
    copies = mail.by_event()
    assert len(mail.copies) - len(copies) <= in_hand


@pytest.mark.in_turns(3)
def test_control_what_is_kept_in_memory_after_the_commit_is_lost(folder: Path) -> None:
    dice = random.Random(SEED)

    with storm(
        folder, DJANGO_SETTINGS_MODULE="tests.faults.whole_site.settings_memory"
    ) as site_in_storm:
        answers = site_in_storm.crowd.answers
        for _ in range(5):
            enough = answers.total() + 20
            eventually(lambda enough=enough: answers.total() >= enough, 60)  # type: ignore[misc]
            site_in_storm.kill("web", dice)
        time.sleep(1)
        site_in_storm.crowd.end()
        time.sleep(1)
        site_in_storm.settle()

        site, crowd, mail = site_in_storm.site, site_in_storm.crowd, site_in_storm.mail
        faults = faults_of(site, crowd, mail, site_in_storm.hooks)
        site.run("manage.py", "verify_log")
        report(site_in_storm)

    assert mail.by_event()
    assert faults.missing_emails
    assert faults.missing_webhooks
    assert faults.unlogged_acts == []


def report(of: Storm) -> None:
    """Print what happened, for a person who reads along (`pytest -s`)."""
    log, copies = log_of(of.site), of.mail.by_event()
    seconds = {name: round(took) for name, took in of.phases.items()}
    print(f"\nseconds: {seconds}; killed: {dict(of.killed)}; repeated: {of.crowd.repeated}")
    print(f"answers: {dict(of.crowd.answers)}")
    print(f"events: {dict(Counter(each.event for each in log))}")
    print(
        f"emails: {len(copies)} of {sum(each.is_emailed for each in log)} events,"
        f" {sum(each.may_be_unsent for each in log)} of offers that were over by then;"
        f" {len(of.mail.copies) - len(copies)} second copies,"
        f" {len(of.mail.unrecorded)} taken and not recorded at a kill"
    )
    ids = {message for _, message, _ in of.hooks.valid}
    print(f"webhooks: {len(ids)} ids, {len(of.hooks.valid) - len(ids)} repeats")
