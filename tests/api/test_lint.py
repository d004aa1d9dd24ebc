"""The OpenAPI document under spectral's rules and ours."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.environment import ROOT
from tests.support.tools import needed_tool

RULES = Path(__file__).parent / "lint" / "rules.yaml"
DOCUMENT = ROOT / "docs" / "openapi.yaml"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def linted(*documents: Path) -> subprocess.CompletedProcess[str]:
    spectral = needed_tool("spectral", "npm install --global @stoplight/spectral-cli")
    command = [spectral, "lint", "--ruleset", str(RULES), "--fail-severity", "warn", *documents]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_document_keeps_every_rule() -> None:
    done = linted(DOCUMENT)

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_broken_rule_is_found(tmp_path: Path) -> None:
    described: dict[str, Any] = {"description": "One."}
    page = {"type": "object", "properties": {"data": {"type": "array", "items": described}}}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "T", "version": "1", **described},
        "servers": [{"url": "/"}],
        "paths": {
            "/jobList": {
                "get": {
                    "operationId": "x",
                    "parameters": [{"name": "a", "in": "query", "schema": {"type": "string"}}],
                    "responses": {
                        "200": {
                            **described,
                            "content": {"application/json": {"schema": {"$ref": "#/x"}}},
                        }
                    },
                }
            }
        },
        "components": {
            "schemas": {
                "Page": page,
                "Row": {"type": "object", "properties": {"seatsFree": {"type": "integer"}}},
            }
        },
    }
    broken = tmp_path / "openapi.yaml"
    broken.write_text(yaml.safe_dump(document))

    found = linted(broken)

    assert found.returncode == 1
    for rule in (
        "every-parameter-is-described",
        "every-schema-is-described",
        "fields-are-snake-case",
        "invalid-ref",
        "lists-are-paged",
        "operation-description",
        "paths-are-kebab-case",
    ):
        assert rule in found.stdout, rule
