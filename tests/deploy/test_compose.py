"""Compose and Procfile: every service is checked and limited, and both start the same processes."""

from __future__ import annotations

import ipaddress
import os
import re
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.database.binaries import copy_reachable, find_binaries
from pipeline.database.cluster import BUILTIN_LOCALE_SINCE, unprivileged_user
from tests.support.environment import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
ENDS_BY_ITSELF = {"migrate"}


def test_every_service_has_a_health_check_and_limits() -> None:
    assert {"db", "web", "decay", "tasks", "proxy", "mail"} <= set(SERVICES)
    for name, service in SERVICES.items():
        assert service["mem_limit"], name
        assert service["cpus"], name
        assert service["pids_limit"], name
        assert service["logging"]["options"]["max-size"], name
        disabled = service["healthcheck"].get("disable", False)
        assert disabled is (name in ENDS_BY_ITSELF), name


def test_workers_are_checked_by_the_file_that_they_touch() -> None:
    for name in ("decay", "tasks"):
        file = SERVICES[name]["environment"]["ALIVE_FILE"]
        assert file in SERVICES[name]["healthcheck"]["test"][1]


def test_only_proxy_and_site_are_reached_from_outside_this_machine() -> None:
    published = {name: of["ports"] for name, of in SERVICES.items() if "ports" in of}

    assert set(published) == {"proxy", "web", "mail"}
    for name in ("web", "mail"):
        assert all(port.startswith("127.0.0.1:") for port in published[name])


def test_the_site_trusts_the_proxys_address_and_no_other() -> None:
    address = SERVICES["proxy"]["networks"]["edge"]["ipv4_address"]

    assert COMPOSE["x-environment"]["TRUSTED_PROXIES"] == f"${{TRUSTED_PROXIES:-{address}}}"
    assert "edge" in SERVICES["web"]["networks"]
    assert {name for name, of in SERVICES.items() if "edge" in of.get("networks", [])} == {
        "proxy",
        "web",
    }


def test_no_service_can_be_given_the_proxys_address_before_the_proxy_starts() -> None:
    [network] = COMPOSE["networks"]["edge"]["ipam"]["config"]
    proxy = ipaddress.ip_address(SERVICES["proxy"]["networks"]["edge"]["ipv4_address"])

    given_out = ipaddress.ip_network(network["ip_range"])

    assert proxy in ipaddress.ip_network(network["subnet"])
    assert given_out.subnet_of(ipaddress.ip_network(network["subnet"]))
    assert proxy not in given_out


@pytest.mark.slow
def test_postgresql_can_create_the_database_that_compose_describes() -> None:
    binaries, user = find_binaries(), unprivileged_user()
    if binaries.major < BUILTIN_LOCALE_SINCE:
        pytest.skip("the image's PostgreSQL is newer")
    options = shlex.split(SERVICES["db"]["environment"]["POSTGRES_INITDB_ARGS"])

    with tempfile.TemporaryDirectory() as folder:  # tmp_path is closed to other users
        os.chown(folder, user.pw_uid if user else -1, -1)
        program = copy_reachable(binaries, Path(folder)).folder / "initdb"
        made = subprocess.run(
            [program, "--no-sync", "--auth=trust", *options, "-D", f"{folder}/data"],
            capture_output=True,
            text=True,
            check=False,
            user=user.pw_uid if user else None,
        )

    assert made.returncode == 0, made.stderr


def test_the_procfile_starts_what_compose_starts() -> None:
    lines = (ROOT / "deploy" / "Procfile").read_text().splitlines()
    procfile = dict(re.fullmatch(r"(\w+): (.+)", line).groups() for line in lines)  # type: ignore[union-attr]
    image = re.search(r"^CMD (\[.*\])$", (ROOT / "Dockerfile").read_text(), re.M)
    assert image

    assert set(procfile) == {"release", "web", "decay", "tasks"}
    assert shlex.split(procfile["release"]) == SERVICES["migrate"]["command"]
    assert shlex.split(procfile["decay"]) == SERVICES["decay"]["command"]
    assert shlex.split(procfile["tasks"]) == SERVICES["tasks"]["command"][:3]
    assert set(shlex.split(procfile["web"])) <= set(yaml.safe_load(image[1]))
