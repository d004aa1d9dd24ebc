"""Version and commit: one source, shown in the API, the metrics and on the System page."""

from __future__ import annotations

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
