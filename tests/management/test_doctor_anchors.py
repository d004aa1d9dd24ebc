"""`manage.py doctor` on the anchors: not writable, cut off, changed, unreadable, or late."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline.audit import anchors
from pipeline.line.event_log import logged_time
from tests.management.test_doctor import _emails_and_anchors_in_order, found, only
from tests.support import factories
from tests.support.clock import let_time_pass

__all__ = ["_emails_and_anchors_in_order"]
pytestmark = pytest.mark.django_db(transaction=True)

HOUR, WARNED = 3_600, ("warning", True)


@pytest.fixture
def file(settings: Any) -> Path:
    """Return the file of anchors, with two lines."""
    factories.applications(factories.job(), 1)
    factories.applications(factories.job(), 1)
    assert anchors.append() == 2
    return Path(settings.ANCHOR_FILE)


def test_anchors_that_cannot_be_written_are_a_problem(settings: Any, tmp_path: Path) -> None:
    assert only("anchors")[0] == "ok"
    (tmp_path / "file").touch()
    settings.ANCHOR_FILE = tmp_path / "file" / "anchors.jsonl"

    level, message, advice = only("anchors")

    assert (level, "ANCHOR_FILE cannot be written" in message) == ("problem", True)
    assert "--skip anchors" in advice


def test_whole_anchors_are_in_order_and_the_last_one_is_dated(file: Path) -> None:
    level, message, _ = only("anchors")

    assert level == "ok"
    assert f"Anchors are written to {file}" in message
    assert "The last whole anchor is from 20" in message

    file.write_text(file.read_text().removesuffix("\n"))
    assert only("anchors") == (level, message, "")


def test_half_a_line_is_named_and_the_next_run_replaces_it(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[:-40])

    level, message, advice = only("anchors")

    assert (level, "is cut off" in message) == ("warning", True)
    assert "The last whole anchor is from 20" in message
    assert "log.anchor replaces it" in advice
    assert file.read_bytes() == whole[:-40]
    anchors.append()
    assert only("anchors")[0] == "ok"


def test_half_a_line_alone_is_named_too(file: Path) -> None:
    file.write_text('{"at":"2026')

    level, message, _ = only("anchors")

    assert (level, "is cut off" in message) == ("warning", True)
    assert "It is the first." in message


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (lambda text: text.replace('"at":"20', '"at":"99'), "is not signed with this key"),
        (lambda text: text[:-40] + "\n", "cannot be read"),
        (lambda text: text + "\n", "cannot be read"),
        (lambda text: text[:-40] + '\n{"at"', "cannot be read"),
        (lambda text: "\0" * len(text) + "\n", "cannot be read"),
    ],
)
def test_a_damaged_last_line_is_a_problem(
    file: Path, damage: Callable[[str], str], fault: str
) -> None:
    file.write_text(damage(file.read_text()))

    level, message, advice = only("anchors")

    assert level == "problem"
    assert message.startswith(f"The last line of the anchors {fault}, so none is written any more")
    assert "Keep the file" in advice


def test_a_key_that_is_lost_or_is_none_is_a_problem(file: Path, settings: Any) -> None:
    settings.ANCHOR_KEY_FILE.write_text("no key")
    none = only("anchors")
    settings.ANCHOR_KEY_FILE.unlink()
    lost = only("anchors")

    assert (none[0], "is not a key in PEM" in none[1]) == ("problem", True)
    assert (lost[0], "Cannot read the key" in lost[1]) == ("problem", True)


def late() -> list[str]:
    """Return the warnings that the anchors are late."""
    rows = found("anchors").items()
    return [message for message, (level, _) in rows if (level, "late" in message) == WARNED]


def test_without_any_anchor_logs_of_the_last_hour_are_not_late_and_older_ones_are() -> None:
    job = factories.job()
    factories.applications(job, 1)
    assert late() == []

    let_time_pass(job, HOUR + 60)

    [message] = late()
    assert message.endswith("no anchor was written so far.")
    anchors.append()
    assert late() == []


def test_logs_that_grew_an_hour_ago_since_the_last_anchor_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = factories.job()
    factories.applications(job, 1)
    with monkeypatch.context() as earlier:
        earlier.setattr(anchors, "logged_time", lambda at: logged_time(at - 3 * timedelta(hours=1)))
        anchors.append()
    factories.applications(job, 1)
    assert late() == [], "the next run has some time"

    let_time_pass(job, 2 * HOUR)

    [message] = late()
    assert "since the last anchor, from 20" in message
    anchors.append()
    assert late() == []
