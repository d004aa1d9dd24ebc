"""ETags of what a job's company reads."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.support import factories
from tests.support.callers import Caller
from tests.support.clock import let_time_pass


@pytest.mark.parametrize("path", ["pipeline", "queue", "events", "replay", "verify"])
def test_reads_of_a_job_have_a_tag_that_changes_only_with_what_they_show(
    acme: Caller, job: UUID, path: str
) -> None:
    query = {} if path != "replay" else {"seq": "5"}
    first = acme.get(f"/jobs/{job}/{path}", query)

    tag = first.headers["ETag"]
    again = acme.get(f"/jobs/{job}/{path}", query, if_none_match=tag)
    factories.application(job)
    later = acme.get(f"/jobs/{job}/{path}", {}, if_none_match=tag)

    assert tag.startswith('W/"')
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["ETag"] == tag
    assert later.status_code == 200
    assert later.headers["ETag"] != tag


def test_time_alone_changes_no_tag(acme: Caller, job: UUID) -> None:
    tag = acme.get(f"/jobs/{job}/queue").headers["ETag"]
    seconds = acme.get(f"/jobs/{job}/queue").json()["data"][0]["time_in_status_seconds"]
    let_time_pass(job, 0)

    answer = acme.get(f"/jobs/{job}/queue", if_none_match=tag)

    assert seconds >= 0
    assert answer.status_code == 304
