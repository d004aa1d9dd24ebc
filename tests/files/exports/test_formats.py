"""CSV for spreadsheets: nothing in it is a formula, and it comes back as it was."""

from __future__ import annotations

import csv
import io
import re
import time
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some

from pipeline.files.exports import defused_csv_text, formatted_csv_lines, undo_defused_csv_text
from pipeline.files.imports.reading import read_csv_rows

SIGNS = "=+-@\t\r＝＋－＠"  # noqa: RUF001
SEPARATORS = [",", ";", "\t", "|", "\n", "\r"]
# Mostly characters that matter here.
TEXT = some.text(some.sampled_from(f"{SIGNS},;|\n'\" aé\u00a0") | some.characters(codec="utf-8"))


def as_file(*texts: str) -> str:
    rows = [{"name": text, "note": text} for text in texts]
    return "".join(formatted_csv_lines(("name", "note"), rows))


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(text=TEXT)
@example(text="Ann;=HYPERLINK(A1);x")
@example(text='x;"=1+1"')
@example(text="a,＝1")  # noqa: RUF001
@example(text="'-Amina")
@example(text="a;' =1")
def test_wherever_a_spreadsheet_splits_a_file_no_cell_begins_a_formula(text: str) -> None:
    whole = as_file(text)

    for separator in SEPARATORS:
        cells = [cell for line in whole.split("\r\n") for cell in line.split(separator)]
        assert not [cell for cell in cells if cell.strip('"\u00a0 ').startswith(tuple(SIGNS))]
    for separator in ",;\t|":
        rows = csv.reader(io.StringIO(whole, newline=""), delimiter=separator)
        assert not [cell for row in rows for cell in row if cell.strip().startswith(tuple(SIGNS))]


@settings(max_examples=400, deadline=None)
@given(text=TEXT)
@example(text="'-Amina")
@example(text="''=Ana")
@example(text="a,\t=b")
@example(text=";';'=")
def test_whatever_the_text_it_can_be_read_back(text: str) -> None:
    (_, row) = csv.reader(io.StringIO(as_file(text), newline=""), strict=True)

    assert [undo_defused_csv_text(cell) for cell in row] == [text, text]


NAME = some.text(
    some.sampled_from("=+-@,;|'\" ")
    | some.characters(codec="utf-8", exclude_categories=["C", "Z"]),
    min_size=1,
    max_size=200,
)


def is_a_name(text: str) -> bool:
    """Tell whether a text of those characters has something to read."""
    return any(unicodedata.category(each)[0] in "LNS" for each in text)


@settings(max_examples=200, deadline=None)
@given(name=NAME.map(str.strip).filter(is_a_name))
@example(name="'-Amina")
@example(name="=Ana")
@example(name="Ann;=HYPERLINK(A1);x")
@example(name="Koch, -ing")
def test_a_name_that_is_exported_and_imported_again_is_the_same(name: str) -> None:
    rows = [{"name": name, "email": "a@example.org"}]
    content = "".join(formatted_csv_lines(("name", "email"), rows)).encode()

    (row,) = read_csv_rows([content])

    assert (row.name, row.refusal) == (unicodedata.normalize("NFC", name), None)


@pytest.mark.parametrize(
    ("value", "cell"),
    [(None, ""), (True, "true"), (-5, "-5"), (1.5, "1.5"), ("Zoë", '"Zoë"'), ("", '""')],
)
def test_text_is_quoted_and_numbers_are_not(value: object, cell: str) -> None:
    line = list(formatted_csv_lines(("it",), [{"it": value}]))[1]

    assert line == f"{cell}\r\n"


def test_a_file_for_people_begins_with_the_mark_that_excel_looks_for() -> None:
    for_people, for_programs = (
        "".join(formatted_csv_lines(("name",), [], for_people=each)).encode()
        for each in (True, False)
    )

    assert for_people == b"\xef\xbb\xbfname\r\n"
    assert for_programs == b"name\r\n"


@pytest.mark.parametrize("piece", ["\n", '\t""', ",'", " '\n", ";' "])
def test_a_text_of_nothing_but_separators_is_defused_in_no_time(piece: str) -> None:
    text = piece * (60_000 // len(piece))
    begun = time.process_time()

    assert undo_defused_csv_text(defused_csv_text(text)) == text

    assert time.process_time() - begun < 5  # if each run were read from each break: over a minute


def test_ordinary_texts_get_no_apostrophe() -> None:
    for text in ("O'Neil, Ana-Maria", "a+b@example.org", "2026-01-31T12:00:00Z", "Koch (m/w/d)"):
        assert defused_csv_text(text) == text
        assert not re.search("''", defused_csv_text(text))
