"""Totals of equal-opportunity answers: the only thing that a company sees of them.

A cell of fewer than FEWEST people is not shown, and with it as many others as it takes so that
nobody can subtract it. Totals are made at night, and only when at least FEWEST more people have
answered, so that nobody can compare them before and after one person.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models.functions import Now

from jobs.models import Company
from pipeline.equality.answers import read_choices
from pipeline.equality.questions import QUESTIONS
from pipeline.models import Application, EqualityTotals

FEWEST = 10
# How many of the newest applications of a company are counted.
MOST_COUNTED = 100_000
# The cell of people who left a question out.
NO_ANSWER = ""

Cells = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals by question and choice; None for a cell that is not shown."""

    people: int
    made_at: datetime
    by_question: dict[str, dict[str, int | None]]


def make_all() -> int:
    """Make the totals of every company that asks, where they are due, and return their number."""
    asking = Company.objects.filter(equality_questions__isnull=False).order_by("id")
    return sum(make(company_id) for company_id in asking.values_list("id", flat=True))


def make(company_id: UUID) -> bool:
    """Make a company's totals anew if enough people have answered since, and tell whether so."""
    kept = EqualityTotals.objects.filter(company_id=company_id).first()
    counts, people = _count(company_id)
    if people < FEWEST or (kept and abs(people - kept.people) < FEWEST):
        return False
    values = {"people": people, "counts": counts, "made_at": Now()}
    EqualityTotals.objects.update_or_create(company_id=company_id, defaults=values)
    return True


def read(company_id: UUID) -> Totals | None:
    """Return the totals of a company; None until FEWEST people have answered. In one query."""
    kept = EqualityTotals.objects.filter(company_id=company_id).first()
    if kept is None:
        return None
    shown = {code: hide_small(kept.counts[code]) for code in QUESTIONS if code in kept.counts}
    return Totals(kept.people, kept.made_at, shown)


def _count(company_id: UUID) -> tuple[dict[str, dict[str, int]], int]:
    """Count the answers of people who have proved their address, by question."""
    proved = Application.objects.filter(job__company_id=company_id, verify_by__isnull=True)
    ids = proved.order_by("-id").values_list("id", flat=True)[:MOST_COUNTED]
    rows = read_choices(ids)
    counts: dict[str, dict[str, int]] = {}
    for code, question in QUESTIONS.items():
        tally = Counter(choices.get(code, NO_ANSWER) for _, choices in rows)
        if len(rows) > tally[NO_ANSWER]:
            counts[code] = {choice: tally[choice] for choice in (*question.choices, NO_ANSWER)}
    return counts, len(rows)


def hide_small(cells: Cells) -> dict[str, int | None]:
    """Return the cells with None for small ones, and for others by which they could be computed.

    The hidden ones are at least two, and have at least FEWEST people together.
    """
    smallest_first = sorted(cells, key=lambda name: cells[name])
    hidden = {name for name in cells if cells[name] < FEWEST}
    for name in smallest_first:
        if not hidden or (len(hidden) > 1 and sum(cells[each] for each in hidden) >= FEWEST):
            break
        hidden.add(name)
    return {name: None if name in hidden else number for name, number in cells.items()}
