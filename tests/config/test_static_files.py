"""Collected static files have names made from their content; uncollected ones are served as is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from pipeline.server.fixed_answers import StaticFileAnswers
from tests.support.environment import ROOT

PROGRAM = """
import django, sys
django.setup()
from django.templatetags.static import static
from pipeline.server.fixed_answers import StaticFileAnswers
address = static(sys.argv[1])
answer = StaticFileAnswers().find_static_file(address).get_response("GET", {})
body = answer.file.read()
sys.stdout.write(f"{address} {dict(answer.headers)['Cache-Control']} {len(body)}")
"""


def run(collected: Path, *arguments: str) -> str:
    """Return the output of a program that is configured as in production."""
    return subprocess.run(
        [sys.executable, *arguments],
        env={
            "PATH": os.environ["PATH"],
            "DJANGO_SETTINGS_MODULE": "pipeline.settings",
            "DATABASE_URL": "postgres://user:secret@127.0.0.1:1/line",
            "SECRET_KEY": "of-a-test-0123456789-abcdefghijkl",
            "EMAIL_URL": "consolemail://",
            "STATIC_ROOT": str(collected),
        },
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_collected_files_may_be_cached_for_years(tmp_path: Path) -> None:
    module = next((ROOT / "static").rglob("*.js")).relative_to(ROOT / "static")
    run(tmp_path, "manage.py", "collectstatic", "--no-input")

    told = run(tmp_path, "-c", PROGRAM, str(module))

    assert re.match(r"/static/\S+\.[0-9a-f]{12}\.js max-age=315360000, public, immutable ", told)
    assert list(tmp_path.rglob("*.js.gz"))


def test_without_collecting_files_are_served_under_plain_names(tmp_path: Path) -> None:
    module = next((ROOT / "static").rglob("*.js")).relative_to(ROOT / "static")

    told = run(tmp_path / "none", "-c", PROGRAM, str(module))

    assert told.startswith(f"/static/{module} max-age=60, public ")


def test_a_file_that_was_not_collected_is_served_whole_after_a_change(
    tmp_path: Path, settings: Any
) -> None:
    settings.STATICFILES_DIRS = [tmp_path]
    style = tmp_path / "a.css"
    style.write_text("a { }")
    answers = StaticFileAnswers()
    style.write_text("a { color: red }")

    answer = answers.find_static_file("/static/a.css").get_response("GET", {})

    with answer.file as content:
        assert dict(answer.headers)["Content-Length"] == str(len(content.read())) == "16"
