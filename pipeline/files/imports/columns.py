"""Cells of an imported file, as people and their programs fill them. Pure."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from pipeline.domain.errors import ImportFileRefused
from pipeline.files.exports import undo_defused_csv_text

# Control and format characters (such as zero-width ones), and every kind of space.
_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
_NAME_AND_ADDRESS = re.compile(r"[^<>]*<([^<>]*)>[\s;,.]*")
_ADDRESSES = re.compile(r"[^\s<>,;|/]+@[^\s<>,;|/]+")


def extract_address(cell: str) -> str:
    """Return the address in a cell, without what programs write around it. It may be invalid.

    This takes off a name, angle brackets, quotation marks, `mailto:`, a separator at the end, and
    invisible characters at both ends.
    """
    text = _strip_unseen(cell)
    if found := _NAME_AND_ADDRESS.fullmatch(text):
        text = _strip_unseen(found[1])
    text = text.strip(";, ")
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    if text[:7].casefold() == "mailto:":
        text = text[7:].partition("?")[0]
    return _strip_unseen(text)


def has_several_addresses(text: str) -> bool:
    """Tell whether a cell holds more than one address."""
    return len(_ADDRESSES.findall(text)) > 1


def visible_text(text: str) -> str:
    """Return a text with a code like <U+200B> for each character that nobody sees."""
    return "".join(
        f"<U+{ord(letter):04X}>"
        if letter != " " and unicodedata.category(letter) in _UNSEEN
        else letter
        for letter in text
    )


def _strip_unseen(text: str) -> str:
    first, last = 0, len(text)
    while first < last and unicodedata.category(text[first]) in _UNSEEN:
        first += 1
    while last > first and unicodedata.category(text[last - 1]) in _UNSEEN:
        last -= 1
    return text[first:last]


# Columns of an imported file: which line names them, and which of them are used. Pure.


# How many lines may stand at the top of a file, up to the one that names the columns.
MOST_TOP_LINES = 30
KNOWN = gettext_lazy(
    "Known names are “name”, “full name”, or “first name” and “last name”; and “email”, “e-mail”,"
    " “mail” or “email address”."
)
HOW = format_lazy(
    "{} {}",
    gettext_lazy("A line at the top must name the columns, like: name,email."),
    KNOWN,
)

FULL, GIVEN, MIDDLE, FAMILY = "name", "first name", "middle name", "last name"
EMAIL, EXTERNAL_ID, OWN_ID, SOURCE = "email", "external_id", "application_id", "source"

_DELIMITERS = ",;\t|"
_SEPARATOR_LINE = re.compile(r'\s*"?sep=([^\w"\s]|\t)"?\s*', re.IGNORECASE)
_TITLE_LENGTH = 80  # as shown
_LONGEST_TITLE = 300  # that can name a known column

# Names of columns as `_plain_title` writes them: in lower case, without accents and punctuation.
_TITLES = {
    FULL: """
        name/names/full name/fullname/complete name/display name/legal name/first and last name
        first name last name/name vollstandig/voller name/vollstandiger name/vor und nachname
        vorname nachname/vorname und nachname/nom/nom complet/nom et prenom/prenom et nom/nom prenom
        prenom nom/nombre/nombre completo/nombre y apellido/nombre y apellidos/imie i nazwisko
        imie nazwisko/nome/nome completo/nome e cognome/nome e sobrenome/naam/volledige naam/namn
        navn/fullt namn/fullt navn/fulde navn/jmeno a prijmeni/ad soyad/nimi
        """,
    GIVEN: """
        first name/firstname/first/fname/given name/givenname/forename/name first/vorname/rufname
        prenom/nombre de pila/primer nombre/imie/nome proprio/primeiro nome/voornaam/fornamn/fornavn
        jmeno/ad/etunimi/keresztnev
        """,
    MIDDLE: """
        middle name/middlename/middle/middle initial/additional name/name middle/zweiter vorname
        deuxieme prenom/segundo nombre/drugie imie/nome do meio/tussenvoegsel/mellannamn/mellemnavn
        mellomnavn
        """,
    FAMILY: """
        last name/lastname/last/lname/surname/family name/familyname/name last/nachname/familienname
        zuname/nom de famille/apellido/apellidos/nazwisko/sobrenome/apelido/apelidos/ultimo nome
        cognome/achternaam/efternamn/efternavn/etternavn/prijmeni/soyad/sukunimi/vezeteknev
        """,
    EMAIL: """
        email/e mail/mail/emails/email address/e mail address/mail address/email id/mail id/email 1
        e mail 1/email 1 value/e mail 1 value/emailadresse/e mail adresse/mailadresse/mail adresse
        email adresse/e mailadresse/adresse email/adresse e mail/adresse mail/courriel
        adresse courriel/adresse de courriel/adresse electronique/correo/correo electronico
        direccion de correo/direccion de correo electronico/direccion de email/adres e mail
        adres email/adres poczty elektronicznej/endereco de email/endereco de e mail
        endereco eletronico/indirizzo email/indirizzo e mail/posta elettronica/e mailadres
        emailadres/e post/epost/e postadress/e postadresse/sahkoposti/e posta/eposta
        """,
    EXTERNAL_ID: "external id/externalid",
    OWN_ID: "application id",
    SOURCE: "source/application source",
}
_ROLES = {
    title.strip(): role
    for role, titles in _TITLES.items()
    for title in re.split(r"[/\n]", titles)
    if title.strip()
}
# Words before a name that say whose it is: "Candidate Email", "What is your name?"
_WHOSE = frozenset(
    "what whats s is the your enter please candidate applicant contact person attendee participant"
    " guest member student employee primary bewerber kandidat candidat candidato kandydat ihr ihre"
    " dein deine votre".split()
)


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of a file, by their positions.

    The name is the cell at `full`, or else the cells at `parts`, joined. `shared` is the position
    of a column “name” beside one for first or last names: it holds the other part, or all.
    `row` is the number of the row that names the columns, as a spreadsheet counts.
    """

    delimiter: str
    titles: Sequence[str]
    row: int
    email: int
    full: int | None = None
    parts: tuple[int, ...] = ()
    shared: int | None = None
    external_id: int | None = None
    source: int | None = None
    # Columns of questions, each with the question's key.
    questions: tuple[tuple[int, str], ...] = ()

    def answers_in(self, cells: Sequence[str]) -> dict[str, str] | None:
        """Return the filled cells of questions in a row of the file, by key."""
        found = {key: text for at, key in self.questions if (text := read_cell(cells, at))}
        return found or None

    def name_in(self, cells: Sequence[str]) -> str:
        """Return the name in a row of the file."""
        if self.full is not None and (name := read_cell(cells, self.full)):
            return name
        parts = [part for at in self.parts if (part := read_cell(cells, at))]
        if self.shared is not None:
            whole = read_cell(cells, self.shared)
            if {word for part in parts for word in part.split()} <= set(whole.split()):
                return whole  # "Ana", "Ana Brown"
        return " ".join(parts)

    def described(self) -> dict[str, Any]:
        """Return how the columns were understood, for people. It holds no cell of a row."""
        names = self.parts if self.full is None else (self.full,)
        return {
            "row": self.row,
            "name": [self._short_title(at) for at in names],
            "email": self._short_title(self.email),
            "external_id": "" if self.external_id is None else self._short_title(self.external_id),
            "answers": [self._short_title(at) for at, _key in self.questions],
        }

    def _short_title(self, at: int) -> str:
        return visible_text(self.titles[at].strip())[:_TITLE_LENGTH]


def read_cell(cells: Sequence[str], at: int) -> str:
    """Return a cell without surrounding blanks, or "" if the row is too short."""
    return undo_defused_csv_text(cells[at].strip()).strip() if at < len(cells) else ""


def find_columns(
    lines: Sequence[str], questions: Mapping[str, str] = MappingProxyType({})
) -> tuple[Columns, int]:
    """Find the columns in the first lines of a file, and how many of these lines they take.

    `questions`: the titles of columns with answers, and the keys of their questions. Blank lines,
    notes and a line like `sep=;` may stand above. Raises ImportFileRefused.
    """
    filled = [at for at, line in enumerate(lines) if line.strip()]
    if not filled:
        raise ImportFileRefused(what=" ".join((_("The file is empty."), str(HOW))))
    first, delimiters = 0, _DELIMITERS
    if separator := _SEPARATOR_LINE.fullmatch(lines[filled[0]]):
        first, delimiters = filled[0] + 1, separator[1]
    trouble = ""
    for at in filled:
        for delimiter in delimiters if at >= first else "":
            reader = csv.reader(lines[at:], delimiter=delimiter, strict=True)
            try:
                titles = next(reader)
            except csv.Error:
                continue
            above = csv.reader(lines[first:at], delimiter=delimiter)
            found = _match_titles(
                titles, delimiter, row=1 + sum(1 for _ in above), questions=questions
            )
            if isinstance(found, Columns):
                return found, at + reader.line_num
            trouble = trouble or found
    raise ImportFileRefused(what=trouble or _explain_trouble(lines, filled))


def _match_titles(
    titles: Sequence[str], delimiter: str, *, row: int, questions: Mapping[str, str]
) -> Columns | str:
    """Return the columns that a row names, or what is wrong with it: "" if it names none."""
    found: dict[str, list[int]] = {}
    for at, title in enumerate(titles):
        if role := _title_role(title):
            found.setdefault(role, []).append(at)
    names = [role for role in (FULL, GIVEN, MIDDLE, FAMILY) if role in found and role != MIDDLE]
    if not (names and EMAIL in found):
        if EMAIL in found or (names and len(titles) > 1):
            missing = "name" if EMAIL in found else "email"
            why = _("The file has no column “{missing}”: row {row} names only the other.")
            return f"{why.format(missing=missing, row=row)} {KNOWN}"
        return ""
    for role, places in found.items():
        if len(places) > 1 and role != OWN_ID:
            one, other = (f"“{visible_text(titles[at].strip())[:40]}”" for at in places[:2])
            why = _(
                "Row {row} names a column twice: {one} and {other} both mean the {role}."
                " Rename the one that is not to be used."
            )
            raise ImportFileRefused(what=why.format(row=row, one=one, other=other, role=role))
    only = {role: places[0] for role, places in found.items()}
    shared = None
    if FULL in only and (GIVEN in only) != (FAMILY in only):
        shared = only.pop(FULL)  # as in “Vorname;Name” or “Nome;Cognome”
        only[FAMILY if GIVEN in only else GIVEN] = shared
    return Columns(
        delimiter,
        titles,
        row,
        email=only[EMAIL],
        full=only.get(FULL),
        parts=tuple(only[role] for role in (GIVEN, MIDDLE, FAMILY) if role in only),
        shared=shared,
        # In a file that was exported here, the ids belong to the exported applications.
        external_id=None if OWN_ID in only else only.get(EXTERNAL_ID),
        source=only.get(SOURCE),
        questions=_match_questions(titles, questions),
    )


def _match_questions(
    titles: Sequence[str], questions: Mapping[str, str]
) -> tuple[tuple[int, str], ...]:
    """Return the columns that name a question, the first one for each."""
    known = {_plain_title(title): key for title, key in reversed(list(questions.items()))}
    found: dict[str, int] = {}
    for at, title in enumerate(titles):
        if len(title) <= _LONGEST_TITLE and not _title_role(title):
            key = known.get(_plain_title(title))
            if key:
                found.setdefault(key, at)
    return tuple((at, key) for key, at in found.items())


def _title_role(title: str) -> str | None:
    """Return what a column holds, by its title."""
    if len(title) > _LONGEST_TITLE:
        return None
    for spelling in (title, re.sub(r"\(.*?\)|\[.*?\]", " ", title)):
        words = _plain_title(spelling).split()
        while words and " ".join(words) not in _ROLES and words[0] in _WHOSE:
            words.pop(0)
        if role := _ROLES.get(" ".join(words)):
            return role
    return None


def _plain_title(title: str) -> str:
    """Return a title in lower case, without accents, and with one blank for all that is no letter.

    A title like "firstName" is two words.
    """
    apart = unicodedata.normalize("NFKD", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", title))
    letters = "".join(each for each in apart if unicodedata.category(each) not in {"Mn", "Cf"})
    return re.sub(r"[\W_]+", " ", letters.casefold()).strip()


def _explain_trouble(lines: Sequence[str], filled: Sequence[int]) -> str:
    line = lines[filled[0]].strip()
    if line.startswith(("<", "{", "[")):
        if line.startswith("<"):
            return _("This is not a CSV file but web page or XML. Save the list as “CSV UTF-8”.")
        return _("This is not a CSV file but JSON. Save the list as “CSV UTF-8”.")
    seen = visible_text(line)
    seen = f"{seen[:60]}…" if len(seen) > 60 else seen
    why = _("The file names no known columns. Row {row} is “{seen}”.")
    return f"{why.format(row=filled[0] + 1, seen=seen)} {HOW}"
