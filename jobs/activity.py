"""Acts of a company's team, for its owners: kinds, notes of them, and their reads.

A note holds ids, codes and the company's own names (of a key, say), and of an applicant nothing but
the id of an application, which is erased with the person. To add a kind, declare it beside the
service that notes it:

    EXPORTED = activity.declare("export.made", Group.FILES, _("Exported %(what)s"))
    activity.note(EXPORTED, company_id=company_id, by=user_id, about={"what": "log"})
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from jobs.models import Activity, ActivityGroup, ApiKey, JobRole, Role, User

Group = ActivityGroup
# The longest text that a note keeps of a name, and the place in a sentence of whom it is about.
LONGEST_WORD, SUBJECT = 100, "whom"


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of act: its code, its group for filters, and a sentence with places for its values."""

    code: str
    group: ActivityGroup
    sentence: str | Promise


KINDS: dict[str, Kind] = {}
# Reads of the names of actors that are neither accounts nor keys, by their ids.
NAMES: list[Callable[[Collection[UUID]], Mapping[UUID, str]]] = []
_ROLES: dict[str, str | Promise] = {
    **dict(Role.choices),
    **dict(JobRole.choices),
    "": _("single jobs"),
}
# The words of values that are codes, by their place in a sentence.
WORDS: dict[str, dict[str, str | Promise]] = {
    "role": _ROLES,
    "before": _ROLES,
    "required": {
        "required": pgettext_lazy("two-step verification", "required"),
        "optional": pgettext_lazy("two-step verification", "optional"),
    },
}


def declare(code: str, group: ActivityGroup, sentence: str | Promise) -> Kind:
    """Declare a kind of act. The places of its sentence are `whom` and the values of its notes."""
    assert code not in KINDS, code  # noqa: S101  a word in the code
    KINDS[code] = kind = Kind(code, group, sentence)
    return kind


SIGNED_IN = declare("member.signed_in", Group.SIGN_INS, _("Signed in"))
MEMBER_ADDED = declare("member.added", Group.TEAM, _("Added %(whom)s to the team: %(role)s"))
MEMBER_REMOVED = declare("member.removed", Group.TEAM, _("Removed %(whom)s from the team"))
ROLE_CHANGED = declare(
    "role.changed", Group.TEAM, _("Changed the role of %(whom)s from %(before)s to %(role)s")
)
ACCESS_ENDED = declare(
    "member.access_ended",
    Group.TEAM,
    _("Ended the access of %(whom)s, as the identity provider says"),
)
JOB_ROLE_GIVEN = declare("job_role.given", Group.TEAM, _("Gave %(whom)s a role on a job: %(role)s"))
JOB_ROLE_TAKEN = declare("job_role.taken", Group.TEAM, _("Took the role on a job from %(whom)s"))
LINK_MADE = declare("invitation.made", Group.TEAM, _("Made an invitation link: %(role)s"))
LINK_WITHDRAWN = declare("invitation.withdrawn", Group.TEAM, _("Withdrew an invitation link"))
LINK_USED = declare("invitation.used", Group.TEAM, _("Joined by an invitation link: %(role)s"))
SECOND_STEP = declare(
    "second_step.changed", Group.TEAM, _("Changed two-step verification to %(required)s")
)
KEY_MADE = declare("key.created", Group.KEYS, _("Created the API key “%(name)s”: %(scopes)s"))
KEY_OF_JOBS_MADE = declare(
    "key_of_jobs.created",
    Group.KEYS,
    _("Created the API key “%(name)s”: %(scopes)s. Number of jobs: %(jobs)s"),
)
KEY_REVOKED = declare("key.revoked", Group.KEYS, _("Revoked the API key “%(name)s”"))
CONTROLLER_NAMED = declare(
    "controller.named", Group.RULES, _("Changed who is responsible for people’s data")
)
KEEP_DAYS_CHANGED = declare(
    "keep_days.changed", Group.RULES, _("Changed how long the company keeps personal data")
)
UNDO_TIME = declare("undo_time.changed", Group.RULES, _("Changed the time to undo decisions"))


def note(
    kind: Kind,
    *,
    company_id: UUID,
    by: UUID | None,
    job_id: UUID | None = None,
    application_id: UUID | None = None,
    whom: UUID | None = None,
    about: Mapping[str, object] | None = None,
) -> None:
    """Note an act of a member or a key, in the caller's transaction; None for the operator.

    `whom`: the account that it is about. `about`: the values of the sentence, codes or names, cut
    to LONGEST_WORD.
    """
    assert KINDS[kind.code] is kind  # noqa: S101  a word in the code
    Activity.objects.create(
        company_id=company_id,
        kind=kind.code,
        actor_id=by,
        job_id=job_id,
        application_id=application_id,
        subject_id=whom,
        about={name: str(value)[:LONGEST_WORD] for name, value in (about or {}).items()},
    )


@dataclass(frozen=True, slots=True)
class Told:
    """An act as owners read it. `actor` is empty for the operator of the site."""

    row: Activity
    actor: str
    text: str


def read_page(
    company_id: UUID,
    *,
    actor_id: UUID | None = None,
    group: ActivityGroup | None = None,
    after: int | None = None,
    limit: int,
) -> list[Activity]:
    """Return up to `limit` of a company's acts, newest first, after an act's id. One query."""
    rows = Activity.objects.filter(company_id=company_id)
    if actor_id:
        rows = rows.filter(actor_id=actor_id)
    if group:
        rows = rows.filter(kind__in=[each.code for each in KINDS.values() if each.group == group])
    if after:
        rows = rows.filter(id__lt=after)
    return list(rows.order_by("-id")[:limit])


def tell(rows: Collection[Activity]) -> list[Told]:
    """Return acts with sentences and names, in two queries."""
    ids = {each for row in rows for each in (row.actor_id, row.subject_id) if each}
    names = _read_names(ids)
    gone = gettext("a former member")
    return [
        Told(
            row,
            names.get(row.actor_id, gone) if row.actor_id else "",
            _sentence(row, names.get(row.subject_id, gone) if row.subject_id else gone),
        )
        for row in rows
    ]


def _read_names(ids: Collection[UUID]) -> Mapping[UUID, str]:
    if not ids:
        return {}
    people = {each.id: each.shown_name for each in User.objects.filter(id__in=ids)}
    keys = ApiKey.objects.filter(id__in=ids).values_list("id", "name")
    named = people | {id_: gettext("the API key “%(name)s”") % {"name": name} for id_, name in keys}
    for read in NAMES:
        if others := set(ids) - named.keys():
            named |= read(others)
    return named


def _sentence(row: Activity, whom: str) -> str:
    kind = KINDS.get(row.kind)  # None: of a later release
    if kind is None:
        return row.kind
    about = {name: _word(name, value) for name, value in row.about.items()}
    # A note of an earlier release may lack a value.
    return str(kind.sentence) % defaultdict(str, about | {SUBJECT: whom})


def _word(name: str, value: str) -> str:
    """Return the value of a note in words, if it is a code; an earlier release noted words."""
    words = WORDS.get(name, {})
    return str(words.get(value, value))
