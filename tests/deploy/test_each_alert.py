"""Each alert in Prometheus: one course of metrics at which it rings, and one at which it does not.

The silent courses come close: values at the threshold, or beyond it for a shorter time.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.deploy.test_alerts import RULES
from tests.support.tools import needed_tool

ALERTS = [rule["alert"] for rule in RULES]
# Values every 15 seconds, by series; the site's own without the prefix "nextinline_".
Course = dict[str, str]
OF_OTHERS = ("up{", "node_")


class Case(NamedTuple):
    """What rings an alert, and what does not; None if nothing silences it."""

    rings: Course
    silent: Course | None


def runs(kind: str) -> str:
    return f'task_runs_total{{type="a@1",result="{kind}"}}'


def answers(status: int, route: str = "/") -> str:
    return f'http_requests_total{{status="{status}",route="{route}"}}'


def answered_within(seconds: str) -> str:
    return f'http_request_duration_seconds_bucket{{le="{seconds}"}}'


def failing(key: str) -> str:
    return f'tasks_failing_seconds{{type="{key}@1"}}'


def up(instance: str, job: str = "next-in-line") -> str:
    return f'up{{job="{job}",instance="{instance}"}}'


def disk(kind: str, fstype: str = "ext4") -> str:
    return f'node_filesystem_{kind}_bytes{{fstype="{fstype}",mountpoint="/",instance="db"}}'


def oldest(priority: int) -> str:
    return f'tasks_oldest_pending_seconds{{priority="{priority}"}}'


LIVE = "/health/live"
DEAD, OPEN = 'tasks_dead{type="a@1"}', 'tasks_breaker_open{type="a@1"}'
PENDING = 'tasks_pending{type="a@1",priority="0"}'
CASES = {
    "Watchdog": Case({}, None),
    "DecayWorkerSilent": Case(
        {"database_up": "1x120", "decay_heartbeat_age_seconds": "1+15x120"},
        {"database_up": "1x120", "decay_heartbeat_age_seconds": "60x120"},
    ),
    "SiteSilent": Case({}, {"database_up": "0x120"}),
    "DatabaseDown": Case(
        {'database_up{instance="a"}': "0x120", 'database_up{instance="b"}': "0x120"},
        {'database_up{instance="a"}': "0x120", 'database_up{instance="b"}': "1x120"},
    ),
    "WebServerSilent": Case(
        {up("a"): "1x120", up("b"): "1x9 0x120"},
        {up("a"): "1x9 0x7 1x120", up("c", "machines"): "0x120"},
    ),
    "JobLockHeld": Case(
        {"job_lock_held_seconds": "0x9 5+15x120"}, {"job_lock_held_seconds": "0x9 12x1 10x120"}
    ),
    "SnapshotHeld": Case(
        {"snapshot_held_transactions": "0+9000x120"},
        {"snapshot_held_seconds": "600x120", "snapshot_held_transactions": "100000x120"},
    ),
    "ReplicationSlotStuck": Case(
        {"replication_slots_inactive": "1x120"},
        {"replication_slots_inactive": "1x39 0x120", "replication_slot_retained_bytes": "9e8x120"},
    ),
    "WalArchiveFails": Case(
        {"wal_archive_failing": "1x120"},
        # Without archive_timeout, a site with little to log archives once in hours.
        {"wal_archive_failing": "1x19 0x120", "wal_archive_age_seconds": "7200x120"},
    ),
    "BackupOld": Case(
        {"backup_age_seconds": "172000+15x120"}, {"backup_age_seconds": "172800x120"}
    ),
    "AnchorsLate": Case(
        {"anchors_age_seconds": "3000+15x120"}, {"anchors_age_seconds": "3600x120"}
    ),
    "DiskFull": Case(
        {disk("avail"): "9x120", disk("size"): "100x120"},
        {disk("avail"): "11x120", disk("size"): "100x120", disk("avail", "tmpfs"): "0x120"}
        | {disk("size", "tmpfs"): "100x120"},
    ),
    "DeadlinesLate": Case(
        {"oldest_overdue_seconds": "0+15x120"}, {"oldest_overdue_seconds": "0x9 90x2 60x120"}
    ),
    "SeatsIdle": Case(
        {"seats_idle_with_eligible": "1x120"}, {"seats_idle_with_eligible": "0x9 3x6 0x120"}
    ),
    "NoTaskWorker": Case({"task_workers": "0x120"}, {"task_workers": "2x9 0x2 1x120"}),
    "TasksWait": Case({oldest(0): "0+15x120"}, {oldest(0): "300x120", oldest(-5): "0+15x120"}),
    "DeadLetters": Case({DEAD: "1x120"}, {DEAD: "0x9 1x18 0x120"}),
    "EmailsWait": Case(
        {failing("email.private"): "0+15x120"},
        {failing("email.event"): "600x120", failing("webhook.deliver"): "9000+15x120"},
    ),
    "FilesUnscanned": Case(
        {failing("attachments.scan"): "0+15x120"},
        {failing("attachments.scan"): "900x120", failing("email.event"): "9000+15x120"},
    ),
    "TasksFail": Case(
        {runs("failed"): "0+1x120", runs("succeeded"): "0+3x120"},
        {runs("failed"): "0+1x120", runs("succeeded"): "0+5x120", runs("retried"): "0+9x120"},
    ),
    "TaskLeasesExpire": Case({runs("expired"): "0x60 1x60"}, {runs("expired"): "7x120"}),
    "BreakerOpen": Case({OPEN: "1x120"}, {OPEN: "0x9 1x18 0x120"}),
    "BacklogGrows": Case({PENDING: "9000+100x120"}, {PENDING: "30000-10x120"}),
    "ErrorsInAnswers": Case(
        {answers(200): "0+97x120", answers(500): "0+3x120", answers(200, LIVE): "0+900x120"},
        {
            answers(200): "0+99x120",
            answers(500): "0+1x120",
            answers(503, "/health/ready"): "0+9x120",
        },
    ),
    "AnswersSlow": Case(
        {answered_within("1.0"): "0+94x120", answered_within("2.5"): "0+100x120"}
        | {answered_within("+Inf"): "0+100x120"},
        {answered_within("1.0"): "0+96x120", answered_within("2.5"): "0+100x120"}
        | {answered_within("+Inf"): "0+100x120"},
    ),
}


def unit_test(alert: str, course: Course, *, rings: bool) -> dict[str, Any]:
    """Return a test for promtool: the alert rings after 25 minutes, or did not ring in them."""
    firing = f'ALERTS{{alertname="{alert}",alertstate="firing"}}'
    return {
        "interval": "15s",
        "input_series": [
            {
                "series": name if name.startswith(OF_OTHERS) else f"nextinline_{name}",
                "values": values,
            }
            for name, values in course.items()
        ],
        "promql_expr_test": [
            {
                "expr": f"max({firing})" if rings else f"max(max_over_time({firing}[25m]))",
                "eval_time": "25m",
                "exp_samples": [{"labels": "{}", "value": 1}] if rings else [],
            }
        ],
    }


def promtool(folder: Path, tests: dict[str, dict[str, Any]]) -> set[str]:
    """Run tests of our rules, each in a file of its own, and return the names of those that fail.

    One program for all of them: each takes longer to start than for its tests. Each test has only
    the rule that it is about, because all rules would be evaluated at each step of the clock.
    """
    for rule in RULES:
        group = {"name": "one", "rules": [rule]}
        (folder / f"{rule['alert']}.rules").write_text(json.dumps({"groups": [group]}))
    for name, test in tests.items():
        rules = f"{name.partition('_')[0]}.rules"
        content = {"rule_files": [rules], "evaluation_interval": "15s", "tests": [test]}
        (folder / f"{name}.yaml").write_text(json.dumps(content))  # JSON is YAML
    run = subprocess.run(
        [
            needed_tool("promtool", "apt-get install prometheus"),
            "test",
            "rules",
            *(f"{name}.yaml" for name in tests),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    results = dict(
        re.findall(r"^Unit Testing:  (\w+)\.yaml\n(  SUCCESS)?", run.stdout, re.MULTILINE)
    )
    assert results.keys() == tests.keys(), run.stdout + run.stderr
    return {name for name, success in results.items() if not success}


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the names of the tests that fail: each case, and each the wrong way round."""
    tests = {}
    for alert, (rings, silent) in CASES.items():
        tests[f"{alert}_rings"] = unit_test(alert, rings, rings=True)
        tests[f"{alert}_does_not_ring"] = unit_test(alert, rings, rings=False)
        if silent is not None:
            tests[f"{alert}_is_silent"] = unit_test(alert, silent, rings=False)
            tests[f"{alert}_is_not_silent"] = unit_test(alert, silent, rings=True)
    return promtool(tmp_path_factory.mktemp("alerts"), tests)


def test_each_alert_has_a_case() -> None:
    assert sorted(CASES) == sorted(ALERTS)
    assert [name for name, case in CASES.items() if case.silent is None] == ["Watchdog"]


@pytest.mark.parametrize("alert", ALERTS)
def test_it_rings_for_its_fault_and_not_for_what_is_nearly_one(
    alert: str, failed: set[str]
) -> None:
    assert not failed & {f"{alert}_rings", f"{alert}_is_silent"}


@pytest.mark.parametrize("alert", ALERTS)
def test_the_wrong_way_round_it_would_be_noticed(alert: str, failed: set[str]) -> None:
    wrong = {f"{alert}_does_not_ring", f"{alert}_is_not_silent"}
    if CASES[alert].silent is None:
        wrong.remove(f"{alert}_is_not_silent")

    assert wrong <= failed
