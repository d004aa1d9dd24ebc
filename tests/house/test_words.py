"""The English line: phrases that no page, message, comment or document uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.house.files import PACKAGES, name_of, project_files

# Each needs a second reading; behind it what to write instead.
BANNED = {
    r"\bso many\b(?! that)": "say how many, or name the limit",
    r"\bonce more\b": "again",
    r"\bfor good\b": "finally, for the last time",
    r"\bas ever\b": "as always, or nothing",
    r"\bof itself\b": "on its own",
    r"\b(can|may|must|to) be had\b": "is available",
    r"\bis being let go\b": "is being released",
    r"\bthat which\b": "name the thing",
    r"\bstands? in a mail\b|\ba mail (to|with|says|that)\b": "we have emailed you",
}
PATTERN = re.compile("|".join(f"(?:{phrase})" for phrase in BANNED), re.I)
SUFFIXES = {".py", ".html", ".md"}
ROOMS = (*PACKAGES, "templates", "docs", "README.md")

# Rooms whose strings people read on pages and in emails. Elsewhere apostrophes stay straight: in
# the API's messages, the output of commands, comments and documents.
READ_BY_PEOPLE = (
    "applicants/",
    "pipeline/work/catalog.py",
    "pipeline/files/imports/",
    "pipeline/notifications/",
    "pipeline/pages/",
    "pipeline/notifications/push.py",
    "pipeline/services/",
    "pipeline/webhooks/queue.py",
    "pipeline/wording/",
)
STRAIGHT = re.compile(r"[A-Za-z]'(?:[a-z]\b|ll\b|re\b|ve\b)|s'\s[a-z]")
NOT_SHOWN = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<script.*?</script>|<[^>]*>", re.S)


def test_no_text_uses_a_banned_phrase() -> None:
    texts = [
        path
        for path in project_files()
        if name_of(path).startswith(ROOMS)
        and path.suffix in SUFFIXES
        and "migrations" not in path.parts
    ]
    found = [
        f"{name_of(path)}:{number} {match[0]!r}"
        for path in texts
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if (match := PATTERN.search(line))
    ]

    assert len(texts) > 300
    assert found == []


def strings_of(source: str) -> Iterator[str]:
    """Yield the strings of a program, without its docstrings."""
    tree = ast.parse(source)
    expressions = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if node not in expressions and isinstance(node, ast.Constant):
            yield node.value if isinstance(node.value, str) else ""


def straight_apostrophes(suffix: str, text: str) -> list[str]:
    shown = strings_of(text) if suffix == ".py" else [NOT_SHOWN.sub("", text)]
    return [match[0] for each in shown for match in STRAIGHT.finditer(each)]


def test_people_read_curly_apostrophes() -> None:
    shown = [
        path
        for path in project_files()
        if (name_of(path).startswith(READ_BY_PEOPLE) and path.suffix == ".py")
        or (name_of(path).startswith("templates/") and path.suffix in {".html", ".txt"})
    ]

    assert len(shown) > 300
    assert {
        name_of(path): found
        for path in shown
        if (found := straight_apostrophes(path.suffix, path.read_text()))
    } == {}


def test_a_straight_apostrophe_is_noticed() -> None:
    program = """'The job\\'s log.'\nTEXT = f"It is the job's {1}."\nSQL = "a = 'b c'"\n"""

    assert straight_apostrophes(".py", program) == ["b's"]
    assert straight_apostrophes(".html", "{# the job's #}<p>We'll see</p>") == ["e'll"]
