"""One name for the database and its two roles, in all files that operators copy from."""

from __future__ import annotations

import re

import pytest

from pipeline.database.roles import APPLICATION, OWNER
from tests.support.environment import ROOT

NAME = "nextinline"
FILES = [
    *(ROOT / "docs").glob("*.md"),
    *(path for path in (ROOT / "deploy").rglob("*") if path.is_file()),
    ROOT / "docker-compose.yml",
    ROOT / ".env.example",
    ROOT / "README.md",
]
# postgres://role:password@host:port/name, dbname=name, [databases] of PgBouncer, CREATE DATABASE.
URL = re.compile(
    r"postgres://(?P<role>[^\s:@/`'\"]+)(?::[^\s@]*)?@\S*?/(?P<name>[^\s`'\"/);,]+)(?=[\s`'\");,]|$)"
)
DEFAULT = re.compile(r"\$\{\w+:-([^}]*)\}")


def names(text: str) -> set[tuple[str, str]]:
    """Return the roles and databases that a text names, as kind and name."""
    text = re.sub(r"\$\{\w+:\?[^}]*\}", "password", DEFAULT.sub(r"\1", text))
    urls = list(URL.finditer(text))
    databases = {each["name"] for each in urls}
    databases |= set(re.findall(r"(?:\bdbname=|CREATE DATABASE |POSTGRES_DB[:=] ?)([\w-]+)", text))
    databases |= set(re.findall(r"^([\w-]+) = host=", text, re.M))
    return {("role", each["role"]) for each in urls} | {("database", each) for each in databases}


def test_all_files_use_one_database_and_two_roles() -> None:
    found = {each for path in FILES for each in names(path.read_text())}

    assert found == {("database", NAME), ("role", OWNER), ("role", APPLICATION)}


@pytest.mark.parametrize(
    "text",
    [
        "postgres://nextinline_app:secret@db:5432/pipeline",
        "DATABASE_URL=postgres://u@//directory/other",
        "next_in_line = host=127.0.0.1 dbname=nextinline",
        "host=a dbname=next_in_line",
        "CREATE DATABASE mine OWNER x",
        "POSTGRES_DB: ${POSTGRES_DB:-pipeline}",
    ],
)
def test_another_name_is_noticed(text: str) -> None:
    databases = {name for kind, name in names(text) if kind == "database"}

    assert databases - {NAME}
