"""Environment of the fork server: what children need, and no secrets that they do not need."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.worker.fork_client import ForkServerClient


def test_children_get_the_settings_of_opentelemetry_and_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    monkeypatch.setenv("CLOUD_SECRET", "hunter2")
    client = ForkServerClient()
    client.fileno()  # starts the server

    try:
        assert client._process is not None
        environment = Path(f"/proc/{client._process.pid}/environ").read_text()
    finally:
        client.close()

    assert "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318\0" in environment
    assert "CLOUD_SECRET" not in environment
