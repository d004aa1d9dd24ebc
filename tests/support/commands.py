"""Commands of the operations page, for the tests that run them as written."""

from __future__ import annotations

import re

from tests.support.environment import ROOT

PAGE = ROOT / "docs" / "operations.md"
BLOCK = re.compile(r"(?:<!-- (.*?) -->\n)?```sh\n(.*?)```", re.S)
TESTED = re.compile(r"run by (tests/\S+\.py) as (\S+)")
NOT_TESTED = re.compile(r"not run: \w.{15,}", re.S)


def command_blocks() -> list[tuple[str, str]]:
    """Return each block of commands with the comment above it; empty if there is none."""
    return BLOCK.findall(PAGE.read_text())


def commands(name: str, **replaced: str) -> str:
    """Return the block that is run by a test under this name, with other paths or values.

    Each value of `replaced` is put in the place of the text under its name in EXAMPLES, which must
    stand in the block.
    """
    [text] = [
        text
        for comment, text in command_blocks()
        if (named := TESTED.fullmatch(comment)) and named[2] == name
    ]
    for key, value in replaced.items():
        assert EXAMPLES[key] in text, f"{EXAMPLES[key]} is not in {text}"
        text = text.replace(EXAMPLES[key], value)
    return text


# What the page shows where a test has its own.
EXAMPLES = {
    "backups": "/var/backups/next-in-line",
    "data": "/var/lib/postgresql/restored",
    "moment": "2026-11-22 18:00:00+00",
    "address": "https://jobs.example.com",
    "email": "you@example.com",
    "anchors": "/anchors",
}
