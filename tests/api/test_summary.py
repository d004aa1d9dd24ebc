"""Numbers of a job in the API."""

from __future__ import annotations

from uuid import UUID

from tests.support.callers import Caller


def test_a_job_in_numbers(acme: Caller, job: UUID) -> None:
    summary = acme.get(f"/jobs/{job}/summary").json()

    seconds = summary["average_seconds_to_promotion"]
    assert summary["job_id"] == str(job)
    assert summary["counts_by_status"] == {
        "WAITLIST": 3,
        "PENDING_ACKNOWLEDGMENT": 1,
        "ACTIVE": 1,
        "INACTIVE": 1,
    }
    assert summary["counts_by_outcome"]["WITHDRAWN"] == 1
    assert seconds == summary["median_seconds_to_promotion"] == summary["p90_seconds_to_promotion"]
    assert 0 <= seconds < 60
    assert summary["average_seconds_to_acknowledge"] is None
    assert summary["acknowledgment_rate"] is None
    assert summary["conversion"] == {
        "applied": 6,
        "seated": 2,
        "hired": 0,
        "applied_to_seated": 0.3333,
        "seated_to_hired": 0.0,
        "applied_to_hired": 0.0,
    }
    assert (summary["churn"], summary["seats_freed"], summary["decay_events"]) == (1.0, 1, 0)
    assert summary["seat_idle_while_waiting_seconds"] == 0
    assert summary["server_time"].endswith("Z")


def test_a_summary_that_has_not_changed_is_not_sent_again(acme: Caller, job: UUID) -> None:
    first = acme.get(f"/jobs/{job}/summary")

    again = acme.get(f"/jobs/{job}/summary", if_none_match=first.headers["ETag"])

    assert (again.status_code, again.content) == (304, b"")
