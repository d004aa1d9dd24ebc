"""Catalogues are compiled when they have changed."""

from __future__ import annotations

import gettext
import os
from pathlib import Path

import pytest

from pipeline.config import catalogues

SOURCE = """
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"

msgid "Seat"
msgstr "{word}"
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A catalogue of one German word."""
    path = tmp_path / "de" / "LC_MESSAGES" / "django.po"
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE.format(word="Platz"))
    return path


def word(folder: Path) -> str:
    return gettext.translation("django", folder, ["de"], fallback=True).gettext("Seat")


def test_a_changed_catalogue_is_compiled_and_leaves_nothing_else(
    source: Path, tmp_path: Path
) -> None:
    catalogues.compile_stale(tmp_path)
    before = word(tmp_path)
    source.write_text(SOURCE.format(word="Sitz"))
    os.utime(source, ns=(source.stat().st_atime_ns, source.stat().st_mtime_ns + 10**9))
    gettext._translations.clear()  # type: ignore[attr-defined]

    catalogues.compile_stale(tmp_path)

    assert (before, word(tmp_path)) == ("Platz", "Sitz")
    assert {each.name for each in source.parent.iterdir()} == {"django.po", "django.mo"}


def test_an_unchanged_catalogue_is_left_alone(source: Path, tmp_path: Path) -> None:
    catalogues.compile_stale(tmp_path)
    compiled = source.with_suffix(".mo")
    compiled.write_bytes(b"as it is")

    catalogues.compile_stale(tmp_path)

    assert compiled.read_bytes() == b"as it is"
    assert catalogues.find_stale(tmp_path) == []


def test_a_catalogue_that_cannot_be_compiled_is_named(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(catalogues, "_compile", refuse)

    catalogues.compile_stale(tmp_path)

    assert catalogues.find_stale(tmp_path) == ["de"]
