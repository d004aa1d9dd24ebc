"""A closed job: all its pages say so, and nothing about it can change."""

from __future__ import annotations

from uuid import UUID

from django.test import Client

from jobs.models import Job
from tests.support.pages import page_of


def test_a_closed_job_shows_as_closed_and_stays_as_it_is(owner: Client, job: UUID) -> None:
    path = f"/company/jobs/{job}/"
    given = {"section": "posting", "title": "Other"}
    owner.post(f"{path}close/")

    assert owner.post(f"{path}settings/", given).status_code == 409
    settings = page_of(owner, f"{path}settings/")
    assert "The job is closed, so its posting, seats and rules cannot change." in settings
    assert 'name="title"' not in settings
    assert "Extra seats go to the next" not in settings
    assert Job.objects.get(id=job).posting.title == "Engineer"
    seats = page_of(owner, f"{path}capacity/")
    assert "This job is closed" in seats
    assert "Preview the change" not in seats
    assert owner.post(f"{path}capacity/", {"capacity": 9}).status_code == 422
    board = page_of(owner, path)
    assert "Free seat" not in board
    assert " free</span>" not in board
    for page in ("", "timeline/", "replay/", "figures/", "settings/"):
        assert "<span>closed <time" in page_of(owner, f"{path}{page}")
