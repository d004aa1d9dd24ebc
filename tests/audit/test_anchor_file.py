"""The file of anchors: every line of it is whole, and what is damaged is not built upon."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from pipeline.audit import anchors
from pipeline.audit.task import KEY
from tasks.errors import Fatal
from tests.audit.test_anchors import lines, verify
from tests.support import factories
from tests.support.handlers import Run

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_line_that_a_crash_has_cut_off_is_replaced(rejected: UUID, file: Path) -> None:
    anchors.append()
    with file.open("a") as more:
        more.write('{"at":"2026')
    factories.applications(rejected, 1)

    anchors.append()

    assert len(lines(file)) == 2
    assert "agree with all 2" in verify(anchors=file)


@pytest.fixture
def room() -> Iterator[Callable[[int], None]]:
    """Let files of this process grow to a size only, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_lines_that_do_not_fit_on_the_disk_leave_nothing_and_are_written_later(
    rejected: UUID, file: Path, room: Callable[[int], None]
) -> None:
    anchors.append()
    before = file.read_bytes()
    factories.applications(rejected, 1)

    room(len(before) + 100)  # a write is cut off there without an error, the next one fails
    with pytest.raises(OSError, match="too large"):
        anchors.append()
    left = file.read_bytes()
    room(resource.RLIM_INFINITY)

    assert left == before
    assert anchors.append() == 1
    assert "agree with all 2" in verify(anchors=file)


def test_a_write_that_takes_only_some_bytes_is_continued(
    rejected: UUID, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, bytes(data)[:7]))

    assert anchors.append() == 1

    monkeypatch.undo()
    assert "agree with all 1" in verify(anchors=file)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace('"at":"20', '"at":"99'),  # nothing would be anchored any more
        lambda text: text[: len(text) // 2] + "\n",
        lambda text: text + "\n",
        lambda text: text + "[" * 50_000 + "\n",
        lambda text: text[:-20] + "\n" + '{"at"',
    ],
)
def test_after_a_damaged_last_line_nothing_is_written_and_nothing_lost(
    rejected: UUID, file: Path, damage: Callable[[str], str]
) -> None:
    anchors.append()
    damaged = damage(file.read_text())
    file.write_text(damaged)
    factories.applications(rejected, 1)

    with pytest.raises(Fatal, match=r"its last line .* move it away"):
        Run(KEY, {}, None)

    assert file.read_text() == damaged
    file.rename(file.with_name("evidence"))
    assert anchors.append() == 1, "a new file begins with the heads of all logs"
    assert "agree with all 1" in verify(anchors=file)


def test_a_whole_line_without_its_end_stays(rejected: UUID, file: Path) -> None:
    anchors.append()
    file.write_text(file.read_text().removesuffix("\n"))
    factories.applications(rejected, 1)

    anchors.append()

    assert "agree with all 2" in verify(anchors=file)


def test_the_key_and_its_name_are_on_the_disk_before_anything_is_signed_with_it(
    rejected: UUID, file: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    key: Path = settings.ANCHOR_KEY_FILE
    acts: list[str] = []
    sync, link = os.fsync, os.link

    def note_sync(opened: int) -> None:
        acts.append(f"sync {Path(os.readlink(f'/proc/self/fd/{opened}')).name.split('.')[0]}")
        sync(opened)

    def note_link(of: Path, name: Path) -> None:
        acts.append(f"link {name.name}")
        link(of, name)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "link", note_link)
    anchors.append()

    kept = ["sync anchor_key", "link anchor_key", "sync secret"]
    public = ["sync anchor_key", "link anchor_key.pub", "sync secret"]
    assert acts == [*kept, *public, "sync anchors", "sync kept"]
    assert [each.name for each in sorted(key.parent.iterdir())] == ["anchor_key", "anchor_key.pub"]


def test_a_key_that_is_none_is_said(rejected: UUID, file: Path, settings: Any) -> None:
    anchors.append()
    Path(settings.ANCHOR_KEY_FILE).write_bytes(b"")

    with pytest.raises(Fatal, match="not a key in PEM"):
        Run(KEY, {}, None)


def test_a_damaged_line_before_the_last_one_stops_no_further_anchors(
    rejected: UUID, file: Path
) -> None:
    anchors.append()
    factories.applications(rejected, 1)
    anchors.append()
    _first, second = file.read_text().splitlines()
    file.write_text(f"damaged\n{second}\n")
    factories.applications(rejected, 1)

    assert anchors.append() == 1
    assert len(file.read_text().splitlines()) == 3
