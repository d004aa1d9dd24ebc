"""Findings: one line each, with a level, what was found and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """Severity of a finding. Only problems change the exit code."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check. `advice` is empty if there is nothing to do."""

    level: Level
    text: str
    advice: str = ""


def found_ok(text: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding(Level.OK, text)


def found_warning(text: str, advice: str) -> Finding:
    """Return a finding to act on soon; the site works meanwhile."""
    return Finding(Level.WARNING, text, advice)


def found_problem(text: str, advice: str) -> Finding:
    """Return a finding that breaks something now."""
    return Finding(Level.PROBLEM, text, advice)
