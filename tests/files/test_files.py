"""Files in the database: written in parts that end where lines end, read part after part."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest
from django.db import connection
from uuid_utils.compat import uuid7

from pipeline.domain.errors import StoredFileNotFound
from pipeline.files import stored
from pipeline.files.stored import FileWriter, read_pieces
from pipeline.models import StoredFile, StoredPart

pytestmark = pytest.mark.django_db
COMPANY = uuid4()


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "PART_BYTES", 64)


def begin(file_id: UUID | None = None) -> FileWriter:
    return FileWriter.begin(
        file_id=file_id or uuid7(),
        company_id=COMPANY,
        job_id=uuid4(),
        task_id=None,
        name="line.csv",
        content_type="text/csv",
    )


def parts_of(file_id: UUID) -> list[bytes]:
    rows = StoredPart.objects.filter(file_id=file_id).order_by("number")
    return [bytes(data) for data in rows.values_list("data", flat=True)]


def in_pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[n : n + size] for n in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 7, 64, 1_000])
def test_a_file_comes_back_byte_for_byte_however_it_was_written(size: int) -> None:
    text = b"".join(b"%d,someone\n" % n for n in range(40)) + b"an end without a line end"
    writer = begin()

    for piece in in_pieces(text, size):
        writer.write(piece)
    file = writer.finish(rows=40)

    assert b"".join(read_pieces(file.id)) == text
    assert (file.size_bytes, file.rows, file.is_complete) == (len(text), 40, True)


def test_parts_are_small_and_end_where_lines_end() -> None:
    writer = begin()

    writer.write(b"".join(b"%d,someone\n" % n for n in range(40)))
    file = writer.finish(rows=40)

    parts = parts_of(file.id)
    assert len(parts) > 5
    assert all(part.endswith(b"\n") and len(part) <= 64 for part in parts)


def test_a_line_longer_than_a_part_stays_whole() -> None:
    writer = begin()

    writer.write(b"a" * 40)
    writer.write(b"a" * 100 + b"\nb\n")
    file = writer.finish(rows=2)

    assert parts_of(file.id) == [b"a" * 140 + b"\n", b"b\n"]


def test_a_file_is_there_for_its_company_alone_and_only_once_it_is_complete() -> None:
    writer = begin()
    writer.write(b"a\n")
    with pytest.raises(StoredFileNotFound):
        stored.read(COMPANY, writer.file_id)

    writer.finish(rows=1)

    assert stored.read(COMPANY, writer.file_id).name == "line.csv"
    with pytest.raises(StoredFileNotFound):
        stored.read(uuid4(), writer.file_id)


def test_beginning_anew_removes_what_was_written_and_stops_who_wrote_it() -> None:
    first = begin()
    first.write(b"old\n" * 40)

    second = begin(first.file_id)
    second.write(b"new\n")
    with pytest.raises(StoredFileNotFound):
        first.finish(rows=40)

    assert b"".join(read_pieces(second.finish(rows=1).id)) == b"new\n"


def test_who_reads_a_file_that_goes_meanwhile_does_not_take_a_beginning_for_the_whole() -> None:
    writer = begin()
    writer.write(b"line\n" * 40)
    pieces = read_pieces(writer.finish(rows=40).id)
    next(pieces)

    StoredFile.objects.all().delete()

    with pytest.raises(StoredFileNotFound):
        list(pieces)


@pytest.mark.parametrize("lost", [1, -1])
def test_who_reads_a_file_of_which_a_part_has_gone_does_not_take_the_rest_for_the_whole(
    lost: int,
) -> None:
    writer = begin()
    writer.write(b"line\n" * 40)
    pieces = read_pieces(writer.finish(rows=40).id)
    numbers = StoredPart.objects.order_by("number").values_list("number", flat=True)

    StoredPart.objects.filter(number=list(numbers)[lost]).delete()

    with pytest.raises(StoredFileNotFound):
        list(pieces)


def test_data_that_is_written_is_not_kept_among_the_statements_of_the_connection() -> None:
    writer = begin()

    writer.write(b"a line of these\n" * 40)
    writer.finish(rows=40)

    assert not kept_texts_with_data()
    with connection.cursor() as cursor:
        cursor.execute("PREPARE control AS SELECT 'a line of these'")
        assert kept_texts_with_data()
        cursor.execute("DEALLOCATE control")


def kept_texts_with_data() -> list[str]:
    """The texts of prepared statements that hold a line of the file."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        texts = [text for (text,) in cursor.fetchall()]
    return [text for text in texts if "a line" in text or b"a line".hex() in text]
