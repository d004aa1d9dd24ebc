"""Version and commit: one source, shown in the API, the metrics and on the System page."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from pipeline.config import env, release
from tests.support.environment import ROOT


def test_the_version_is_that_of_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["version"] == release.VERSION


def test_the_changelog_dates_this_version_and_kubernetes_runs_it() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    dated = [
        re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - (20\d\d-\d\d-\d\d)", each) for each in headings[1:]
    ]
    manifests = (ROOT / "deploy" / "kubernetes" / "kustomization.yaml").read_text()

    assert headings[0] == "[Unreleased]"
    assert all(dated)
    order = [(tuple(map(int, each.group(1, 2, 3))), each[4]) for each in dated if each]
    assert order == sorted(order, reverse=True)
    assert ".".join(map(str, order[0][0])) == release.VERSION
    assert f"newTag: {release.VERSION}\n" in manifests


def test_no_other_file_of_the_product_holds_the_version() -> None:
    holds = re.compile(rf"(?<![\d.]){re.escape(release.VERSION)}(?![\d.])")
    rooms = [ROOT / name for name in ("applicants", "jobs", "pipeline", "tasks", "templates")]
    files = [
        file for room in rooms for file in room.rglob("*.*") if file.suffix in {".py", ".html"}
    ]
    others = [*files, ROOT / "Dockerfile", ROOT / "docker-compose.yml", ROOT / "run.py"]

    assert [file for file in others if holds.search(file.read_text())] == []


def test_ci_refuses_a_tag_of_another_version() -> None:
    steps = (ROOT / ".github" / "workflows" / "ci.yml").read_text()

    assert 'tags: ["v*"]' in steps
    assert '"$GITHUB_REF_NAME" = "v$(' in steps


def test_the_commit_is_the_given_one_or_that_of_the_checkout_or_unknown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(env, "BASE_DIR", tmp_path)
    assert release._read_commit() == ""
    (tmp_path / ".git").mkdir()  # broken
    assert release._read_commit() == ""
    (tmp_path / ".git").rmdir()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["commit", "-qm", "one", "--allow-empty"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    made = subprocess.run(
        [*git, "rev-parse", "HEAD"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert release._read_commit() == made[:12]

    monkeypatch.setenv("PATH", "")
    assert release._read_commit() == ""
    monkeypatch.setattr(env, "SOURCE_COMMIT", "abcdef0123456789")
    assert release._read_commit() == "abcdef012345"


@pytest.mark.django_db
def test_the_api_and_the_metrics_name_both(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    index: dict[str, Any] = client.get("/api/v1/").json()
    metrics = client.get("/metrics").content.decode()

    assert (index["version"], index["commit"]) == (release.VERSION, release.COMMIT)
    label = f'commit="{release.COMMIT}",version="{release.VERSION}"'
    assert f"nextinline_build_info{{{label}}} 1.0" in metrics


def test_the_image_gets_version_and_commit() -> None:
    image = (ROOT / "Dockerfile").read_text()

    assert "COPY manage.py pyproject.toml" in image
    assert "!pyproject.toml" in (ROOT / ".dockerignore").read_text()
    assert "ENV SOURCE_COMMIT=$SOURCE_COMMIT" in image
