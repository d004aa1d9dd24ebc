"""A sandbox's clock writes the same log in one step as in many: time that passes is time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pipeline.audit.verify import verify_job
from tests.support import factories
from tests.support.invariants import assert_line_is_sound
from tests.support.sandboxes import DAY, HOUR, advance, line_with_offers, sandbox, story_of

pytestmark = pytest.mark.django_db(transaction=True)

QUIET = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)


def test_thirty_days_at_once_and_hour_by_hour_write_the_same_log() -> None:
    policy = {"acknowledgment_window_seconds": DAY, "cooldown_seconds": 3 * HOUR, "max_decays": 1}
    stories = []
    for steps in ([30 * DAY], [HOUR] * (30 * 24)):
        company = sandbox()
        job_id, _ = line_with_offers(company, people=50, **policy)
        after = factories.events(job_id)[-2].seq
        for seconds in steps:
            advance(company, seconds)
        stories.append(story_of(job_id, after=after))
        assert verify_job(job_id).is_sound

    at_once, hourly = stories
    assert len([line for line in at_once if line[1] in ("DECAYED", "LAPSED")]) == 30
    assert at_once == hourly


@QUIET
@given(data=st.data())
def test_any_steps_write_the_log_that_one_step_writes(data: Any) -> None:
    minutes = st.integers(1, 12).map(lambda n: n * 600)
    policy = {
        "acknowledgment_window_seconds": data.draw(minutes),
        "cooldown_seconds": data.draw(minutes),
        "max_decays": data.draw(st.sampled_from([0, 1, 2, None])),
        "penalty_places": data.draw(st.integers(0, 3)),
    }
    people, seats = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 3))
    steps = data.draw(st.lists(st.integers(1, 20).map(lambda n: n * 600), min_size=2, max_size=5))
    stories = []
    for each in ([sum(steps)], steps):
        company = sandbox()
        job_id, _ = line_with_offers(company, people=people, seats=seats, **policy)
        after = next(e.seq for e in factories.events(job_id) if e.event == "CAPACITY_CHANGED")
        for seconds in each:
            advance(company, seconds)
        stories.append(story_of(job_id, after=after))
        assert_line_is_sound(job_id)

    assert stories[0] == stories[1]
