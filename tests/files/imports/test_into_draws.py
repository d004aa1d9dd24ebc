"""Imports into jobs whose order is still to be drawn by lot."""

from __future__ import annotations

import pytest

from tests.files.imports.files import as_csv, imported, people, refusals
from tests.support import factories
from tests.support.invariants import assert_line_is_sound
from tests.support.lottery import lottery

pytestmark = pytest.mark.django_db(transaction=True)


def test_rows_beyond_what_a_draw_takes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.domain.draw.MOST_IN_DRAW", 3)
    job_id = lottery()
    live = factories.application(job_id)

    run = imported(job_id, as_csv([*people(4), ("Live", live.applicant.email)]))

    assert refusals(run) == [(4, "DRAW_FULL"), (5, "DRAW_FULL"), (6, "ALREADY_APPLIED")]
    assert (run.accepted, run.ending) == (2, "COMPLETE")
    assert_line_is_sound(job_id)
