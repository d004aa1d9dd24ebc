"""The page that shows a job's line at any past moment."""

from __future__ import annotations

import html
import re
from datetime import timedelta

import pytest
from django.test import Client

from pipeline.models import Event
from tests.support import factories
from tests.support.clock import database_now
from tests.support.history import History, page
from tests.support.lottery import draw, lottery


def words(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    main = response.content.decode().partition("<main")[2] or response.content.decode()
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", main)).split())


def test_it_shows_the_line_as_it_was(viewer: Client, past: History) -> None:
    text = words(viewer, page(past.job, "replay/?seq=7"))

    assert "Event 7 of 10" in text
    assert "Bo <Berg> was offered a seat" in text
    assert "10 min left" in text
    assert re.search(r"Waitlist 1 waiting 1 Cy Okafor", text)


def test_without_a_moment_it_shows_the_last_one(viewer: Client, past: History) -> None:
    assert "Event 10 of 10" in words(viewer, page(past.job, "replay/"))


def test_a_time_leads_to_the_last_event_before_it(viewer: Client, past: History) -> None:
    at = Event.objects.get(job_id=past.job, seq=8).at - timedelta(seconds=1)
    viewer.cookies["time_zone"] = "Asia/Tokyo"
    in_tokyo = (at + timedelta(hours=9)).strftime("%Y-%m-%dT%H:%M:%S")

    assert "Event 7 of 10" in words(viewer, page(past.job, f"replay/?at={in_tokyo}"))


def test_a_time_counts_in_the_zone_in_which_it_was_shown(viewer: Client, past: History) -> None:
    at = Event.objects.get(job_id=past.job, seq=8).at - timedelta(seconds=1)
    asked = f"at={at.strftime('%Y-%m-%dT%H:%M:%S')}&zone="
    viewer.cookies["time_zone"] = "Asia/Tokyo"  # the browser told it after the page was shown

    assert "Event 7 of 10" in words(viewer, page(past.job, f"replay/?{asked}UTC"))
    for nonsense in ("../../etc/passwd", "Nowhere", "%00", "Europe"):
        assert "The job did not exist at that time." in words(
            viewer, page(past.job, f"replay/?{asked}{nonsense}")
        )


def test_moments_that_are_none_are_answered_in_words(viewer: Client, past: History) -> None:
    replay = page(past.job, "replay/")

    assert "The job did not exist at that time." in words(viewer, f"{replay}?at=1999-01-01T00:00")
    assert "That time is in the future." in words(viewer, f"{replay}?at=2199-01-01T00:00")
    assert "The job did not exist at that time." in words(viewer, f"{replay}?seq=0")
    assert "does not have that many events" in words(viewer, f"{replay}?seq=999999999999999999999")
    for nonsense in ("at=yesterday", "at=2026-99-99T00:00", "at=0001-01-01T00:00"):
        assert "of 10" in words(viewer, f"{replay}?{nonsense}")


def test_numbers_that_are_no_event_are_answered_in_words(viewer: Client, past: History) -> None:
    replay = page(past.job, "replay/")

    for nonsense in ("abc", "-4", "1.5"):
        text = words(viewer, f"{replay}?seq={nonsense}")
        assert "Enter the number of an event." in text
        assert "Event 10 of 10" in text
    for nonsense in ("99", "0", "abc"):
        text = words(viewer, f"{replay}?seq=5&with={nonsense}")
        assert "There is no such event to compare with. Enter a number from 1 to 10." in text
        assert "From event" not in text
    assert "no such event" not in words(viewer, f"{replay}?seq=5&with=")


def test_a_clock_that_is_a_little_ahead_is_not_remarked_upon(viewer: Client, past: History) -> None:
    soon = (database_now() + timedelta(minutes=2)).strftime("%Y-%m-%dT%H:%M:%S")

    text = words(viewer, page(past.job, f"replay/?at={soon}"))

    assert "Event 10 of 10" in text
    assert "That time is in the future." not in text


def test_a_moment_deep_in_a_long_log_says_that_it_has_no_lists(
    viewer: Client, past: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    for bound in ("MOST_FOLDED", "MOST_COMPARED"):
        monkeypatch.setattr(f"pipeline.selectors.past.{bound}", 2)

    text = words(viewer, page(past.job, "replay/?seq=5&with=10"))

    assert "people are listed only for the first and last" in text
    assert "Waiting 2" in text
    assert "people are not compared one by one" in text


def test_arrivals_before_a_draw_are_no_places_to_move_from(viewer: Client, past: History) -> None:
    company_id = factories.row_of(past.job).company_id
    job = lottery(company_id=company_id)
    factories.applications(job, 4)
    before = factories.row_of(job).seq
    draw(job)

    text = words(viewer, page(job, f"replay/?seq={before}&with={before + 5}"))

    assert "Got a place by the draw" in text
    assert "Moved in line" not in text


def test_two_moments_are_compared_whichever_comes_first(viewer: Client, past: History) -> None:
    for query in ("seq=5&with=10", "seq=10&with=5"):
        text = words(viewer, page(past.job, f"replay/?{query}"))

        assert "From event 5 to event 10" in text
        assert "Offered a seat 1 Cy Okafor was 2 in line" in text
        assert "Left 1 Ana Li Withdrawn" in text
        assert "Moved in line 1" not in text or "Bo <Berg>" in text


def test_it_works_without_scripts(viewer: Client, past: History) -> None:
    text = viewer.get(page(past.job, "replay/?seq=5&with=2")).content.decode()

    for target in (1, 4, 6, 10):
        assert f'href="?seq={target}&amp;with=2"' in text
    assert 'type="range"' in text
    assert "Go to this event" in text


def test_the_fragment_is_only_the_part_that_changes(viewer: Client, past: History) -> None:
    text = viewer.get(page(past.job, "replay/?seq=5&fragment=1")).content.decode()

    assert 'data-seq="5"' in text
    assert "<html" not in text


def test_it_says_how_many_are_not_shown(viewer: Client, past: History) -> None:
    factories.applications(past.job, 105)

    text = words(viewer, page(past.job, "replay/"))

    assert "106 waiting" in text
    assert "6 more wait behind the first 100." in text
