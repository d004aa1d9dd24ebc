"""Which database a statement runs on is chosen in `pipeline/database`, and nowhere else.

Who reads or writes uses Django's default connection. Whoever chose another one would read from a
replica what must be new, or write where a pooler or another database answers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.house.files import PACKAGES, name_of, python_files, tree_of

CHOOSES = "pipeline/database/"
OPENS_ITS_OWN = {
    "pipeline/live/announcer.py",  # sends NOTIFY by the direct address
    "pipeline/live/hub.py",  # and these LISTEN by it
    "tasks/listen.py",
    "pipeline/management/doctor/database_findings.py",  # looks at the replica itself
}
KEEPS_THE_DEFAULT = {
    "tasks/child/child.py",  # drops what a fork has inherited
    "tasks/sql/prepared.py",  # asks for the default one once instead of at each access
    "jobs/user_manager.py",  # hands on what Django's manager was given
}


def choices(tree: ast.AST) -> Iterator[str]:
    """Yield how a module names, opens or hands on a connection that is not Django's default."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("connections"):
            yield ast.unparse(node)
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            named = {keyword.arg for keyword in node.keywords}
            opens = called == "connect" and "psycopg" in ast.unparse(node.func)
            if opens or called in ("using", "db_manager") or "using" in named:
                yield ast.unparse(node)


def test_no_other_room_chooses_a_connection() -> None:
    choosing = {name_of(path) for path in python_files(*PACKAGES) if any(choices(tree_of(path)))}

    assert {name for name in choosing if not name.startswith(CHOOSES)} == (
        OPENS_ITS_OWN | KEEPS_THE_DEFAULT
    )
    assert any(name.startswith(CHOOSES) for name in choosing)


@pytest.mark.parametrize(
    "code",
    [
        "connections['replica'].cursor()",
        "Event.objects.using('replica').get()",
        "Event.objects.db_manager('replica')",
        "event.save(using='replica')",
        "transaction.atomic(using='replica')",
        "psycopg.AsyncConnection.connect()",
    ],
)
def test_control_each_way_of_choosing_is_seen(code: str) -> None:
    assert len(list(choices(ast.parse(code)))) == 1
