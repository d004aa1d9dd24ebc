"""Words about a job's reserved seats: for whom they are, and what that means for others. Pure."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, ngettext_lazy

from jobs.models import Job
from pipeline.domain.amounts import Amount
from pipeline.domain.states import ClaimState, GroupKind
from pipeline.wording.english import capitalized
from pipeline.wording.language import in_a_row

# The groups, as everyone reads them.
GROUP_WORDS: dict[str, str | Promise] = {
    GroupKind.INTERNAL: gettext_lazy("people who work for the company already"),
    GroupKind.DISABILITY: gettext_lazy("people with a disability"),
    GroupKind.LEGAL_PREFERENCE: gettext_lazy("people whom the law gives preference"),
    GroupKind.OWN: gettext_lazy("a group that the company describes"),
}

# How many seats are for them.
_RESERVED = {
    GroupKind.INTERNAL: ngettext_lazy(
        "%(seats)s of %(all)s seats is reserved for people who work for the company already.",
        "%(seats)s of %(all)s seats are reserved for people who work for the company already.",
        "number",
    ),
    GroupKind.DISABILITY: ngettext_lazy(
        "%(seats)s of %(all)s seats is reserved for people with a disability.",
        "%(seats)s of %(all)s seats are reserved for people with a disability.",
        "number",
    ),
    GroupKind.LEGAL_PREFERENCE: ngettext_lazy(
        "%(seats)s of %(all)s seats is reserved for people whom the law gives preference.",
        "%(seats)s of %(all)s seats are reserved for people whom the law gives preference.",
        "number",
    ),
    GroupKind.OWN: ngettext_lazy(
        "%(seats)s of %(all)s seats is reserved for a group that the company describes.",
        "%(seats)s of %(all)s seats are reserved for a group that the company describes.",
        "number",
    ),
}

# What a person who has stated to belong to the group reads, by what was decided.
CLAIM_WORDS: dict[str, str | Promise] = {
    ClaimState.STATED: gettext_lazy(
        "You have said that you belong to this group. The company decides whether it can confirm"
        " that. Your place in line stays as it is."
    ),
    ClaimState.CONFIRMED: gettext_lazy(
        "It is confirmed that you belong to this group. You are offered a reserved seat when it is"
        " your turn among its people, and any other seat when it is your turn in line."
    ),
    ClaimState.DECLINED: gettext_lazy(
        "The company could not confirm that you belong to this group. Your place in line stays as"
        " it is, and you are offered the other seats as before."
    ),
}


def group_choices() -> list[tuple[str, str]]:
    """Return every group with its label, as form choices."""
    return [(code, capitalized(str(words))) for code, words in GROUP_WORDS.items()]


def describe_reserve(job: Job) -> str:
    """Say how many seats are reserved, for whom and why; empty without any."""
    if not job.reserved_seats:
        return ""
    words = _RESERVED[GroupKind(job.reserved_for)] % {
        "number": job.reserved_seats,
        "seats": Amount(job.reserved_seats),
        "all": Amount(job.capacity),
    }
    return in_a_row(words, job.posting.reserved_sentence)


def describe_vacancy(job: Job, until: str) -> str:
    """Say what happens to reserved seats that nobody of the group takes. `until`: in words."""
    if until:
        return _(
            "Only they can take these seats, in the order of the line. Those that are free at"
            " %(until)s then go to the line."
        ) % {"until": until}
    return _(
        "Only they can take these seats, in the order of the line. While none of them waits, the"
        " seats stay free."
    )


def count_free(job: Job) -> str:
    """Say how many reserved seats are free; empty if none is."""
    free = job.reserved_seats_free
    if not free:
        return ""
    words = ngettext("%(seats)s reserved seat is free.", "%(seats)s reserved seats are free.", free)
    return words % {"seats": Amount(free)}
