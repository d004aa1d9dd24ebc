"""Owners' page of what the team did, filtered by member and kind, and as a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from jobs import activity
from jobs.activity import Group
from jobs.team import read_members
from pipeline.domain.permissions import Action
from pipeline.files.exports import TYPES, formatted_csv_lines, formatted_pieces
from pipeline.pages import page_urls
from pipeline.pages.access import Member, current_member, for_members, require_permission
from pipeline.selectors.pages import encode_cursor

SHOWN, BATCH, MOST_IN_FILE = 50, 500, 50_000
COLUMNS = ("at", "who", "actor_id", "kind", "what", "job_id", "application_id")


@require_safe
@for_members(Action.MANAGE_TEAM)
def index(request: HttpRequest) -> HttpResponseBase:
    """List what members and keys did, newest first; `?format=csv` downloads it."""
    owner = require_permission(current_member(request), Action.MANAGE_TEAM)
    actor_id = page_urls.read_id(request, "who")
    group = next((each for each in Group if each == request.GET.get("kind")), None)
    if request.GET.get("format") == "csv":
        return _csv_answer(owner, actor_id, group)
    place = page_urls.read_place(request, "after", int)
    rows = activity.read_page(
        owner.company.id,
        actor_id=actor_id,
        group=group,
        after=place[0] if place else None,
        limit=SHOWN + 1,
    )
    more, rows = len(rows) > SHOWN, rows[:SHOWN]
    team = owner.company.sandbox_of_id or owner.company.id
    context = {
        "member": owner,
        "acts": activity.tell(rows),
        "people": [each.user for each in read_members(team)],
        "who": str(actor_id or ""),
        "groups": Group.choices,
        "group": group or "",
        "csv_url": page_urls.change_query(request, after=None, format="csv"),
        "next_url": page_urls.change_query(request, after=encode_cursor(rows[-1].id))
        if more
        else "",
        "first_url": page_urls.change_query(request, after=None) if "after" in request.GET else "",
    }
    return render(request, "staff/activity.html", context)


def _csv_answer(owner: Member, actor_id: UUID | None, group: Group | None) -> StreamingHttpResponse:
    def rows_of_acts() -> Iterator[dict[str, Any]]:
        after: int | None = None
        for _ in range(MOST_IN_FILE // BATCH):
            rows = activity.read_page(
                owner.company.id, actor_id=actor_id, group=group, after=after, limit=BATCH
            )
            for act in activity.tell(rows):
                row = act.row
                values = (row.at.isoformat(), act.actor, row.actor_id, row.kind, act.text)
                yield dict(zip(COLUMNS, (*values, row.job_id, row.application_id), strict=True))
            if len(rows) < BATCH:
                return
            after = rows[-1].id

    pieces = formatted_pieces(
        formatted_csv_lines(COLUMNS, rows_of_acts()), characters=64 * 1_024, first_at_once=True
    )
    response = StreamingHttpResponse(pieces, content_type=TYPES["csv"])
    response["Content-Disposition"] = 'attachment; filename="activity.csv"'
    response["Cache-Control"] = "private, no-store"
    return response
