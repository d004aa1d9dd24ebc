"""Files as real tools and people write them: taken as meant, or refused with the cure."""

from __future__ import annotations

import pytest
from django.utils.translation import _trans  # type: ignore[attr-defined]

from pipeline.domain.errors import ImportFileRefused
from pipeline.files.imports.columns import HOW, KNOWN
from pipeline.files.imports.reading import check_csv_start, open_csv
from pipeline.files.imports.results import describe_refusal
from pipeline.files.imports.rows import LEFT_WORDS, Refusal

ADA, BO = ("Ada Bek", "ada@x.org"), ("Bo Li", "bo@x.org")
BOTH = [ADA, BO]

TAKEN: dict[str, str | bytes] = {
    # first and last names apart
    "Outlook": "First Name,Middle Name,Last Name,E-mail Address,E-mail 2 Address\n"
    "Ada,,Bek,ada@x.org,old@x.org\nBo,,Li,bo@x.org,\n",
    "LinkedIn": 'Notes:\n"When exporting, ""some"" addresses, may be missing."\n\n'
    "First Name,Last Name,URL,Email Address,Company\n"
    "Ada,Bek,https://in/ada,ada@x.org,X\nBo,Li,https://in/bo,bo@x.org,Y\n",
    "Google Contacts, old": "Name,Given Name,Additional Name,Family Name,E-mail 1 - Type,"
    "E-mail 1 - Value\nAda Bek,Ada,,Bek,* Home,ada@x.org\nBo Li,Bo,,Li,* Home,bo@x.org\n",
    "Google Contacts, new": "First Name,Middle Name,Last Name,E-mail 1 - Label,E-mail 1 - Value\n"
    "Ada,,Bek,Home,ada@x.org\nBo,,Li,,bo@x.org\n",
    "Mailchimp": '"Email Address","First Name","Last Name",MEMBER_RATING\n'
    '"ada@x.org","Ada","Bek",2\n"bo@x.org","Bo","Li",2\n',
    "Teamtailor": "first_name,last_name,email,phone\nAda,Bek,ada@x.org,1\nBo,Li,bo@x.org,2\n",
    "Greenhouse": "Candidate First Name,Candidate Last Name,Candidate Email\n"
    "Ada,Bek,ada@x.org\nBo,Li,bo@x.org\n",
    "Lever": "Candidate Name,Candidate Email,Stage\nAda Bek,ada@x.org,Lead\nBo Li,bo@x.org,Lead\n",
    "Workable": "Applicant Name,Mail\nAda Bek,ada@x.org\nBo Li,bo@x.org\n",
    "Moodle": "First name,Surname,Email address\nAda,Bek,ada@x.org\nBo,Li,bo@x.org\n",
    "Eventbrite": "Attendee First Name,Attendee Surname,Attendee Email\n"
    "Ada,Bek,ada@x.org\nBo,Li,bo@x.org\n",
    "Gravity Forms": '"Name (First)","Name (Last)",Email\nAda,Bek,ada@x.org\nBo,Li,bo@x.org\n',
    "a program's own names": "firstName,lastName,emailAddress\nAda,Bek,ada@x.org\nBo,Li,bo@x.org\n",
    "LDAP": "givenName\tsurname\tmail\nAda\tBek\tada@x.org\nBo\tLi\tbo@x.org\n",
    "German": "Vorname;Nachname;E-Mail-Adresse\nAda;Bek;ada@x.org\nBo;Li;bo@x.org\n",
    "German, with Name for the last one": "Name;Vorname;E-Mail\n"
    "Bek;Ada;ada@x.org\nLi;Bo;bo@x.org\n",
    "French": "Nom;Prénom;Adresse e-mail\nBek;Ada;ada@x.org\nLi;Bo;bo@x.org\n",
    "French, whole": "Nom complet;Courriel\nAda Bek;ada@x.org\nBo Li;bo@x.org\n",
    "Spanish": "Nombre;Apellidos;Correo electrónico\nAda;Bek;ada@x.org\nBo;Li;bo@x.org\n",
    "Polish": "Imię;Nazwisko;Adres e-mail\nAda;Bek;ada@x.org\nBo;Li;bo@x.org\n",
    "Polish, whole": "Imię i nazwisko;E-mail\nAda Bek;ada@x.org\nBo Li;bo@x.org\n",
    "Portuguese": "Nome;Sobrenome;E-mail\nAda;Bek;ada@x.org\nBo;Li;bo@x.org\n",
    "Portuguese, whole": "Nome completo;Endereço de email\nAda Bek;ada@x.org\nBo Li;bo@x.org\n",
    "Italian": "Nome;Cognome;Indirizzo email\nAda;Bek;ada@x.org\nBo;Li;bo@x.org\n",
    "Dutch": "Voornaam;Tussenvoegsel;Achternaam;E-mailadres\nAda;;Bek;ada@x.org\nBo;;Li;bo@x.org\n",
    "Swedish": "Förnamn;Efternamn;E-postadress\nAda;Bek;ada@x.org\nBo;Li;bo@x.org\n",
    "Turkish": "Ad;Soyad;E-posta\nAda;Bek;ada@x.org\nBo;Li;bo@x.org\n",
    "whole name beside the first": "First Name,Name,Email\n"
    "Ada,Ada Bek,ada@x.org\nBo,Bo Li,bo@x.org\n",
    "whole name empty": "Full Name,First Name,Last Name,Email\n,Ada,Bek,ada@x.org\n"
    ",Bo,Li,bo@x.org\n",
    # names of columns
    "full_name": "full_name,email\nAda Bek,ada@x.org\nBo Li,bo@x.org\n",
    "required": "Name*,E-mail *\nAda Bek,ada@x.org\nBo Li,bo@x.org\n",
    "required in words": "Name (required),Email [required]\nAda Bek,ada@x.org\nBo Li,bo@x.org\n",
    "colons": "Name:,Email:\nAda Bek,ada@x.org\nBo Li,bo@x.org\n",
    "Google Forms": "Timestamp,Email Address,What is your name?\n"
    "2026/01/01,ada@x.org,Ada Bek\n2026/01/02,bo@x.org,Bo Li\n",
    "Microsoft Forms": "ID;Start time;Email;Name;Shift\n"
    "1;t;ada@x.org;Ada Bek;a\n2;t;bo@x.org;Bo Li;b\n",
    "capitals and blanks": '  NAME , "E-MAIL" \nAda Bek,ada@x.org\nBo Li,bo@x.org\n',
    "a line break in a name of a column": 'Name,"Email\n(work)"\n'
    "Ada Bek,ada@x.org\nBo Li,bo@x.org\n",
    "unseen letters in names of columns": "\u200bna\u200bme,email\u200b\n"
    "Ada Bek,ada@x.org\nBo Li,bo@x.org\n",
    "pipes": "name|email\nAda Bek|ada@x.org\nBo Li|bo@x.org\n",
    # above the columns
    "sep=": "sep=;\r\nname;email\r\nAda Bek;ada@x.org\r\nBo Li;bo@x.org\r\n",
    "SEP= and a tab": "SEP=\t\nname\temail\nAda Bek\tada@x.org\nBo Li\tbo@x.org\n",
    "blank lines first": "\n\n  \nname,email\nAda Bek,ada@x.org\nBo Li,bo@x.org\n",
    "blank cells first": ",,\n,,\nname,email,\nAda Bek,ada@x.org,\nBo Li,bo@x.org,\n",
    "a title first": "Applicants of spring; sorted by name\n\nName;E-Mail\nAda Bek;ada@x.org\n"
    "Bo Li;bo@x.org\n",
    # encodings and ends
    "UTF-8 with its mark": "\ufeffname,email\nAda Bek,ada@x.org\nBo Li,bo@x.org\n",
    "Excel's Unicode text": "name\temail\nAda Bek\tada@x.org\nBo Li\tbo@x.org\n".encode("utf-16"),
    "UTF-16, big end first": "\ufeffname,email\nAda Bek,ada@x.org\nBo Li,bo@x.org\n".encode(
        "utf-16-be"
    ),
    "UTF-32": "name,email\nAda Bek,ada@x.org\nBo Li,bo@x.org\n".encode("utf-32"),
    "the mark and sep=": "\ufeffsep=,\nname,email\nAda Bek,ada@x.org\nBo Li,bo@x.org\n",
    "old Mac": "name,email\rAda Bek,ada@x.org\rBo Li,bo@x.org\r",
    "CR CR LF": "name,email\r\r\nAda Bek,ada@x.org\r\r\nBo Li,bo@x.org\r\r\n",
    "ends of all kinds": "name,email\r\nAda Bek,ada@x.org\nBo Li,bo@x.org\r",
    # rows and cells
    "trailing empty cells and rows": "name,email,,,\n"
    "Ada Bek,ada@x.org,,,\nBo Li,bo@x.org,,,\n,,,,\n",
    "short rows": "name,email,phone,city\nAda Bek,ada@x.org\nBo Li,bo@x.org,1\n",
    "line breaks in other cells": "name,email,note\n"
    'Ada Bek,ada@x.org,"one\ntwo"\nBo Li,bo@x.org,\n',
    "angle brackets": "name,email\nAda Bek,<ada@x.org>\nBo Li,< bo@x.org >\n",
    "names beside addresses": "name,email\n"
    'Ada Bek,Ada Bek <ada@x.org>\nBo Li,"""Li, Bo"" <bo@x.org>"\n',
    "mailto": "name,email\nAda Bek,mailto:ada@x.org\nBo Li,MAILTO:bo@x.org?subject=Hi\n",
    "Outlook's recipients": "name,email\nAda Bek,'ada@x.org'\nBo Li,bo@x.org;\n",
    "zero-width ends": "name,email\nAda Bek,\u200bada@x.org\u200b\nBo Li,\u202abo@x.org\u202c\n",
    "no-break spaces": "name,email\nAda Bek,\u00a0ada@x.org\u00a0\nBo Li,bo@x.org\u2060\n",
    "capitals and wide letters": "name,email\nAda Bek,ADA@X.ORG\nBo Li,ｂｏ@x.org\n",  # noqa: RUF001
}


@pytest.mark.parametrize("shape", TAKEN)
def test_a_file_of_this_shape_is_taken(shape: str) -> None:
    given = TAKEN[shape]
    content = given if isinstance(given, bytes) else given.encode()

    check_csv_start(content)
    rows = list(open_csv([content])[1])

    assert [(row.name, row.email) for row in rows] == BOTH
    assert [row.refusal for row in rows] == [None, None]


ROW = "Row {}, column “{}”: ".format
SAVE = "In your spreadsheet, save the sheet as “CSV UTF-8” and choose that file."
REFUSED: dict[str, tuple[str | bytes, str]] = {
    "nothing": ("", f"The file is empty. {HOW}"),
    "blank lines": ("\n \n", f"The file is empty. {HOW}"),
    "no column names": (
        "Ada Bek,ada@x.org\n",
        f"The file names no known columns. Row 1 is “Ada Bek,ada@x.org”. {HOW}",
    ),
    "an unseen character among no column names": (
        "Ada\u200b Bek,ada@x.org\n",
        f"The file names no known columns. Row 1 is “Ada<U+200B> Bek,ada@x.org”. {HOW}",
    ),
    "no addresses": (
        "name,phone\nAda Bek,1\n",
        f"The file has no column “email”: row 1 names only the other. {KNOWN}",
    ),
    "no names": (
        "email,phone\nada@x.org,1\n",
        f"The file has no column “name”: row 1 names only the other. {KNOWN}",
    ),
    "two addresses": (
        "Name,Email,E-Mail\nAda Bek,a@x.org,b@x.org\n",
        "Row 1 names a column twice: “Email” and “E-Mail” both mean the email."
        " Rename the one that is not to be used.",
    ),
    "two names, below notes": (
        "Notes\n\nName,Full Name,Email\nAda,Ada Bek,a@x.org\n",
        "Row 3 names a column twice: “Name” and “Full Name” both mean the name."
        " Rename the one that is not to be used.",
    ),
    "Excel's plain CSV": (
        "name,email\nAda,a@x.org\nJosé,j@x.org\n".encode("cp1252"),
        "This is not a text file in UTF-8: in line 3, a letter is in another encoding, probably"
        f" Windows-1252. {SAVE}",
    ),
    "an old Mac's letters": (
        "name,email\nJosé,j@x.org\n".encode("mac_roman"),
        "This is not a text file in UTF-8: in line 2, a letter is in another encoding, probably"
        f" Mac Roman. {SAVE}",
    ),
    "UTF-16 without its mark": (
        "name,email\nAda,a@x.org\n".encode("utf-16-le"),
        f"This is not a text file in UTF-8. {SAVE}",
    ),
    "a new workbook": (
        b"PK\x03\x04\x14\x00",
        f"This is a workbook, not a text file in UTF-8. {SAVE}",
    ),
    "an old workbook": (
        b"\xd0\xcf\x11\xe0\xa1\xb1",
        f"This is a workbook, not a text file in UTF-8. {SAVE}",
    ),
    "a web page called .xls": (
        "<table><tr><td>name</td></tr></table>",
        "This is not a CSV file but web page or XML. Save the list as “CSV UTF-8”.",
    ),
    "JSON": (
        '[{"name": "Ada", "email": "a@x.org"}]',
        "This is not a CSV file but JSON. Save the list as “CSV UTF-8”.",
    ),
    "a nickname in bare quotes": (
        'name,email\nAda,a@x.org\n"Bob" Ray,b@x.org\n',
        ROW(3, "name") + 'a quotation mark inside the cell is not doubled. Write it twice (""),'
        " and put the whole cell in quotation marks.",
    ),
    "MySQL": (
        'name,email,note\nAda,a@x.org,"say \\"hi\\" twice"\n',
        ROW(2, "note") + 'a quotation mark is written as \\", as MySQL does. Export the file with'
        ' doubled quotation marks ("").',
    ),
    "quotes that never close": (
        'name,email\nAda,"a@x.org\nBo,b@x.org\n',
        ROW(2, "email")
        + "a quotation mark at the start of the cell is never closed. Close it, or remove it.",
    ),
    "only column names": ("name,email\n", "The file has no rows below the column names."),
}


@pytest.mark.parametrize("shape", REFUSED)
def test_a_file_of_this_shape_is_refused_with_the_place_and_the_cure(shape: str) -> None:
    given, sentence = REFUSED[shape]

    with pytest.raises(ImportFileRefused) as refused:
        list(open_csv([given if isinstance(given, bytes) else given.encode()])[1])

    assert str(refused.value) == sentence


def test_every_refusal_is_marked_for_translation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_trans, "gettext", lambda text: f"*{text}")
    refused = []
    for given, _ in REFUSED.values():
        with pytest.raises(ImportFileRefused) as error:
            list(open_csv([given if isinstance(given, bytes) else given.encode()])[1])
        refused.append(str(error.value))
    words = [describe_refusal(each, "", {}) for each in Refusal]
    left = [str(each) for each in LEFT_WORDS.values()]

    assert not [text for text in (*refused, *words, *left) if not text.startswith("*")]


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (",,a@x.org", "The row has no name. Enter one in the column “Vorname” or “Name”."),
        ("Ada,Bek,", "The row has no email address. Enter one in the column “E-Mail”."),
        (
            "Ada,Bek,a@x.org; b@x.org",
            "“a@x.org; b@x.org” is more than one email address. Keep one of them in the column"
            " “E-Mail”.",
        ),
        (
            "Ada,Bek,a@x.org b@x.org",
            "“a@x.org b@x.org” is more than one email address. Keep one of them in the column"
            " “E-Mail”.",
        ),
    ],
)
def test_a_row_is_refused_with_the_cell_and_the_cure(row: str, sentence: str) -> None:
    columns, rows = open_csv([f"Vorname,Name,E-Mail\n{row}\n".encode()])
    (read,) = rows

    assert read.refusal
    assert describe_refusal(read.refusal, read.email, columns.described()) == sentence


def test_an_address_that_looks_perfect_is_shown_with_what_nobody_sees() -> None:
    columns, _ = open_csv([b"name,email\nA,a@x.org\n"])

    words = describe_refusal(Refusal.BAD_EMAIL, "a\u200bda@x.org", columns.described())

    assert words == (
        "“a<U+200B>da@x.org” is not an email address. Enter an email address, like"
        " name@example.org, in the column “email”."
    )


def test_at_least_sixty_shapes_are_tried() -> None:
    assert len(TAKEN) + len(REFUSED) >= 60


def test_the_rows_below_notes_are_numbered_as_a_spreadsheet_numbers_them() -> None:
    content = b'sep=,\nNotes:\n"two\nlines"\n\nname,email\nAda,a@x.org\n'

    columns, rows = open_csv([content])

    assert (columns.row, [row.number for row in rows]) == (4, [5])
    assert columns.described() == {
        "row": 4,
        "name": ["name"],
        "email": "email",
        "external_id": "",
        "answers": [],
    }


def test_ids_of_a_file_are_read_but_not_those_of_an_export_of_other_applications() -> None:
    own = open_csv([b"name,email,External ID\nAda,a@x.org,crm-1\n"])[1]
    exported = open_csv([b"application_id,name,email,external_id\n7,Ada,a@x.org,crm-1\n"])[1]

    assert [row.external_id for row in (*own, *exported)] == ["crm-1", ""]
