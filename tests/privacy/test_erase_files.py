"""Erasing a person removes them from every file and from what imports refused."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from uuid_utils.compat import uuid7

from applicants.models import Applicant
from pipeline.domain.errors import StoredFileNotFound
from pipeline.files import stored as write
from pipeline.files.imports.admitting import admit_rows
from pipeline.files.imports.reading import unread_file_may_hold
from pipeline.files.imports.rows import decode_part
from pipeline.files.stored import FileWriter
from pipeline.models import ImportRefusal, ImportRun, StoredFile, StoredPart
from pipeline.privacy import erase
from pipeline.privacy import erase as erasing
from pipeline.privacy.erase import erase_person
from tests.files.imports.files import as_csv, imported, stored, unread
from tests.support import factories
from tests.support.together import started, together, wait_until_somebody_waits_for_a_lock

pytestmark = pytest.mark.django_db(transaction=True)

EMAIL = "zelda.quill@example.org"


@pytest.fixture(autouse=True)
def _own_mailbox(settings: Any, tmp_path: Any) -> None:
    settings.DEV_MAIL_FOLDER = tmp_path


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.files.imports.reading.ROWS_IN_PART", 2)


@pytest.fixture
def zelda() -> factories.Applicant:
    return factories.applicant(email=EMAIL, name="Zelda")


def export(job_id: UUID, *lines: str, finished: bool = True) -> FileWriter:
    writer = FileWriter.begin(
        file_id=uuid7(),
        company_id=factories.row_of(job_id).company_id,
        job_id=job_id,
        task_id=None,
        name="applications.csv",
        content_type="text/csv",
    )
    for line in lines:
        writer.write(f"{line}\n".encode())
    if finished:
        writer.finish(rows=len(lines))
    return writer


def everything_in(table: str) -> str:
    """All that a table has, as text."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT coalesce(string_agg(t::text, ' '), '') FROM {table} t")
        text: str = cursor.fetchone()[0]
    return text.lower()


def test_rows_that_wait_are_blanked_however_the_address_is_written_and_others_stay(
    zelda: factories.Applicant,
) -> None:
    rows = [("Ana", "ana@x.org"), ("Z", "Zelda.Quill@Example.org"), ("Z", f"mail: {EMAIL}; home")]
    rows += [(f"({EMAIL.upper()})", "z@x.org"), ("D", f"no.{EMAIL}"), ("E", f"{EMAIL}.uk")]
    import_id = stored(factories.job(), as_csv(rows))

    erase_person(applicant_id=zelda.id)

    parts = StoredPart.objects.filter(file_id=import_id).order_by("number")
    left = [row for part in parts for row in decode_part(bytes(part.data))]
    assert [row.name for row in left] == ["Ana", "", "", "", "D", "E"]
    assert [row.refusal for row in left] == [None, "ERASED", "ERASED", "ERASED", None, None]
    assert [row.number for row in left] == [2, 3, 4, 5, 6, 7]


def test_a_file_that_no_worker_has_read_yet_is_blanked_too(zelda: factories.Applicant) -> None:
    with_her = unread(factories.job(), as_csv([("Z", EMAIL.upper()), ("Ana", "ana@x.org")]))
    without = unread(factories.job(), as_csv([("Ana", "ana@x.org")]))

    erase_person(applicant_id=zelda.id)

    run = admit_rows(with_her)
    assert (run.accepted, run.refused) == (1, 1)
    assert not ImportRun.objects.get(file_id=without).is_read
    assert EMAIL.lower() not in everything_in("pipeline_importrefusal")
    assert EMAIL.lower() not in everything_in("pipeline_storedpart")


@pytest.mark.parametrize(
    ("address", "written"),
    [
        ("zelda@xn--bcher-kva.example", "Zelda@BÜCHER.example"),
        ("zelda@xn--strae-oqa.example", "zelda@straße.example"),
        (EMAIL, '"zelda.quill"@example.org'),
        (EMAIL, '"zelda\\.quill"@example.org'),
        (EMAIL, EMAIL.translate({ord("@"): "\uff20", ord("q"): "\uff31"})),
        (EMAIL, "zelda.quill@example\u3002org"),
        (EMAIL, "zelda.quill@exam\u034fple.org"),
    ],
)
def test_no_waiting_file_brings_an_erased_person_back_however_it_writes_the_address(
    address: str, written: str
) -> None:
    person = factories.applicant(email=address)
    waiting = unread(factories.job(), as_csv([("Zelda Quill", written), ("Ana", "ana@x.org")]))

    erase_person(applicant_id=person.id)
    run = admit_rows(waiting)

    assert (run.accepted, run.refused) == (1, 1)
    assert not Applicant.objects.filter(email=address).exists()
    assert "zelda" not in everything_in("pipeline_application").lower()
    assert "zelda" not in everything_in("pipeline_importrefusal").lower()


def test_what_was_refused_is_blanked(zelda: factories.Applicant) -> None:
    run = imported(
        factories.job(), as_csv([("", EMAIL), ("Zelda", f"{EMAIL} (work)"), ("", f"a{EMAIL}")])
    )

    erase_person(applicant_id=zelda.id)

    rows = ImportRefusal.objects.filter(run=run).order_by("row")
    assert list(rows.values_list("name", "email", "reason")) == [
        ("", "", "ERASED"),
        ("", "", "ERASED"),
        ("", f"a{EMAIL}", "NO_NAME"),
    ]


def test_no_table_of_files_holds_the_address_afterwards(zelda: factories.Applicant) -> None:
    job_id = factories.job()
    factories.application(job_id, zelda)
    imported(job_id, as_csv([("", EMAIL), ("Zelda", EMAIL)]))
    stored(job_id, as_csv([("Zelda", EMAIL)]), name=f"{EMAIL.title()}.csv")
    export(job_id, f"1,Zelda,{EMAIL}")

    erase_person(applicant_id=zelda.id)

    for table in ("pipeline_storedfile", "pipeline_storedpart", "pipeline_importrefusal"):
        assert EMAIL not in everything_in(table)
        assert EMAIL.encode().hex() not in everything_in(table)


def test_a_file_made_for_the_company_goes_if_the_person_is_in_it(
    zelda: factories.Applicant,
) -> None:
    job_id = factories.job()
    factories.application(job_id, zelda)
    company_id = factories.row_of(job_id).company_id
    theirs, similar = export(job_id, f"1,Zelda,{EMAIL}"), export(job_id, f"2,Not Zelda,no.{EMAIL}")

    erase_person(applicant_id=zelda.id)

    with pytest.raises(StoredFileNotFound):
        write.read(company_id, theirs.file_id)
    assert write.read(company_id, similar.file_id)


def test_a_file_that_is_being_written_is_begun_again(zelda: factories.Applicant) -> None:
    job_id = factories.job()
    factories.application(job_id, zelda)
    writer = export(job_id, f"1,Zelda,{EMAIL}", finished=False)

    erase_person(applicant_id=zelda.id)

    with pytest.raises(StoredFileNotFound):
        writer.finish(rows=1)
    assert not StoredFile.objects.exists()


def test_an_address_with_characters_that_files_write_differently_is_found() -> None:
    email = '"z q"@example.org'
    person, job_id = factories.applicant(email=email), factories.job()
    factories.application(job_id, person)
    export(job_id, '1,Z,"""z q""@example.org"')
    export(job_id, '{"email":"\\"z q\\"@example.org"}')
    import_id = stored(job_id, as_csv([("Z", email)]))

    erase_person(applicant_id=person.id)

    assert not StoredFile.objects.filter(purpose="EXPORT").exists()
    (part,) = StoredPart.objects.filter(file_id=import_id)
    assert decode_part(bytes(part.data))[0].refusal == "ERASED"


def test_a_part_that_is_just_being_kept_goes_with_its_file(
    zelda: factories.Applicant, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = factories.job()
    factories.application(job_id, zelda)
    writer = export(job_id, f"1,Zelda,{EMAIL}", finished=False)
    keep = write.write_parts

    with ExitStack() as until_then:
        answers: list[list[object]] = []

        def keep_late(*given: Any) -> None:
            erased = started(lambda: erase_person(applicant_id=zelda.id))
            answers.append(until_then.enter_context(erased))
            keep(*given)
            assert together([wait_until_somebody_waits_for_a_lock]) == [None]

        monkeypatch.setattr(write, "write_parts", keep_late)
        with suppress(StoredFileNotFound):
            writer.finish(rows=1)

    assert answers == [[1]]
    assert not StoredFile.objects.exists()
    assert not StoredPart.objects.exists()


@pytest.mark.parametrize(("give", "table"), [(stored, StoredPart), (imported, ImportRefusal)])
def test_what_has_just_expired_need_not_be_blanked(
    give: Any, table: Any, zelda: factories.Applicant, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(factories.job(), as_csv([("", EMAIL)]))
    assert table.objects.count() == 1

    class Expiring:
        """Once a row was read, retention removes it."""

        def search(self, text: str) -> bool:
            table.objects.all().delete()
            return True

    monkeypatch.setattr(erase, "_erased_file_pattern", lambda address: Expiring())

    assert erase_person(applicant_id=zelda.id) == 0


def test_an_export_that_begins_meanwhile_reads_what_erasing_has_left(
    zelda: factories.Applicant, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id, remove_answers = factories.job(), erasing._remove_answers
    factories.application(job_id, zelda)

    def written() -> None:
        writer = export(job_id, finished=False)
        writer.write(factories.Applicant.objects.get(id=zelda.id).email.encode())
        writer.finish(rows=1)

    with ExitStack() as until_then:

        def remove_late(*given: Any) -> None:
            until_then.enter_context(started(written))
            assert together([wait_until_somebody_waits_for_a_lock]) == [None]
            remove_answers(*given)

        monkeypatch.setattr(erasing, "_remove_answers", remove_late)
        erase_person(applicant_id=zelda.id)

    (part,) = StoredPart.objects.all()
    assert bytes(part.data).decode() == f"erased:{zelda.id}"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_an_address_is_found_in_an_unread_file_of_any_encoding(encoding: str) -> None:
    unread(factories.job(), "name,email\nAda,<ada@x.org>\n".encode(encoding))
    run = ImportRun.objects.select_related("file").get()

    assert unread_file_may_hold(run, "ada@x.org")
    assert not unread_file_may_hold(run, "bo@x.org")
