"""`?expand=`, `?fields=`, and old names that are still read."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import Any
from uuid import UUID

import pytest

from jobs.models import Company
from pipeline.api.endpoint import DEPRECATED_ON, SUNSET
from pipeline.api.openapi.document import build_document, list_operations
from pipeline.models import Application, Event
from tests.support import factories
from tests.support.callers import Caller, code_of, pointers
from tests.support.feeds import wait_for_the_feed
from tests.support.waiting import eventually


def test_only_the_wanted_fields_come(acme: Caller, job: UUID) -> None:
    one = acme.get(f"/jobs/{job}", {"fields": "id,status"})
    listed = acme.get("/jobs", {"fields": "id"})
    repeated = acme._client.get(f"/api/v1/jobs/{job}?fields=id&fields=title")

    assert one.json() == {"id": str(job), "status": "OPEN"}
    assert listed.json() == {"data": [{"id": str(job)}], "next_cursor": None}
    assert repeated.json().keys() == {"id", "title"}


def test_a_tag_still_covers_the_whole(acme: Caller, job: UUID) -> None:
    first = acme.get(f"/jobs/{job}", {"fields": "id"})

    again = acme.get(f"/jobs/{job}", {"fields": "id"}, if_none_match=first.headers["ETag"])
    acme.patch(f"/jobs/{job}", {"title": "New"})
    later = acme.get(f"/jobs/{job}", {"fields": "id"}, if_none_match=first.headers["ETag"])

    assert (again.status_code, later.status_code) == (304, 200)


@pytest.mark.parametrize(
    "query", ["fields=", "fields=id,", "fields=id,%00", "fields=Id", "expand="]
)
def test_an_unknown_name_is_refused(acme: Caller, job: UUID, query: str) -> None:
    answer = acme._client.get(f"/api/v1/jobs/{job}/events?{query}")

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == [f"/{query.partition('=')[0]}"]
    assert "Must be any of" in answer.json()["errors"][0]["detail"]


def test_where_it_is_not_offered_it_is_ignored_like_any_other(acme: Caller) -> None:
    whole = acme.get("/companies/me").json()

    assert acme.get("/companies/me", {"fields": "id", "expand": "x"}).json() == whole


@pytest.mark.parametrize("path", ["/events", "/jobs/{job}/events"])
def test_an_event_brings_its_application_along(acme: Caller, job: UUID, path: str) -> None:
    wait_for_the_feed()
    plain = acme.get(path.format(job=job)).json()["data"]
    expanded = acme.get(path.format(job=job), {"expand": "application"}).json()["data"]

    assert {event["application"] for event in plain} == {None}
    for event in expanded:
        application = event.pop("application")
        assert (application or {"id": None})["id"] == event["application_id"]
    assert [event | {"application": None} for event in expanded] == plain


def test_the_tag_of_expanded_events_follows_the_applications(acme: Caller, job: UUID) -> None:
    path, query = f"/jobs/{job}/events", {"expand": "application"}
    tag = acme.get(path, query).headers["ETag"]

    acme.patch(f"/applications/{factories.line(job)[0]}", {"external_id": "x"})

    assert acme.get(path, query, if_none_match=tag).status_code == 200
    plain = acme.get(path).headers["ETag"]
    assert acme.get(path, if_none_match=plain).status_code == 304


def assert_deprecated(answer: Any) -> None:
    assert answer.headers["Deprecation"] == f"@{int(DEPRECATED_ON.timestamp())}"
    assert parsedate_to_datetime(answer.headers["Sunset"]) == SUNSET


def test_old_names_are_read_and_said_to_be_old(acme: Caller, job: UUID) -> None:
    wait_for_the_feed()
    first = acme.get("/events", {"limit": "2"}).json()
    cursor = first["next_cursor"]
    old, new = (acme.get("/events", {name: cursor}) for name in ("after", "cursor"))
    was = acme.get(f"/jobs/{job}/events").json()["data"][-1]["at"]
    then, now = (acme.get(f"/jobs/{job}/replay", {name: was}) for name in ("asOf", "as_of"))
    seated, waiting = Application.objects.get(status="ACTIVE").id, factories.line(job)[0]
    said = acme.post(f"/applications/{seated}/remove", {"outcome": "HIRED", "reason_code": "OTHER"})
    says = acme.post(f"/applications/{waiting}/remove", {"outcome": "REMOVED", "reason": "OTHER"})

    assert old.json() == new.json()
    for answer in (old, then, said):
        assert answer.status_code == 200
        assert_deprecated(answer)
    for answer in (new, now, says):
        assert answer.status_code == 200
        assert "Deprecation" not in answer.headers
        assert "Sunset" not in answer.headers


def test_the_document_marks_every_old_name() -> None:
    marked = {
        parameter["name"]
        for _, _, operation in list_operations(build_document())
        for parameter in operation["parameters"]
        if parameter.get("deprecated")
    }

    assert marked == {"after", "asOf"}
    fields = build_document()["components"]["schemas"]["DecisionIn"]["properties"]
    assert [name for name, each in fields.items() if each.get("deprecated")] == ["reason_code"]


def test_a_decision_has_a_code_and_a_text(acme: Caller, job: UUID) -> None:
    one, two, three = factories.line(job)
    path = "/applications/{}/remove"
    rejected = {"outcome": "REJECTED"}
    acme.post(path.format(one), rejected | {"reason": "OTHER", "note": "was late"})
    acme.post(path.format(two), rejected | {"reason": "was late"})
    both = acme.post(path.format(three), rejected | {"reason": "late", "note": "was late"})

    decisions = [
        acme.get(f"/applications/{id_}", {"expand": "decision"}).json()["decision"]
        for id_ in (one, two)
    ]
    assert [(each["reason"], each["note"]) for each in decisions] == [
        ("OTHER", "was late"),
        (None, "was late"),
    ]
    assert (code_of(both)[0], pointers(both)) == (400, ["/reason"])


def start_now(caller: Caller, company: Company) -> Any:
    """Return the first page of a feed that starts now, once all events of before are shown.

    Until then, "now" is the start of the oldest transaction that runs, in any test beside this.
    """
    written = Event.objects.filter(company_id=company.id).count()
    eventually(lambda: len(caller.get("/events").json()["data"]) == written)
    return caller.get("/events", {"start": "now"}).json()


def shown_after(caller: Caller, start: Any) -> Any:
    """Return the events after a page, once no older transaction runs, in any test beside this."""
    query = {"cursor": start["next_cursor"]}
    eventually(lambda: caller.get("/events", query).json()["data"])
    return caller.get("/events", query).json()["data"]


def test_the_feed_can_start_now(acme: Caller, company: Company, job: UUID) -> None:
    start = start_now(acme, company)
    acme.post(f"/jobs/{job}/pause")

    assert start["data"] == []
    assert [event["event"] for event in shown_after(acme, start)] == ["JOB_PAUSED"]
    assert pointers(acme.get("/events", {"start": "then"})) == ["/start"]


def test_an_empty_feed_can_start_now(acme: Caller, company: Company) -> None:
    start = start_now(acme, company)
    acme.post("/jobs", {"title": "Cook", "capacity": 1})

    assert len(shown_after(acme, start)) == 2


def test_the_feed_can_be_limited_to_one_kind_of_event(acme: Caller, job: UUID) -> None:
    wait_for_the_feed()
    pages = [acme.get("/events", {"event": "WITHDRAWN", "limit": "2"})]
    while "Link" in pages[-1].headers:
        cursor = pages[-1].json()["next_cursor"]
        pages.append(acme.get("/events", {"event": "WITHDRAWN", "limit": "2", "cursor": cursor}))

    seen = [event["event"] for page in pages for event in page.json()["data"]]
    assert len(pages) > 2
    assert seen == ["WITHDRAWN"]
    assert pointers(acme.get("/events", {"event": "x"})) == ["/event"]
