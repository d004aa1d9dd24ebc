"""Waiting rows of an imported file, and the reasons to refuse a row. Pure."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import NamedTuple


class Refusal(StrEnum):
    """Reason why a row of an imported file was refused."""

    NO_NAME = "NO_NAME"
    NAME_TOO_LONG = "NAME_TOO_LONG"
    BAD_NAME = "BAD_NAME"
    NO_EMAIL = "NO_EMAIL"
    BAD_EMAIL = "BAD_EMAIL"
    DUPLICATE = "DUPLICATE"
    ALREADY_APPLIED = "ALREADY_APPLIED"
    DRAW_FULL = "DRAW_FULL"
    ERASED = "ERASED"


# The text for each reason.
WORDS = {
    Refusal.NO_NAME: "The row has no name.",
    Refusal.NAME_TOO_LONG: "The name is longer than 200 characters.",
    Refusal.BAD_NAME: "The name has a line break or invisible characters, or no letter.",
    Refusal.NO_EMAIL: "The row has no email address.",
    Refusal.BAD_EMAIL: "Enter an email address, like name@example.org.",
    Refusal.DUPLICATE: "This email address is already in an earlier row.",
    Refusal.ALREADY_APPLIED: "This person already has an open application to this job.",
    Refusal.DRAW_FULL: "The draw by lot takes no more people. Add this person after the draw.",
    Refusal.ERASED: "This person has asked for their data to be erased.",
}

# The text for rows that an import did not reach, by how the import ended.
NOT_REACHED = "NOT_REACHED"
LEFT_WORDS = {
    NOT_REACHED: "The import has not reached this row.",
    "JOB_PAUSED": "The job was paused before this row was imported.",
    "JOB_CLOSED": "The job was closed before this row was imported.",
    "JOB_FULL": "The job’s log was full before this row was imported.",
}


class ImportRow(NamedTuple):
    """A row of the file. `number` is that of a spreadsheet; the row of column names is 1.

    `email` is normalized as addresses are stored, even if it is not valid. `refusal` says what is
    wrong with the row, as far as the file alone shows it.
    """

    number: int
    name: str
    email: str
    refusal: Refusal | None = None

    def as_line(self) -> bytes:
        """Return the row as it is stored until it is imported."""
        return json.dumps(self, ensure_ascii=False).encode() + b"\n"


def rows_in(part: bytes) -> list[ImportRow]:
    """Return the rows in a stored part of lines that `as_line` made."""
    rows = (json.loads(line) for line in part.split(b"\n") if line)
    return [
        ImportRow(number, name, email, why and Refusal(why)) for number, name, email, why in rows
    ]
