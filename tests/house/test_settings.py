"""Every setting that is documented reaches the containers."""

from __future__ import annotations

import re

import yaml

from tests.support.environment import ROOT

EXAMPLE = re.compile(r"^(?:# )?([A-Z][A-Z_]*)=", re.M)
NOT_HANDED_ON = {
    "POSTGRES_PASSWORD": "the containers get it as a part of DATABASE_URL",
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
