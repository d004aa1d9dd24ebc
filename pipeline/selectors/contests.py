"""Reads of contests: requests to look at an end again, and their answers."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Q, QuerySet

from pipeline.domain.contests import CONTEST_WITHIN, CONTESTABLE, ContestReason
from pipeline.domain.states import EventType
from pipeline.line.company_clock import read_company_clock
from pipeline.models import Application, ApplicationRow, Contest, Event
from pipeline.selectors.page import Page
from pipeline.wording.contest_words import CONTEST_REASON_WORDS


class ContestState(StrEnum):
    """State of a contest, for filters. An overdue one is open, too."""

    OPEN = "OPEN"
    OVERDUE = "OVERDUE"
    ANSWERED = "ANSWERED"


class ShownContest(NamedTuple):
    """Contest with what its page and lists say about it."""

    row: Contest
    is_overdue: bool
    reason: str

    @classmethod
    def of_contest(cls, row: Contest, now: datetime) -> ShownContest:
        """Describe a contest at a time of the company's clock."""
        reason = CONTEST_REASON_WORDS[ContestReason(row.reason)] if row.reason else ""
        return cls(row, row.is_overdue(now), reason)


def shown_contests(application_id: UUID, now: datetime) -> list[ShownContest]:
    """Return the contests of an application as pages show them, newest first."""
    return [ShownContest.of_contest(row, now) for row in contests_of_application(application_id)]


def contests_of_application(application_id: UUID) -> list[Contest]:
    """Return the contests of an application, newest first."""
    return list(Contest.objects.filter(application_id=application_id).order_by("-seq"))


def contests_of_company(
    company_id: UUID,
    *,
    state: ContestState | None = None,
    application_id: UUID | None = None,
    after: tuple[datetime, UUID] | None = None,
    limit: int,
) -> Page[Contest]:
    """Return a page of the contests of a company or of one application to it, newest first.

    `after`: the time and id of the last contest of the page before.
    """
    rows = Contest.objects.filter(company_id=company_id).order_by("-asked_at", "-id")
    if application_id:
        rows = rows.filter(application_id=application_id)
    if state is ContestState.ANSWERED:
        rows = rows.exclude(answer="")
    elif state:
        rows = rows.filter(answer="")
    if state is ContestState.OVERDUE:
        rows = rows.filter(answer_by__lte=read_company_clock(company_id).now)
    if after:
        asked_at, last_id = after
        rows = rows.filter(Q(asked_at__lt=asked_at) | Q(asked_at=asked_at, id__lt=last_id))
    wanted = rows.select_related("application__applicant", "job__posting")
    return Page.cut(list(wanted[: limit + 1]), limit)


def open_contests_of_company(company_id: UUID) -> QuerySet[Contest]:
    """Return a company's contests without an answer, the most urgent first."""
    return Contest.objects.filter(company_id=company_id, answer="").order_by("answer_by", "id")


def contests_cache_tag(contests: Collection[Contest], now: datetime) -> str:
    """Return a text that changes whenever one of these contests does, or becomes overdue."""
    return ",".join(f"{each.id.hex[-8:]}{each.answer}{each.is_overdue(now):d}" for each in contests)


def may_contest_until(
    application: Application | ApplicationRow, contests: Collection[Contest], now: datetime
) -> datetime | None:
    """Return until when the owner can ask to look at the end again; None if they cannot."""
    ended = application.ended_at
    if application.outcome not in CONTESTABLE or not application.is_verified or ended is None:
        return None
    until: datetime = ended + CONTEST_WITHIN
    # One that was made since this end concerns it.
    is_contested = any(each.asked_at >= ended for each in contests)
    return None if is_contested or until <= now else until


def decider_of_contest(contest: Contest) -> UUID | None:
    """Return the member or key whose decision is contested; None for a missed deadline."""
    end = Event.objects.filter(job_id=contest.job_id, seq=contest.contested_seq)
    return end.values_list("actor_id", flat=True).first()


def contest_texts_of_applications(rows: QuerySet[Application]) -> dict[UUID, list[dict[str, Any]]]:
    """Return what both sides wrote about ends of some applications, oldest first, in one query."""
    names = ("text", "asked_at", "answer_by", "answered_at", "answer", "reason", "answer_text")
    written: dict[UUID, list[dict[str, Any]]] = {}
    for each in Contest.objects.filter(application__in=rows.values("id")).order_by("seq"):
        about = {name: getattr(each, name) or None for name in names}
        written.setdefault(each.application_id, []).append(about)
    return written


def contestable_end(application_id: UUID) -> Event | None:
    """Return the event that last ended an application."""
    ends = (EventType.LAPSED, EventType.REMOVED)
    events = Event.objects.filter(application_id=application_id, event__in=ends)
    return events.order_by("-seq").first()
