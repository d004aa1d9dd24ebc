"""The page of figures, and the charts on it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.test import Client

from jobs.models import Company
from pipeline.pages.charts import count_ticks, duration_ticks, time_ticks
from pipeline.pages.figures import figures as module
from pipeline.pages.figures.job_charts import describe_hours
from tests.support import factories
from tests.support.history import History, page

BERLIN = ZoneInfo("Europe/Berlin")


def text_of(client: Client, job: UUID, query: str = "") -> str:
    response = client.get(page(job, f"figures/{query}"))
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def test_every_chart_has_a_title_a_description_and_its_numbers(
    viewer: Client, past: History
) -> None:
    text = text_of(viewer, past.job)

    for ident in ("occupancy", "idle", "answers", "waits", "hours"):
        assert f'role="img" aria-labelledby="{ident}-t {ident}-d"' in text
        assert f'id="{ident}-t"' in text
    assert text.count("<summary>Numbers</summary>") == 5
    assert "window: 10 min" in text
    assert "50% of the offers were confirmed" in text


def test_the_numbers_of_the_whole_life_stand_there_too(viewer: Client, past: History) -> None:
    text = text_of(viewer, past.job, "?range=24h")

    assert "1, 50% of all completed offers" in text
    assert "half within 1 min" in text


@pytest.mark.parametrize(
    ("misses", "sentence"),
    [
        ({9: 2, 14: 1}, "Most deadlines were missed between 09:00 and 10:00."),
        ({9: 2, 10: 2, 14: 1}, "Most deadlines were missed between 09:00 and 11:00."),
        ({23: 1}, "Most deadlines were missed between 23:00 and 00:00."),
        (
            {9: 2, 14: 2, 20: 1},
            "Most deadlines were missed in these hours: 09:00 to 10:00 and 14:00 to 15:00.",
        ),
        (
            dict.fromkeys((1, 9, 14, 20), 1),
            "No hour stands out: none had more than 1 missed deadline.",
        ),
        (
            dict.fromkeys(range(24), 2),
            "No hour stands out: none had more than 2 missed deadlines.",
        ),
    ],
)
def test_the_hours_with_the_most_misses_are_named_if_they_are_few(
    misses: dict[int, int], sentence: str
) -> None:
    assert describe_hours([misses.get(hour, 0) for hour in range(24)]) == sentence


def test_a_job_without_data_shows_no_empty_charts(viewer: Client, company: Company) -> None:
    draft = factories.job(company_id=company.id, open_now=False)
    empty = factories.job(company_id=company.id)

    assert "Open the job to see how full its seats are" in text_of(viewer, draft)
    page = viewer.get(f"/company/jobs/{empty}/figures/").content.decode()
    assert 'id="h-life"' in page
    for part in ("h-answers", "h-waits", "h-hours"):
        assert f'id="{part}"' not in page


def test_an_unknown_range_is_the_usual_one(viewer: Client, past: History) -> None:
    assert 'href="?range=7d" aria-current="true"' in text_of(viewer, past.job, "?range=forever")


def test_it_says_when_only_the_last_events_are_shown(
    viewer: Client, past: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.figures.series.MOST_EVENTS", 4)
    monkeypatch.setattr(module, "MOST_EVENTS", 4)

    text = text_of(viewer, past.job, "?range=all")

    assert "show only its last 4 events" in text
    assert "these numbers take too long to show here" in text


def test_time_labels_are_round_in_the_readers_zone() -> None:
    start = datetime(2026, 11, 12, 19, 49, tzinfo=UTC)

    week = time_ticks(start, start + timedelta(days=9), BERLIN)
    day = time_ticks(start, start + timedelta(hours=24), BERLIN)
    hour = time_ticks(start, start + timedelta(minutes=60), BERLIN)

    assert [tick.label for tick in week] == ["14 Nov", "16 Nov", "18 Nov", "20 Nov"]
    assert [tick.label for tick in day] == ["13 Nov", "06:00", "12:00", "18:00"]
    assert [tick.label for tick in hour] == ["20:50", "21:00", "21:10", "21:20", "21:30", "21:40"]
    assert all(0 <= tick.at <= 1 for tick in (*week, *day, *hour))


def test_days_are_from_midnight_to_midnight_when_the_clocks_change() -> None:
    start = datetime(2026, 10, 23, 22, 0, tzinfo=UTC)

    ticks = time_ticks(start, start + timedelta(days=4), BERLIN)

    assert [tick.label for tick in ticks] == ["24 Oct", "25 Oct", "26 Oct", "27 Oct"]


@pytest.mark.parametrize(
    ("highest", "top", "labels"),
    [
        (0, 1, ["0", "1"]),
        (1, 1, ["0", "1"]),
        (13, 15, ["0", "5", "10", "15"]),
        (70_000, 80_000, ["0", "20,000", "40,000", "60,000", "80,000"]),
    ],
)
def test_axes_of_counts_are_whole_and_round(highest: int, top: float, labels: list[str]) -> None:
    assert count_ticks(highest)[0] == top
    assert [tick.label for tick in count_ticks(highest)[1]] == labels


@pytest.mark.parametrize("longest", [0.2, 1, 59, 61, 600, 86_400, 2_592_000, 1e8])
def test_axes_of_spans_begin_at_nothing_and_stay_short(longest: float) -> None:
    ticks = duration_ticks(longest)

    assert ticks[0].label == "0"
    assert 1 <= len(ticks) <= 7
