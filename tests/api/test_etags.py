"""ETags of a company's reads about its job."""

from __future__ import annotations

from uuid import UUID

import pytest

from pipeline.models import Application
from tests.support import factories
from tests.support.callers import Caller, signed_in
from tests.support.clock import let_time_pass

NO_COOL_DOWN = b'"eligible_at":null'


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


@pytest.mark.parametrize("path", ["pipeline", "queue"])
def test_the_end_of_a_cool_down_changes_the_tag(
    acme: Caller, offered: Application, path: str
) -> None:
    job = offered.job_id
    let_time_pass(job, factories.WINDOW + 1)
    signed_in(offered.applicant).post(f"/applications/{offered.id}/acknowledge")  # too late
    cooling = acme.get(f"/jobs/{job}/{path}")

    let_time_pass(job, factories.COOLDOWN + 1)
    again = acme.get(f"/jobs/{job}/{path}", if_none_match=cooling.headers["ETag"])

    assert cooling.content.count(NO_COOL_DOWN) < again.content.count(NO_COOL_DOWN)
    assert again.status_code == 200


@pytest.mark.parametrize(
    "changed", ['W/"{}"', '"{}-gzip"', 'W/"{}-gzip"', '"{};br"', '"0-0", W/"{}"']
)
def test_a_tag_that_a_compressing_proxy_changed_means_the_same_state(
    acme: Caller, job: UUID, changed: str
) -> None:
    path = f"/jobs/{job}"
    seen = changed.format(acme.get(path).headers["ETag"].strip('"'))

    again = acme.get(path, if_none_match=seen)
    answer = acme.patch(path, {"capacity": 7}, if_match=seen)
    late = acme.patch(path, {"capacity": 8}, if_match=seen)

    assert (again.status_code, answer.status_code, late.status_code) == (304, 200, 412)
