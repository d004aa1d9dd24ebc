"""The English line: phrases that no page, message, comment or document uses."""

from __future__ import annotations

import re

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
