"""Texts of prepared statements, for tests that read or change one."""

from __future__ import annotations

import re
from typing import Any

from tasks.sql.prepared import PreparedStatement


def source_of(statement: PreparedStatement[Any]) -> str:
    """A statement's text with its named parameters, as it was given."""
    text = statement.text.decode().replace("%", "%%")
    return re.sub(r"\$(\d+)", lambda number: f"%({statement.names[int(number[1]) - 1]})s", text)


def changed(statement: PreparedStatement[Any], part: str, other: str) -> PreparedStatement[Any]:
    """The same statement with another text in place of a part that it has once."""
    source = source_of(statement)
    assert source.count(part) == 1
    return PreparedStatement(source.replace(part, other), statement.row)
