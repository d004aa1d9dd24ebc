"""The recipe of docs/api.md for a copy in another system, followed to the letter."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from jobs.models import Company
from pipeline.api.openapi.document import build_document
from pipeline.models import Application, ChangeKind
from pipeline.privacy import retention
from pipeline.privacy.erase import erase_person
from pipeline.services.jobs import rename
from tests.api.test_imports import bring, run
from tests.support.callers import Caller, key_of
from tests.support.clock import database_now
from tests.support.environment import ROOT
from tests.support.feeds import wait_for_the_feed
from tests.support.sandboxes import DAY, HOUR, advance, sandbox
from tests.support.webhooks import endpoint

PAGE = (ROOT / "docs" / "api.md").read_text()
RECIPE = PAGE.partition("## Keep a copy in step")[2].partition("\n## ")[0]
_TABLE = RECIPE.partition("| field of an application | in a copy |\n")[2].partition("\n\n")[0]
# The rows of the table about fields that change without the object: name to instruction.
OF_TABLE = {
    name: rule
    for names, rule in re.findall(r"^\| (`.*?`) \| (.*?) \|$", _TABLE, re.MULTILINE)
    for name in re.findall(r"`([a-z_.]+)`", names)
}


class Copy:
    """Copy of a company's jobs and applications, kept by the steps of the page and no others."""

    def __init__(self, api: Caller) -> None:
        self.api = api
        self.jobs: dict[str, Any] = {}
        self.applications: dict[str, Any] = {}
        self.plans: dict[str, Any] = {}
        self.kinds: list[str] = []
        # Step 1.
        self.cursors = {
            path: api.get(path, {"start": "now"}).json()["next_cursor"]
            for path in ("/events", "/changes")
        }
        # Step 2.
        for job in self.pages("/jobs"):
            self.jobs[job["id"]] = job
            self.applications |= {
                each["id"]: each for each in self.pages(f"/jobs/{job['id']}/applications")
            }
            self.read_plans(job["id"])

    def pages(self, path: str) -> list[Any]:
        found: list[Any] = []
        cursor: dict[str, str] = {}
        while True:
            page = self.api.get(path, {"limit": "200"} | cursor).json()
            found += page["data"]
            if page["next_cursor"] is None:
                return found
            cursor = {"cursor": page["next_cursor"]}

    def read_plans(self, job_id: str) -> None:
        self.plans[job_id] = self.api.get(f"/jobs/{job_id}/planned-seats").json()["data"]

    def follow(self) -> None:
        """Follow step 3 until neither feed has more."""
        wait_for_the_feed()
        for path in self.cursors:
            more = True
            while more:
                query = {"cursor": self.cursors[path], "expand": "application", "limit": "7"}
                answer = self.api.get(path, query)
                self.take(answer.json()["data"])
                self.cursors[path] = answer.json()["next_cursor"]
                more = "Link" in answer.headers

    def take(self, rows: list[Any]) -> None:
        for row in rows:
            self.kinds.append(row.get("kind") or row["event"])
            if row["application"] is not None:
                self.applications[row["application"]["id"]] = row["application"]
        for job_id in {row["job_id"] for row in rows if row["job_id"]}:
            answer = self.api.get(f"/jobs/{job_id}")
            if answer.status_code == 404:
                self.jobs.pop(job_id, None), self.plans.pop(job_id, None)
            else:
                self.jobs[job_id] = answer.json()
                self.read_plans(job_id)

    def seen(self) -> tuple[Any, Any, Any]:
        """Return the copy with the fields of the table taken as the table says."""
        applications = {id_: self.without_table(each) for id_, each in self.applications.items()}
        return self.jobs, applications, self.plans

    def without_table(self, application: dict[str, Any]) -> dict[str, Any]:
        job, now = self.jobs[application["job"]["id"]], self.api.get("/test/clock").json()["now"]
        told = {name: value for name, value in application.items() if name in SAME}
        for name, rule in OF_TABLE.items():
            if rule.startswith("null once"):
                told[name] = None if (application[name] or "") <= now else application[name]
        most = job["policy"]["max_decays"]
        left = None if most is None else max(0, most - application["decay_count"])
        return told | {
            "people_waiting": job["waitlist_count"],
            "decays_left": left,
            "job": {"id": job["id"], "title": job["title"]},
        }


SAME = (
    build_document()["components"]["schemas"]["Application"]["properties"].keys() - OF_TABLE.keys()
)


def fresh(api: Caller) -> tuple[Any, Any, Any]:
    """Return everything read again, with the fields that no copy has left out."""
    made = Copy(api)
    left_out = {name for name, rule in OF_TABLE.items() if rule.startswith("leave it out")}
    applications = {
        id_: {name: value for name, value in each.items() if name not in left_out}
        for id_, each in made.applications.items()
    }
    return made.jobs, applications, made.plans


@pytest.fixture
def tested(company: Company) -> Company:
    return sandbox(company)


def test_the_table_names_fields_of_the_two_objects() -> None:
    schemas = build_document()["components"]["schemas"]

    assert OF_TABLE.keys() <= {*schemas["Application"]["properties"], "job.title"}
    assert {"eligible_at", "time_in_status_seconds", "people_waiting"} <= OF_TABLE.keys()


def submitted(api: Caller, job: str, number: int) -> str:
    person = {"name": f"P{number}", "email": f"p{number}@example.org", "external_id": f"x{number}"}
    return str(api.post(f"/jobs/{job}/applications", person).json()["id"])


@pytest.mark.slow
def test_a_copy_kept_by_the_recipe_equals_a_fresh_read(tested: Company) -> None:
    api = key_of(tested.id)
    policy = {"acknowledge_first_seat": False, "cooldown_seconds": 3 * HOUR}
    job, busy, draft = (
        api.post(
            "/jobs", {"title": title, "capacity": 1, "policy": policy, "status": status}
        ).json()["id"]
        for title, status in (("Cook", "OPEN"), ("Mate", "OPEN"), ("Bosun", "DRAFT"))
    )
    people = [submitted(api, job, number) for number in range(6)]
    api.post(f"/applications/{people[5]}/remove", {"outcome": "REJECTED"})
    copy = Copy(api)
    assert copy.seen() == fresh(api)

    csv = "name,email\n" + "".join(f"I{n},i{n}@example.org\n" for n in range(30))
    run(bring(api, busy, csv.encode()))
    api.patch(f"/applications/{people[1]}", {"external_id": None, "metadata": {"a": "b"}})
    api.patch(f"/jobs/{job}", {"title": "Chef", "metadata": {"c": "d"}, "external_id": "own"})
    rename(application_id=Application.objects.get(id=people[2]).id, name="Another Name")
    api.delete(f"/jobs/{draft}")
    when = (database_now() + timedelta(days=90)).isoformat()
    api.post(f"/jobs/{busy}/planned-seats", {"seats": 1, "first_at": when})
    etag = api.get(f"/jobs/{job}").headers["ETag"]
    api.patch(f"/jobs/{job}", {"policy": {"max_decays": 7}}, if_match=etag)
    api.post(f"/applications/{people[0]}/remove", {"outcome": "HIRED"})  # the next gets an offer
    advance(tested, DAY + HOUR)  # which is missed: a cool-down begins
    copy.follow()
    assert copy.seen() == fresh(api)
    held = [each for each in copy.applications.values() if each["eligible_at"]]
    assert held

    advance(tested, 3 * HOUR)  # the cool-down ends by itself
    erase_person(applicant_id=Application.objects.get(id=people[3]).applicant_id)
    retention.set_period(job_id=UUID(job), keep_days=30, legal_hold=False)
    advance(tested, 31 * DAY)
    assert retention.erase_batch() > 0
    copy.follow()
    assert copy.seen() == fresh(api)
    assert copy.applications[people[3]]["applicant"]["name"] == "Erased person"
    assert copy.applications[people[5]]["external_id"] is None
    assert {
        "JOB_CHANGED",
        "JOB_DELETED",
        "PLANNED_SEATS_CHANGED",
        "APPLICATION_CHANGED",
        "APPLICATION_ERASED",
    } <= set(copy.kinds)


def test_the_end_of_an_endpoint_is_a_change(acme: Caller, company: Company) -> None:
    hook, _ = endpoint(company.id, "https://example.org/hook")

    acme.patch(f"/webhooks/{hook.id}", {"is_active": False})
    wait_for_the_feed()
    [change] = acme.get("/changes").json()["data"]

    assert (change["kind"], change["webhook_id"]) == ("WEBHOOK_SWITCHED_OFF", str(hook.id))


def test_every_kind_of_change_is_explained_on_the_page() -> None:
    assert [each for each in ChangeKind if f"`{each}`" not in RECIPE] == []


@pytest.mark.parametrize("cursor", ["", "x", "W10", "WyJ4Il0"])
def test_what_is_no_cursor_is_refused(acme: Caller, cursor: str) -> None:
    answer = acme.get("/changes", {"cursor": cursor})

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "/cursor"
