"""Reports of errors: which code failed and the ids on its log line, and nothing about people."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from django.core.exceptions import ImproperlyConfigured

from pipeline.config.logging import start_error_reports
from pipeline.config.release import COMMIT, VERSION
from tests.support.environment import ROOT, process_environment

PROGRAM = """
import logging, django
django.setup()
from tasks.log_context import bound_fields

def fail(email):
    raise ValueError(f"Key (email)=({email}) already exists")

with bound_fields(request_id="r-1", job_id="j-1", task_id="t-1", address="192.0.2.7",
                      caller="applicant:a-1"):
    try:
        fail("ana@example.org")
    except ValueError:
        logging.getLogger("pipeline").exception(
            "could not store %s", "ana@example.org", extra={"person": "Ana Li"})
    logging.getLogger("pipeline").warning("no error, for ana@example.org")
fail("bo@example.org")
"""


@contextmanager
def sentry() -> Iterator[tuple[str, list[str]]]:
    """A server that takes reports; gives its DSN, and the reports as text."""
    taken: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            taken.append(body.decode())
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://key@127.0.0.1:{server.server_port}/1", taken
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.django_db
def test_a_report_names_the_code_and_the_ids_and_no_person() -> None:
    with sentry() as (dsn, taken):
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            cwd=ROOT,
            env=process_environment(SENTRY_DSN=dsn, SENTRY_ENVIRONMENT="of-a-test"),
            capture_output=True,
            text=True,
            check=False,
        )

    assert run.returncode == 1, run.stderr
    reports = [json.loads(each.splitlines()[2]) for each in taken]
    logged, uncaught = sorted(reports, key=lambda each: "request_id" not in each["tags"])
    assert logged["tags"] == {"request_id": "r-1", "job_id": "j-1", "task_id": "t-1"}
    assert logged["logentry"]["message"] == "could not store %s"
    for report in (logged, uncaught):
        [failure] = report["exception"]["values"]
        assert failure["type"] == "ValueError"
        assert failure["stacktrace"]["frames"][-1]["function"] == "fail"
        assert report["environment"] == "of-a-test"
        assert report["release"].partition("+")[::2] == (f"next-in-line@{VERSION}", COMMIT)
    said = "".join(taken)
    for personal in ("@example.org", "Ana", "192.0.2.7", "applicant:a-1"):
        assert personal not in said


def test_without_a_dsn_nothing_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentry_sdk", None)

    start_error_reports("", environment="production")


def test_a_missing_library_and_a_malformed_dsn_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ImproperlyConfigured, match="must be like") as refused:
        start_error_reports("not-a-dsn-of-s3cret", environment="production")
    monkeypatch.setitem(sys.modules, "sentry_sdk", None)
    with pytest.raises(ImproperlyConfigured, match="extra `sentry`"):
        start_error_reports("https://key@sentry.example.com/1", environment="production")

    assert "s3cret" not in str(refused.value)
