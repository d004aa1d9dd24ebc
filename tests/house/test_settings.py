"""Every setting that is documented reaches the containers."""

from __future__ import annotations

import re

import yaml

from tests.support.environment import ROOT

EXAMPLE = re.compile(r"^(?:# )?([A-Z][A-Z_]*)=", re.M)
NOT_HANDED_ON = {
    "POSTGRES_PASSWORD": "`migrate` gets it as a part of MIGRATION_DATABASE_URL",
    "POSTGRES_APP_PASSWORD": "the containers get it as a part of DATABASE_URL",
    "POSTGRES_USER": "`migrate` gets it as a part of MIGRATION_DATABASE_URL",
    "POSTGRES_DB": "the containers get it as a part of DATABASE_URL",
    "SOURCE_COMMIT": "is in the image: an argument of its build",
    "MIGRATION_DATABASE_URL": "for `migrate` alone",
    "DATABASE_DIRECT_URL": "goes with another DATABASE_URL, which compose sets itself",
    "ANCHOR_FILE": "for the task workers alone: the others cannot reach it",
    "ANCHOR_KEY_FILE": "for the task workers alone: the others cannot reach it",
    "ARCHIVE_DIR": "for the task workers alone: the others cannot reach it",
    "ARCHIVE_AFTER_DAYS": "goes with ARCHIVE_DIR",
    "ATTACHMENT_REMOVALS_FILE": "for the task workers alone, which remove files",
    "ALIVE_FILE": "for the workers alone: web servers answer /health/live",
    "END_WITH_PARENT": "containers end with their first process anyway",
    **dict.fromkeys(("PROXY_SITES", "PROXY_OWN_DOMAINS"), "for the proxy alone"),
    "WEB_PORT": "is of the host: where it publishes the web pages",
    "DEBUG": "never where others can reach it",
}


def test_every_setting_of_the_example_reaches_the_containers() -> None:
    named = set(EXAMPLE.findall((ROOT / ".env.example").read_text()))
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    handed_on = set(compose["x-app"]["environment"])

    assert len(named) >= 15
    assert named - handed_on == set(NOT_HANDED_ON)
    assert handed_on <= named


def test_only_migrations_have_the_owner_and_only_task_workers_the_anchors() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]

    def with_setting(name: str) -> set[str]:
        return {each for each, of in services.items() if name in of.get("environment", {})}

    assert with_setting("MIGRATION_DATABASE_URL") == {"migrate"}
    assert with_setting("ANCHOR_KEY_FILE") == {"tasks"}
    assert [
        each for each, of in services.items() if "anchors:/anchors" in of.get("volumes", ())
    ] == ["tasks"]
    for each in ("web", "decay", "tasks"):
        assert "//nextinline_app:" in services[each]["environment"]["DATABASE_URL"]
