"""Reading the file: what spreadsheets write, and what is refused with words that help."""

from __future__ import annotations

import time
from contextlib import suppress
from itertools import chain
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from pipeline.domain.errors import ImportFileRefused
from pipeline.files.imports import reading
from pipeline.files.imports.reading import read_csv_rows
from pipeline.files.imports.rows import ImportRow, Refusal, decode_part

ANA = ImportRow(2, "Ana", "ana@example.org")


def read(content: bytes) -> list[ImportRow]:
    return list(read_csv_rows([content]))


@pytest.mark.parametrize(
    "content",
    [
        b"name,email\nAna,ana@example.org\n",
        b"name,email\r\nAna,ana@example.org\r\n",
        b"name,email\rAna,ana@example.org\r",
        b"name,email\nAna,ana@example.org",
        b"\xef\xbb\xbfname,email\nAna,ana@example.org\n",
        b"EMAIL;Name\nANA@example.org;Ana\n",
        b"e-mail\tfull name\nana@example.org\tAna\n",
        b'"Email","Name"\n ana@example.org , Ana \n',
        b"id,name,phone,Email Address\n7,Ana,1,Ana@Example.org\n",
        b"name,email\nAna,ana@example.org\n,\n\n",
    ],
)
def test_what_spreadsheets_write_is_read(content: bytes) -> None:
    assert read(content) == [ANA]


@pytest.mark.parametrize(
    "content",
    [
        b"(" * 32_000,
        b"the " * 16_000,
        b"name,email\nAna," + b"a" * 64_000,
    ],
    ids=["brackets", "words before a name", "no address"],
)
def test_a_cell_as_long_as_can_be_is_read_in_no_time(content: bytes) -> None:
    begun = time.process_time()

    with suppress(ImportFileRefused):
        read(content)

    assert time.process_time() - begun < 2  # without a limit: 9 to 25 seconds


def test_quoted_cells_may_hold_anything_and_rows_are_counted_as_a_spreadsheet_does() -> None:
    rows = read(b'name,email\n"Brown, ""Ana""",a@example.org\n,\n"A\nB",b@example.org\nC,c@x.org\n')

    assert rows == [
        ImportRow(2, 'Brown, "Ana"', "a@example.org"),
        ImportRow(4, "A B", "b@example.org", Refusal.BAD_NAME),
        ImportRow(5, "C", "c@x.org"),
    ]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (",a@example.org", Refusal.NO_NAME),
        ("Ana", Refusal.NO_EMAIL),
        ("Ana,", Refusal.NO_EMAIL),
        (f"{'n' * 201},a@example.org", Refusal.NAME_TOO_LONG),
        ("A\x07na,a@example.org", Refusal.BAD_NAME),
        (f"Ana,{'a' * 400}@example.org", Refusal.BAD_EMAIL),
        ("Ana Again,FIRST@example.org", Refusal.DUPLICATE),
    ],
)
def test_a_row_is_refused_for_what_the_file_alone_shows(row: str, why: Refusal) -> None:
    rows = read(f"name,email\nFirst,first@example.org\n{row}\n".encode())

    assert [one.refusal for one in rows] == [None, why]


def test_a_row_below_a_refused_one_with_the_same_address_is_no_duplicate() -> None:
    rows = read(b"name,email\n,ana@example.org\nAna,ana@example.org\n")

    assert [row.refusal for row in rows] == [Refusal.NO_NAME, None]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "The file is empty"),
        (b"\n", "The file is empty"),
        (b"name,email\n", "no rows below"),
        (b"name,email\n,\n\n", "no rows below"),
        (b"Ana,ana@example.org\n", "names no known columns"),
        (b"name,phone\nAna,1\n", "no column “email”"),
        (b"email\nana@example.org\n", "no column “name”"),
        (b"name,email,email\nAna,a@x.org,b@x.org\n", "names a column twice"),
        ("name,email\nJosé,a@x.org\n".encode("latin-1"), "not a text file in UTF-8"),
        ("name,email\nAna,a@x.org\n".encode("utf-16-le"), "not a text file in UTF-8"),
        (b"PK\x03\x04\x14\x00\x06\x00", "not a text file in UTF-8"),
        (b'name,email\n"Ana,a@x.org\n', "Row 2, column “name”: a quotation mark"),
        (b'name,email\nAna,a@x.org\n"A"na,b@x.org\n', "Row 3, column “name”: a quotation mark"),
        (b"name,email\n" + b"x" * 70_000, "A line of the file does not end"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_words_that_help(
    content: bytes, words: str
) -> None:
    with pytest.raises(ImportFileRefused, match=words):
        read(content)


def test_more_rows_than_allowed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_ROWS", 3)
    rows = [b"A,a%d@x.org\n" % n for n in range(4)]
    assert len(list(read_csv_rows([b"name,email\n", *rows[:3]]))) == 3

    with pytest.raises(ImportFileRefused, match="more than 3 rows"):
        list(read_csv_rows([b"name,email\n", *rows]))


def test_a_larger_file_than_allowed_is_refused_before_it_is_read_to_its_end() -> None:
    taken = []

    def endless() -> chain[bytes]:
        return chain([b"name,email\n"], (taken.append(n) or b"A,\n" * 2**18 for n in range(10**6)))

    with pytest.raises(ImportFileRefused, match=r"larger than 16 MB|more than 100,000 rows"):
        list(read_csv_rows(endless()))

    assert len(taken) < 100


@settings(max_examples=15, deadline=None)
@given(
    rows=some.lists(
        some.tuples(
            some.text(some.characters(codec="utf-8", exclude_categories=["C", "Z"])).filter(
                lambda name: any(each.isalnum() for each in name)
            ),
            some.integers(0, 10**6),
        ),
        min_size=1,
        max_size=20,
    ),
    size=some.integers(1, 40),
)
def test_however_the_bytes_come_the_rows_are_the_same_and_survive_being_stored(
    rows: list[tuple[str, int]], size: int
) -> None:
    quoted = [(name.replace('"', '""'), n) for name, n in rows]
    text = "name,email\n" + "".join(f'"{name}",{n}@x.org\n' for name, n in quoted)
    content = text.encode()

    whole = read(content)
    pieces = list(read_csv_rows(content[at : at + size] for at in range(0, len(content), size)))

    assert pieces == whole
    assert decode_part(b"".join(row.as_line() for row in whole)) == whole
    assert [row.name for row in whole] == [normalize("NFC", name)[:200] for name, _ in rows]
