"""Notices on a job's pages of decisions that have not taken effect, or not on everyone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pipeline.domain.permissions import Action
from pipeline.domain.states import Outcome
from pipeline.models import DecisionItem
from pipeline.pages.access import Member
from pipeline.pages.company.consequences import names_in_consequence
from pipeline.selectors.pending_decisions import (
    ShownPendingDecision,
    people_with_pending_decisions,
    shown_pending_decisions,
)
from pipeline.wording.event_words import DECISION_WORDS

# The reasons why a decision was refused for a person.
PROBLEM_WORDS = {
    DecisionItem.Problem.DECIDED: "another decision on this person was already pending",
    DecisionItem.Problem.NOT_POSSIBLE: "no longer possible, because the application has changed",
    DecisionItem.Problem.SITE: "the site could not carry it out; decide again",
}


@dataclass(frozen=True, slots=True)
class DecisionNotice:
    """A decision in words: its effect, or the people for whom it was refused."""

    of: ShownPendingDecision

    @property
    def title(self) -> str:
        """Return what it will do and to whom, or for whom it was refused."""
        words = DECISION_WORDS[Outcome(self.of.outcome)]
        if self.of.is_open:
            return f"{words.verb} {names_in_consequence(self.of.waiting_names, self.of.waiting)}"
        refused = names_in_consequence(self.of.refused_names, self.of.refused)
        done = self.of.total - self.of.refused
        return f"{refused}: not {words.done}" + (f"; {done:,} were" if done else "")

    @property
    def is_due(self) -> bool:
        """Tell whether it takes effect at any moment."""
        return self.of.due_at <= self.of.now


def decision_notices(job_id: UUID, member: Member, *, only: UUID | None = None) -> dict[str, Any]:
    """Return the notices of a job as template context, and the people whom a decision awaits.

    `only` is the one decision to show.
    """
    found = shown_pending_decisions(job_id, only=only)
    return {
        "decisions": [DecisionNotice(each) for each in found],
        "awaited": people_with_pending_decisions(job_id) if found else set(),
        "may_undo": member.may(Action.DECIDE),
    }
