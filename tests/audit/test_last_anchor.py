"""The end of the file of anchors: what its last line is, and whether a log has grown since."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from pipeline.audit import anchors
from pipeline.audit.anchors import BadAnchors, LastAnchor
from tests.audit.test_anchors import lines
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)

NOW = timedelta()


def end_of(file: Path, settings: Any) -> LastAnchor:
    return anchors.read_last(file, settings.ANCHOR_KEY_FILE)


def test_the_last_line_is_the_last_anchor(rejected: UUID, file: Path, settings: Any) -> None:
    anchors.append()
    factories.applications(rejected, 1)
    anchors.append()

    anchor, fault, is_cut_off = end_of(file, settings)

    assert anchor
    assert (anchor.job_id, anchor.seq) == (rejected, lines(file)[-1]["seq"])
    assert (fault, is_cut_off) == ("", False)


@pytest.mark.usefixtures("rejected")
def test_a_line_that_lacks_only_its_end_is_whole(file: Path, settings: Any) -> None:
    anchors.append()
    before = end_of(file, settings)
    file.write_bytes(file.read_bytes().rstrip(b"\n"))

    assert end_of(file, settings) == before


@pytest.mark.parametrize("left", [1, 0])
def test_half_a_line_is_named_and_the_one_before_it_counts(
    rejected: UUID, file: Path, settings: Any, left: int
) -> None:
    anchors.append()
    factories.applications(rejected, 1)
    anchors.append()
    first, second = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(first * left + second[:40])

    anchor, fault, is_cut_off = end_of(file, settings)

    assert (anchor.seq if anchor else None) == (json.loads(first)["seq"] if left else None)
    assert (fault, is_cut_off) == ("", True)


@pytest.mark.usefixtures("rejected")
def test_a_forged_line_an_empty_file_and_no_file_are_told_apart(file: Path, settings: Any) -> None:
    anchors.append()
    whole = file.read_text()

    file.write_text(whole.replace('"seq":', '"seq":1'))
    assert end_of(file, settings) == (None, "is not signed with this key", False)
    file.write_text("")
    assert end_of(file, settings) == (None, "", False)
    file.unlink()
    with pytest.raises(BadAnchors, match="No such file"):
        end_of(file, settings)


def test_a_log_that_grew_after_the_last_anchor_is_noticed(
    rejected: UUID, file: Path, settings: Any
) -> None:
    assert anchors.logs_grew(None, before=NOW)
    anchors.append()
    last = end_of(file, settings).anchor

    assert not anchors.logs_grew(last, before=NOW)
    factories.applications(rejected, 1)
    assert anchors.logs_grew(last, before=NOW)
    assert not anchors.logs_grew(last, before=timedelta(hours=1))
