"""What failed for good, type by type; and the switch that pauses a type."""

from __future__ import annotations

from uuid import UUID

from django.test import Client

from jobs.models import Company
from tasks.models import TaskType
from tests.support.background_tasks import ERROR, dead, started, status_of
from tests.support.pages import follow, page_of

DEAD = "/company/work/dead/"
TYPES = "/company/work/types/"


def test_none_is_good_news(recruiter: Client, viewer: Client) -> None:
    assert "A task that fails every attempt appears here" in page_of(recruiter, DEAD)
    assert "A task that fails every attempt appears here" in page_of(viewer, DEAD)


def test_they_are_counted_by_type_with_the_newest_error(
    recruiter: Client, company: Company, job: UUID
) -> None:
    dead(company, errors=[ERROR | {"message": "the older one"}])
    dead(company)
    dead(company, "log.export", {"job_id": str(job), "format": "csv"})

    page = page_of(recruiter, DEAD)

    assert "2 failed" in page
    assert "Run all 2 again" in page
    assert "Tasks that you run again start now, with all their attempts." in page
    assert "Run it again" in page
    only = page_of(recruiter, f"{DEAD}?type=log.export")
    assert "Export the log of Engineer" in only
    assert "Sleep 5 s" not in only


def test_all_of_a_type_are_replayed(recruiter: Client, company: Company, job: UUID) -> None:
    naps = [dead(company), dead(company)]
    other = dead(company, "log.export", {"job_id": str(job), "format": "csv"})

    page = follow(recruiter, f"{DEAD}replay/", {"type": "demo.sleep"})

    assert "2 tasks queued to run again." in page
    assert {status_of(nap) for nap in naps} == {"PENDING"}
    assert status_of(other) == "DEAD"
    assert "There were no tasks left to run again." in follow(
        recruiter, f"{DEAD}replay/", {"type": "demo.sleep"}
    )
    assert recruiter.post(f"{DEAD}replay/", {"type": "retention.site"}).status_code == 404


def test_many_of_a_sensitive_type_are_not_replayed_unasked(
    recruiter: Client, company: Company
) -> None:
    letter = dead(company)
    TaskType.objects.filter(key="demo.sleep").update(sensitive=True)

    assert "Confirm that you want to run these tasks again." in follow(
        recruiter, f"{DEAD}replay/", {"type": "demo.sleep"}
    )
    assert status_of(letter) == "DEAD"
    assert "Run 1 again…" in page_of(recruiter, DEAD)
    follow(recruiter, f"{DEAD}replay/", {"type": "demo.sleep", "confirmed": "1"})
    assert status_of(letter) == "PENDING"


def test_a_type_is_paused_and_resumed_with_the_consequence_named(
    recruiter: Client, company: Company
) -> None:
    started(company)
    started(company)
    assert "If you pause it, 2 waiting tasks and all new ones wait until you resume it." in page_of(
        recruiter, TYPES
    )

    paused = follow(recruiter, f"{TYPES}demo.sleep/pause/", {})
    assert "Paused by staff" in paused
    assert "If you resume it, 2 waiting tasks can start." in paused

    assert "Paused by" not in follow(recruiter, f"{TYPES}demo.sleep/resume/", {})
    assert recruiter.post(f"{TYPES}retention.site/pause/").status_code == 404


def test_what_stops_a_type_for_everybody_is_explained(recruiter: Client, company: Company) -> None:
    started(company)
    TaskType.objects.filter(key="demo.sleep").update(paused=True, breaker="OPEN")

    page = page_of(recruiter, TYPES)

    assert "Paused for everyone" in page
    assert "only one task a minute is tried" in page


def test_what_waits_for_a_paused_type_says_so(recruiter: Client, company: Company) -> None:
    task = started(company)
    follow(recruiter, f"{TYPES}demo.sleep/pause/", {})

    assert "waits until this task type is resumed" in page_of(recruiter, "/company/work/")
    assert "This task type is paused" in page_of(recruiter, f"/company/work/{task}/")


def test_those_ticked_are_replayed_or_discarded(
    recruiter: Client, viewer: Client, company: Company, other_company: Company
) -> None:
    one, two, three, foreign = dead(company), dead(company), dead(company), dead(other_company)
    act = f"{DEAD}ticked/"

    replayed = follow(recruiter, act, {"do": "replay", "task": [one, "x", foreign]})
    discarded = follow(recruiter, act, {"do": "discard", "task": [two, one]})

    assert "1 task queued to run again." in replayed
    assert "1 task discarded." in discarded
    assert "no longer possible" in discarded  # the first is not a dead letter any more
    assert [status_of(each) for each in (one, two, three, foreign)] == [
        "PENDING",
        "DISCARDED",
        "DEAD",
        "DEAD",
    ]
    assert viewer.post(act, {"do": "discard", "task": [three]}).status_code == 403
    assert recruiter.post(act, {"do": "dance"}).status_code == 404
    assert "ticked" not in page_of(viewer, DEAD)
