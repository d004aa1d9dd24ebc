"""Each alert in Prometheus: one course of metrics at which it rings, and one at which it does not.

The silent courses come close: values at the threshold, or beyond it for a shorter time.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.deploy.test_alerts import FOLDER, RULES
from tests.support.tools import needed_tool

ALERTS = [rule["alert"] for rule in RULES]
Course = dict[str, str]  # values every 15 seconds, by series without the prefix "nextinline_"


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
            {"series": f"nextinline_{name}", "values": values} for name, values in course.items()
        ],
        "promql_expr_test": [
            {
                "expr": f"max({firing})" if rings else f"max(max_over_time({firing}[25m]))",
                "eval_time": "25m",
                "exp_samples": [{"labels": "{}", "value": 1}] if rings else [],
            }
        ],
    }


def promtool(folder: Path, *tests: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """Run tests of our rules."""
    file = folder / "test.yaml"
    rules = str(FOLDER / "alerts.yaml")
    file.write_text(  # JSON is YAML
        json.dumps({"rule_files": [rules], "evaluation_interval": "15s", "tests": tests})
    )
    return subprocess.run(
        [needed_tool("promtool", "apt-get install prometheus"), "test", "rules", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_each_alert_has_a_case() -> None:
    assert sorted(CASES) == sorted(ALERTS)
    assert [name for name, case in CASES.items() if case.silent is None] == ["Watchdog"]


@pytest.mark.parametrize("alert", ALERTS)
def test_it_rings_for_its_fault_and_not_for_what_is_nearly_one(alert: str, tmp_path: Path) -> None:
    rings, silent = CASES[alert]
    tests = [unit_test(alert, rings, rings=True)]
    if silent is not None:
        tests.append(unit_test(alert, silent, rings=False))

    run = promtool(tmp_path, *tests)

    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("alert", ALERTS)
def test_the_wrong_way_round_it_would_be_noticed(alert: str, tmp_path: Path) -> None:
    rings, silent = CASES[alert]

    assert promtool(tmp_path, unit_test(alert, rings, rings=False)).returncode != 0
    if silent is not None:
        assert promtool(tmp_path, unit_test(alert, silent, rings=True)).returncode != 0
