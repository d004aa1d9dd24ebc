"""Alert rules and dashboard: PromQL, of metrics that exist, with an entry in the run book."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest
import yaml
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

import pipeline.live.hub  # noqa: F401  has a gauge
from pipeline.models import Heartbeat
from pipeline.selectors import database
from tasks.enqueue import enqueue
from tasks.models import TaskType
from tests.support.environment import ROOT
from tests.support.tools import needed_tool

FOLDER = ROOT / "deploy" / "prometheus"
RULES: list[dict[str, Any]] = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"][0][
    "rules"
]
DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "next-in-line.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()
NAME = re.compile(r"\bnextinline_\w+")


def expressions() -> Iterator[str]:
    """Yield every PromQL expression of alerts and dashboard."""
    yield from (rule["expr"] for rule in RULES)
    yield from (target["expr"] for panel in PANELS for target in panel["targets"])


def metrics_of_the_site() -> set[str]:
    """Return the names of all samples that /metrics can have."""
    families = text_string_to_metric_families(Client().get("/metrics").content.decode())
    names = set()
    for family in families:
        names |= {sample.name for sample in family.samples}
        if family.type == "histogram":
            names |= {f"{family.name}_{part}" for part in ("bucket", "sum", "count")}
        names.add(f"{family.name}_total" if family.type == "counter" else family.name)
    return names


def test_every_expression_is_promql() -> None:
    found = list(expressions())

    assert len(found) >= 35
    for expression in found:
        promql_parser.parse(expression)
    with pytest.raises(ValueError, match="parenthesis"):
        promql_parser.parse("max(nextinline_jobs")


@pytest.mark.django_db
def test_every_metric_that_is_named_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    for worker in ("decay", "backup", "anchors"):
        Heartbeat.objects.create(worker=worker, completed_at="2026-01-01T00:00:00Z")
    # The archive of the tests' server is off: take its numbers as if it were on.
    as_if_on = database._ARCHIVE.replace("<> 'off'", "= 'off'")
    monkeypatch.setattr(database, "_ARCHIVE", as_if_on)
    TaskType.objects.filter(key="log.anchor").update(breaker="OPEN")
    enqueue("log.anchor", {})
    known = metrics_of_the_site()

    named = {name for expression in expressions() for name in NAME.findall(expression)}

    assert len(named) >= 20
    assert named - known == set()


def test_every_alert_has_a_severity_a_summary_and_an_entry_in_the_runbook() -> None:
    headings = {line[3:].lower() for line in RUNBOOK.splitlines() if line.startswith("## ")}
    names = {rule["alert"] for rule in RULES}

    for rule in RULES:
        assert rule["labels"]["severity"] in ("critical", "warning", "none")
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"
    assert {name.lower() for name in names} <= headings
    assert {line[3:] for line in RUNBOOK.splitlines() if line.startswith("## ")} <= names


def test_the_dashboard_has_a_source_to_choose_and_no_two_panels_of_one_place() -> None:
    places = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in DASHBOARD["panels"]]

    assert len(set(places)) == len(places)
    assert all(panel["description"] for panel in PANELS)
    assert {panel["datasource"]["uid"] for panel in PANELS} == {"${datasource}"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "rules", "alerts.yaml"),
        ("check", "config", "--syntax-only", "prometheus.yaml"),
        # Each alert fires for its fault, and none while nothing is wrong.
        ("test", "rules", "alerts_test.yaml"),
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_prometheus_own_tool_accepts_the_rules(arguments: tuple[str, ...]) -> None:
    run = subprocess.run(
        [needed_tool("promtool", "apt-get install prometheus"), *arguments],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stdout + run.stderr


def test_alerts_reach_a_pager_and_the_watchdog_a_switch_that_hears_it_every_minute() -> None:
    prometheus = yaml.safe_load((FOLDER / "prometheus.yaml").read_text())
    route = yaml.safe_load((FOLDER / "alertmanager.yaml").read_text())["route"]
    [watchdog] = route["routes"]

    assert prometheus["alerting"]["alertmanagers"]
    assert watchdog["matchers"] == ['alertname="Watchdog"']
    assert (route["receiver"], watchdog["receiver"]) == ("pager", "switch")
    assert watchdog["repeat_interval"] == "1m"
