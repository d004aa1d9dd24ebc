"""Buttons, titles and results of decisions in words, a whole message for each outcome. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, ngettext_lazy, pgettext

from pipeline.domain.states import Outcome
from pipeline.models import DecisionItem
from pipeline.pages.company.consequences import join_names
from pipeline.wording.language import number as in_digits

# The reasons why a decision was refused for a person.
PROBLEM_WORDS: dict[str, str | Promise] = {
    DecisionItem.Problem.DECIDED: gettext_lazy(
        "another decision on this person was already pending"
    ),
    DecisionItem.Problem.NOT_POSSIBLE: gettext_lazy(
        "no longer possible, because the application has changed"
    ),
    DecisionItem.Problem.FILLED: gettext_lazy("all positions of the job were filled first"),
    DecisionItem.Problem.SITE: gettext_lazy("the site could not carry it out; decide again"),
}

# Buttons and titles. `name` can be several names.
_ACTS = {
    Outcome.HIRED: gettext_lazy("Hire %(name)s"),
    Outcome.REJECTED: gettext_lazy("Reject %(name)s"),
    Outcome.REMOVED: gettext_lazy("Remove %(name)s"),
}
_ACTS_ON_MANY = {
    Outcome.HIRED: ngettext_lazy("Hire %(count)s person", "Hire %(count)s people", "number"),
    Outcome.REJECTED: ngettext_lazy("Reject %(count)s person", "Reject %(count)s people", "number"),
    Outcome.REMOVED: ngettext_lazy("Remove %(count)s person", "Remove %(count)s people", "number"),
}
_ACTS_AND_NEXT = {
    Outcome.HIRED: gettext_lazy("Hire and next"),
    Outcome.REJECTED: gettext_lazy("Reject and next"),
    Outcome.REMOVED: gettext_lazy("Remove and next"),
}
_DONE = {
    Outcome.HIRED: gettext_lazy("%(name)s was hired."),
    Outcome.REJECTED: gettext_lazy("%(name)s was rejected."),
    Outcome.REMOVED: gettext_lazy("%(name)s was removed."),
}
_DONE_TO_MANY = {
    Outcome.HIRED: ngettext_lazy("%(count)s person hired", "%(count)s people hired", "number"),
    Outcome.REJECTED: ngettext_lazy(
        "%(count)s person rejected", "%(count)s people rejected", "number"
    ),
    Outcome.REMOVED: ngettext_lazy(
        "%(count)s person removed", "%(count)s people removed", "number"
    ),
}
_REFUSED = {
    Outcome.HIRED: gettext_lazy("%(name)s: not hired"),
    Outcome.REJECTED: gettext_lazy("%(name)s: not rejected"),
    Outcome.REMOVED: gettext_lazy("%(name)s: not removed"),
}
_REFUSED_FOR_SOME = {
    Outcome.HIRED: ngettext_lazy(
        "%(name)s: not hired; %(count)s was", "%(name)s: not hired; %(count)s were", "number"
    ),
    Outcome.REJECTED: ngettext_lazy(
        "%(name)s: not rejected; %(count)s was", "%(name)s: not rejected; %(count)s were", "number"
    ),
    Outcome.REMOVED: ngettext_lazy(
        "%(name)s: not removed; %(count)s was", "%(name)s: not removed; %(count)s were", "number"
    ),
}


def _count(forms: Promise, number: int, name: str = "") -> str:
    """Fill the form of a message that its number needs."""
    return str(forms % {"number": number, "count": in_digits(number), "name": name})


def label_act(outcome: Outcome, name: str, *, close_job: bool | None = None) -> str:
    """Return the button of a decision on a person. `close_job`: what follows a last hire."""
    if close_job:
        return _("Hire %(name)s and close the job") % {"name": name}
    if close_job is False:
        return _("Hire %(name)s and go on") % {"name": name}
    return str(_ACTS[outcome]) % {"name": name}


def label_act_on_many(outcome: Outcome, number: int, *, close_job: bool | None = None) -> str:
    """Return the button or title of a decision on several people."""
    if close_job is None:
        return _count(_ACTS_ON_MANY[outcome], number)
    if close_job:
        words = ngettext(
            "Hire %(count)s person and close the job",
            "Hire %(count)s people and close the job",
            number,
        )
    else:
        words = ngettext(
            "Hire %(count)s person and go on", "Hire %(count)s people and go on", number
        )
    return words % {"count": in_digits(number)}


def label_act_and_next(outcome: Outcome) -> str:
    """Return the button of a decision that goes on with the next person."""
    return str(_ACTS_AND_NEXT[outcome])


def describe_waiting(
    outcome: Outcome, names: Sequence[str], total: int, *, closes_job: bool
) -> str:
    """Say what a decision that waits will do, and to whom."""
    name = join_names(names, total)
    if closes_job:
        words = _("Hire %(name)s, and close the job when no position is left")
        return words % {"name": name}
    return label_act(outcome, name)


def describe_refused(outcome: Outcome, names: Sequence[str], refused: int, done: int) -> str:
    """Say for whom a decision was refused, and for how many it took effect."""
    name = join_names(names, refused)
    if done:
        return _count(_REFUSED_FOR_SOME[outcome], done, name)
    return str(_REFUSED[outcome]) % {"name": name}


def describe_done(outcome: Outcome, name: str) -> str:
    """Return a sentence on a decision that has just taken effect on a person."""
    return str(_DONE[outcome]) % {"name": name}


def count_done(outcome: Outcome, number: int) -> str:
    """Return on how many people a decision has taken effect."""
    return _count(_DONE_TO_MANY[outcome], number)


def summarize(outcome: Outcome, *, done: int, undone: int, refused: int) -> str:
    """Say in a sentence what became of a decision on several people."""
    parts = [count_done(outcome, done)]
    if undone:
        parts.append(
            ngettext("undone for %(count)s", "undone for %(count)s", undone)
            % {"count": in_digits(undone)}
        )
    if refused:
        parts.append(
            ngettext("not possible for %(count)s", "not possible for %(count)s", refused)
            % {"count": in_digits(refused)}
        )
    # Translators: Between the parts of a summary: 3 people hired; undone for 2; not possible for 1.
    separator = pgettext("between parts", "; ")
    return _("%(parts)s.") % {"parts": separator.join(parts)}


def describe_undone(undone: int, decided: int) -> str:
    """Say that a decision was undone: for how many people, and for how many it was too late."""
    done = _("The decision was undone.")
    if undone > 1:
        done = ngettext(
            "The decision was undone for %(count)s person.",
            "The decision was undone for %(count)s people.",
            undone,
        ) % {"count": in_digits(undone)}
    if not decided:
        return " ".join((done, _("The line is as it was.")))
    late = ngettext(
        "%(count)s person had been decided on already.",
        "%(count)s people had been decided on already.",
        decided,
    ) % {"count": in_digits(decided)}
    return f"{done} {late}"
