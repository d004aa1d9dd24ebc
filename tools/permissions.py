"""Table of docs/permissions.md; `python -m tools.permissions` writes it from the table in code."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import django

from tools import ROOT

if TYPE_CHECKING:
    from pipeline.domain.permissions import Rule

PAGE = ROOT / "docs" / "permissions.md"
TABLE = re.compile(r"(?<=<!-- table of permissions -->\n).*?(?=<!-- end of the table -->)", re.S)
YES, NO = "yes", ""
HEAD = (
    *("permission", "viewer", "recruiter", "owner", "interviewer of the job"),
    *("hiring manager of the job", "key with scope", "key limited to jobs", "applicant"),
    *("company's site", "anyone"),
)


def rows() -> list[tuple[str, ...]]:
    """Return a row for each action, in the order of the table in code."""
    from jobs.models import JobRole, Role
    from pipeline.domain.permissions import RULES

    return [
        (
            action.name.lower().replace("_", " "),
            *(YES if rule.allows_member(role) else NO for role in Role),
            *(YES if rule.allows_member(None, role) else NO for role in JobRole),
            rule.scope.value if rule.scope else NO,
            _describe_limited_key(rule),
            *(YES if each else NO for each in (rule.applicant, rule.portal, rule.public)),
        )
        for action, rule in RULES.items()
    ]


def _describe_limited_key(rule: Rule) -> str:
    if rule.scope is None or not (rule.public or rule.limited_key is not False):
        return NO
    return "yes" if rule.public else "shown its jobs" if rule.limited_key else "on its jobs"


def drawn(page: str) -> str:
    """Return the page with the table as it is in code."""
    lines = [HEAD, ("---",) * len(HEAD), *rows()]
    table = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    return TABLE.sub(lambda _: table, page)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pipeline.settings")
    django.setup()
    PAGE.write_text(drawn(PAGE.read_text()))
