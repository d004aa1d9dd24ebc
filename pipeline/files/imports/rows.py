"""Waiting rows of an imported list, and the reasons to refuse a row. Pure."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from enum import StrEnum
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from applicants.addresses import normal_address
from applicants.models import NAME_LENGTH
from applicants.texts import checked_name
from pipeline.files.imports.columns import has_several_addresses
from pipeline.models import EXTERNAL_ID_LENGTH
from pipeline.sources.origin import Origin

LONGEST_KEPT_ADDRESS = 320  # anything longer is not an address; this much of it is reported

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class Refusal(StrEnum):
    """Reason why a row of an imported file was refused."""

    NO_NAME = "NO_NAME"
    NAME_TOO_LONG = "NAME_TOO_LONG"
    BAD_NAME = "BAD_NAME"
    NO_EMAIL = "NO_EMAIL"
    BAD_EMAIL = "BAD_EMAIL"
    SEVERAL_EMAILS = "SEVERAL_EMAILS"
    BAD_EXTERNAL_ID = "BAD_EXTERNAL_ID"
    BAD_ANSWER = "BAD_ANSWER"
    DUPLICATE_EXTERNAL_ID = "DUPLICATE_EXTERNAL_ID"
    EXTERNAL_ID_TAKEN = "EXTERNAL_ID_TAKEN"
    DUPLICATE = "DUPLICATE"
    ALREADY_APPLIED = "ALREADY_APPLIED"
    DRAW_FULL = "DRAW_FULL"
    ERASED = "ERASED"


# The text for each reason. `name`, `email` and `id` are names of columns, `seen` is the address.
WORDS = {
    Refusal.NO_NAME: _("The row has no name. Enter one in the column {name}."),
    Refusal.NAME_TOO_LONG: _(
        "The name is longer than 200 characters. Shorten it in the column {name}."
    ),
    Refusal.BAD_NAME: _(
        "The name has a line break, invisible characters or no letter. Correct it in"
        " the column {name}."
    ),
    Refusal.NO_EMAIL: _("The row has no email address. Enter one in the column {email}."),
    Refusal.BAD_EMAIL: _(
        "“{seen}” is not an email address. Enter an email address, like"
        " name@example.org, in the column {email}."
    ),
    Refusal.SEVERAL_EMAILS: _(
        "“{seen}” is more than one email address. Keep one of them in the column {email}."
    ),
    Refusal.BAD_EXTERNAL_ID: _(
        "The id has more than 200 characters, or some that cannot be shown."
        " Correct it in the column {id}."
    ),
    Refusal.BAD_ANSWER: _("An answer cannot be taken in. {detail}"),
    Refusal.DUPLICATE_EXTERNAL_ID: _(
        "The id in the column {id} is already in an earlier row. Remove one of the rows."
    ),
    Refusal.EXTERNAL_ID_TAKEN: _(
        "Another application of the company has the id in the column {id}."
        " Give this one an id of its own, or none."
    ),
    Refusal.DUPLICATE: _("This email address is already in an earlier row."),
    Refusal.ALREADY_APPLIED: _("This person already has an open application to this job."),
    Refusal.DRAW_FULL: _("The draw by lot takes no more people. Add this person after the draw."),
    Refusal.ERASED: _("This person has asked for their data to be erased."),
}

# The text for rows that an import did not reach, by how the import ended.
NOT_REACHED = "NOT_REACHED"
LEFT_WORDS = {
    NOT_REACHED: _("The import has not reached this row."),
    "JOB_PAUSED": _("The job was paused before this row was imported."),
    "JOB_CLOSED": _("The job was closed before this row was imported."),
    "JOB_FULL": _("The job’s log was full before this row was imported."),
}


class ImportRow(NamedTuple):
    """A row of the list. `number` is that of a spreadsheet, or counts from 1 in a list of JSON.

    `email` is normalized as addresses are stored, even if it is not valid. `refusal` says what is
    wrong with the row, as far as the list alone shows it. `external_id` and `metadata` are what the
    company attaches to the application. `answers` are as given, by the keys of their questions.
    `source`: where the person came from.
    """

    number: int
    name: str
    email: str
    refusal: Refusal | None = None
    external_id: str = ""
    metadata: dict[str, str] | None = None
    answers: dict[str, Any] | None = None
    source: str = ""

    def as_line(self) -> bytes:
        """Return the row as it is stored until it is imported."""
        return json.dumps(self, ensure_ascii=False).encode() + b"\n"


class RowReader:
    """Reader of one list's rows, which knows the earlier rows."""

    def __init__(self) -> None:
        self._emails: set[str] = set()
        self._external_ids: set[str] = set()

    def read_row(
        self,
        number: int,
        name: str,
        email: str,
        external_id: str = "",
        metadata: dict[str, str] | None = None,
        answers: dict[str, Any] | None = None,
        source: str = "",
    ) -> ImportRow:
        """Return a row, with what is wrong with it."""
        email = normal_address(email)
        with suppress(ValidationError):  # otherwise the row is refused
            name = checked_name(name)
        refusal = self._refusal(name, email, external_id)
        if refusal is None:
            self._emails.add(email)
            self._external_ids.add(external_id)
        return ImportRow(
            number,
            _CONTROL.sub(" ", name)[:NAME_LENGTH],
            _CONTROL.sub(" ", email)[:LONGEST_KEPT_ADDRESS],
            refusal,
            _CONTROL.sub(" ", external_id)[:EXTERNAL_ID_LENGTH],
            metadata,
            answers,
            Origin.read({"source": source}).source if source else "",
        )

    def _refusal(self, name: str, email: str, external_id: str) -> Refusal | None:
        if refusal := _name_refusal(name) or _email_refusal(email):
            return refusal
        if len(external_id) > EXTERNAL_ID_LENGTH or _CONTROL.search(external_id):
            return Refusal.BAD_EXTERNAL_ID
        if email in self._emails:
            return Refusal.DUPLICATE
        if external_id and external_id in self._external_ids:
            return Refusal.DUPLICATE_EXTERNAL_ID
        return None


def _name_refusal(name: str) -> Refusal | None:
    if not name:
        return Refusal.NO_NAME
    if len(name) > NAME_LENGTH:
        return Refusal.NAME_TOO_LONG
    try:
        checked_name(name)
    except ValidationError:
        return Refusal.BAD_NAME
    return None


def _email_refusal(email: str) -> Refusal | None:
    if not email:
        return Refusal.NO_EMAIL
    # A cell may hold 64 KB, and looking for addresses in all of it takes seconds.
    if has_several_addresses(email[:LONGEST_KEPT_ADDRESS]):
        return Refusal.SEVERAL_EMAILS
    is_bad = len(email) > LONGEST_KEPT_ADDRESS or _CONTROL.search(email)
    return Refusal.BAD_EMAIL if is_bad else None


def decode_part(part: bytes) -> list[ImportRow]:
    """Return the rows in a stored part of lines that `as_line` made, also of an older version."""
    rows = (json.loads(line) for line in part.split(b"\n") if line)
    return [
        ImportRow(number, name, email, why and Refusal(why), *reference)
        for number, name, email, why, *reference in rows
    ]
