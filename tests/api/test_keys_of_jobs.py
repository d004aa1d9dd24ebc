"""Keys that are limited to some jobs: nothing else of the company exists for them."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, transaction

from jobs import keys
from jobs.errors import JobsNotOfCompany
from jobs.models import MOST_JOBS_OF_KEY, Activity, ApiKey, Company, Role, Scope, User
from pipeline.models import Application
from pipeline.services.jobs import JobChanges, update_job
from pipeline.services.leaving import remove
from tests.api.test_access import NEW_JOB
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.callers import Caller, code_of
from tests.support.feeds import wait_for_the_feed
from tests.support.pages import page_of, text_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def job(company: Company) -> UUID:
    """The job that the key is for, with a person in a seat and one in line."""
    job_id = factories.job(company_id=company.id)
    factories.applications(job_id, 2)
    return job_id


@pytest.fixture
def other(company: Company) -> Application:
    """An application to another job of the company."""
    return factories.application(factories.job(company_id=company.id))


@pytest.fixture
def limited(company: Company, job: UUID) -> Caller:
    return limited_key(company, job)


def limited_key(company: Company, *jobs: UUID, scopes: Any = tuple(Scope)) -> Caller:
    return Caller(keys.create(company_id=company.id, name="one", scopes=scopes, job_ids=jobs)[1])


def first_of(job: UUID) -> Application:
    return Application.objects.filter(job_id=job).order_by("id")[0]


def test_on_its_job_it_does_what_its_scopes_allow(limited: Caller, job: UUID) -> None:
    mine = first_of(job)

    told = limited.get(f"/jobs/{job}")
    assert told.json()["capacity"] == 1
    for path in ("pipeline", "queue", "summary", "events", "applications", "verify", "privacy"):
        assert limited.get(f"/jobs/{job}/{path}").status_code == 200, path
    assert limited.get(f"/applications/{mine.id}").status_code == 200
    added = limited.post(f"/jobs/{job}/applications", {"name": "B", "email": "b@example.org"})
    assert added.status_code == 201
    gone = limited.post(f"/applications/{mine.id}/remove", {"outcome": "REJECTED"})
    assert gone.json()["status"] == "INACTIVE"
    etag = limited.get(f"/jobs/{job}").headers["ETag"]
    assert limited.patch(f"/jobs/{job}", {"capacity": 3}, if_match=etag).status_code == 200
    assert limited.post(f"/jobs/{job}/close").status_code == 200


def test_a_read_key_changes_nothing_there(company: Company, job: UUID) -> None:
    reader = limited_key(company, job, scopes=[Scope.READ])

    refused = reader.post(f"/jobs/{job}/close")

    assert code_of(refused) == (403, "PERMISSION_DENIED")
    assert "scope 'write'" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("get", "/jobs/{job}/pipeline", None),
        ("get", "/jobs/{job}/events", None),
        ("get", "/jobs/{job}/applications", None),
        ("get", "/jobs/{job}/replay?seq=1", None),
        ("patch", "/jobs/{job}", {"title": "x"}),
        ("post", "/jobs/{job}/close", {}),
        ("post", "/jobs/{job}/applications", {"name": "B", "email": "b@example.org"}),
        ("get", "/jobs/{draft}", None),
        ("get", "/applications/{application}", None),
        ("get", "/applications/{application}/timeline", None),
        ("get", "/applications/{application}/messages", None),
        ("get", "/applications/{application}/files", None),
        ("patch", "/applications/{application}", {"external_id": "x"}),
        ("post", "/applications/{application}/remove", {"outcome": "REMOVED"}),
        ("get", "/applicants/{applicant}", None),
        ("get", "/applicants/{applicant}/applications", None),
        ("post", "/uploads", {"job_id": "{job}", "name": "a.pdf", "size_bytes": 9}),
    ],
)
def test_what_is_of_another_job_does_not_exist(
    limited: Caller, company: Company, other: Application, method: str, path: str, body: Any
) -> None:
    names = {
        "job": other.job_id,
        "draft": factories.job(company_id=company.id, open_now=False),
        "application": other.id,
        "applicant": other.applicant_id,
    }
    named = {
        name: each.format(**names) if isinstance(each, str) else each
        for name, each in (body or {}).items()
    }
    seen = Application.objects.values_list("status", "name").order_by("id")
    before = list(seen)

    path = path.format(**names)
    answer = limited.get(path) if method == "get" else getattr(limited, method)(path, named)

    assert code_of(answer) == (404, "NOT_FOUND")
    assert list(seen) == before


def test_of_another_open_job_it_sees_what_strangers_see(
    limited: Caller, other: Application, acme: Caller
) -> None:
    path = f"/jobs/{other.job_id}"

    assert limited.get(path).json() == Caller().get(path).json()
    assert limited.get(path).json().keys() <= acme.get(path).json().keys()


@pytest.mark.parametrize(
    "path",
    ["/companies/me", "/applicants?email=a@example.org", "/tasks", "/schedules", "/task-types"],
)
def test_what_is_of_the_whole_company_does_not_exist(limited: Caller, path: str) -> None:
    assert code_of(limited.get(path)) == (404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/jobs", NEW_JOB),
        ("/webhooks", {"url": "https://a.example/"}),
        ("/tasks", {"type": "demo.sleep", "payload": {"seconds": 1}}),
        ("/schedules", {"name": "x", "cron": "0 9 * * 1", "type": "demo.sleep", "payload": {}}),
        ("/applicants/{applicant}/tokens", {}),
        (
            "/jobs/{job}/applications/import",
            {"applications": [{"name": "A", "email": "a@b.example"}]},
        ),
    ],
)
def test_it_changes_nothing_of_the_whole_company(
    limited: Caller, job: UUID, path: str, body: Any
) -> None:
    mine = first_of(job)

    refused = limited.post(path.format(job=job, applicant=mine.applicant_id), body)

    assert code_of(refused) == (403, "PERMISSION_DENIED")
    assert "a key for the whole company" in refused.json()["detail"]


def test_it_manages_no_keys(limited: Caller) -> None:
    assert code_of(limited.get("/api-keys")) == (403, "PERMISSION_DENIED")


def test_lists_have_its_jobs_only(
    limited: Caller, job: UUID, other: Application, company: Company
) -> None:
    for each in (first_of(job), other):
        remove(application_id=each.id, outcome="REJECTED", actor=factories.RECRUITER)  # type: ignore[arg-type]

    jobs = limited.get("/jobs").json()["data"]

    assert [each["id"] for each in jobs] == [str(job)]
    assert limited.get("/contests").json()["data"] == []
    assert limited.get("/companies/me/requests").status_code == 200


def test_the_feed_has_its_jobs_only_and_goes_on(
    limited: Caller, job: UUID, other: Application, acme: Caller
) -> None:
    wait_for_the_feed()
    first = limited.get("/events", {"limit": "2"}).json()
    rest = limited.get("/events", {"cursor": first["next_cursor"]}).json()
    now = limited.get("/events", {"start": "now"}).json()

    events = first["data"] + rest["data"]
    assert {each["job_id"] for each in events} == {str(job)}
    assert [each["seq"] for each in events] == list(range(1, len(events) + 1))
    assert now["next_cursor"] == rest["next_cursor"]
    factories.application(other.job_id)
    wait_for_the_feed()
    assert limited.get("/events", {"cursor": rest["next_cursor"]}).json()["data"] == []
    factories.application(job)
    wait_for_the_feed()
    [news] = limited.get("/events", {"cursor": rest["next_cursor"]}).json()["data"]
    assert news["event"] == "APPLIED"
    theirs = acme.get("/events").json()["data"]
    assert {each["job_id"] for each in theirs} == {str(job), str(other.job_id)}


def test_a_place_in_another_jobs_log_is_none_of_its_feed(
    limited: Caller, other: Application, acme: Caller
) -> None:
    wait_for_the_feed()
    place = acme.get("/events").json()["next_cursor"]
    assert acme.get("/events").json()["data"][-1]["job_id"] == str(other.job_id)

    assert limited.get("/events", {"cursor": place}).status_code == 400


def test_changes_are_those_of_its_jobs(
    limited: Caller, job: UUID, other: Application, acme: Caller
) -> None:
    for each in (other.job_id, job):
        update_job(
            job_id=each, changes=JobChanges(posting={"title": "New"}), actor=factories.RECRUITER
        )
    wait_for_the_feed()

    mine = limited.get("/changes").json()
    everything = acme.get("/changes").json()

    assert [each["job_id"] for each in mine["data"]] == [str(job)]
    assert [each["job_id"] for each in everything["data"]] == [str(other.job_id), str(job)]
    assert limited.get("/changes", {"start": "now"}).json()["next_cursor"] == mine["next_cursor"]
    foreign = acme.get("/changes", {"limit": "1"}).json()["next_cursor"]
    assert limited.get("/changes", {"cursor": foreign}).status_code == 400


def test_it_submits_nobody_whom_only_other_jobs_know(
    limited: Caller, job: UUID, other: Application
) -> None:
    refused = limited.post(f"/jobs/{job}/applications", {"applicant_id": str(other.applicant_id)})

    assert code_of(refused) == (404, "NOT_FOUND")


def test_a_file_for_its_job_is_its_own_and_one_for_another_is_not(
    limited: Caller, job: UUID, other: Application, acme: Caller, attachment_folder: Any
) -> None:
    announced = {"name": "a.pdf", "size_bytes": 9}
    mine = limited.post("/uploads", announced | {"job_id": str(job)})
    theirs = acme.post("/uploads", announced | {"job_id": str(other.job_id)})

    assert (mine.status_code, theirs.status_code) == (201, 201)
    assert limited.get(f"/uploads/{mine.json()['id']}").status_code == 200
    assert code_of(limited.get(f"/uploads/{theirs.json()['id']}")) == (404, "NOT_FOUND")


def test_jobs_must_be_few_and_ones_own(company: Company, job: UUID) -> None:
    def make(jobs: Any) -> Any:
        return keys.create(company_id=company.id, name="x", scopes=[Scope.READ], job_ids=jobs)

    for wrong in ([factories.job()], [uuid4()], [uuid4() for _ in range(MOST_JOBS_OF_KEY + 1)]):
        with pytest.raises(JobsNotOfCompany):
            make(wrong)
    row, _key = make([job, job])
    assert row.job_ids == [job]
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiKey.objects.filter(id=row.id).update(job_ids=[])


@pytest.fixture
def owner(company: Company) -> User:
    return member_of(company, Role.OWNER)


def test_an_owner_makes_one_on_the_page(company: Company, job: UUID, owner: User) -> None:
    browser, foreign = browser_of(owner), factories.job()
    form = {"key_id": str(uuid4()), "name": "For the fair", "scopes": ["read"], "jobs": [str(job)]}

    refused = browser.post("/company/keys/", form | {"jobs": [str(foreign)]})
    made = browser.post("/company/keys/", form)

    assert refused.status_code == 422
    assert made.status_code == 201
    row = ApiKey.objects.get(name="For the fair")
    assert row.job_ids == [job]
    page = page_of(browser, "/company/keys/")
    assert "Only these jobs: <bdi>Engineer</bdi>" in page
    act = Activity.objects.get(kind="key_of_jobs.created")
    assert act.about == {"name": "For the fair", "scopes": "read", "jobs": "1"}
    assert "For the fair" in text_of(browser.get("/company/activity/"))


def test_an_owner_makes_one_over_the_api(company: Company, job: UUID, owner: User) -> None:
    browser = browser_of(owner)

    def make(**more: Any) -> Any:
        body = {"name": "For the fair", "scopes": ["read"]} | more
        return browser.post("/api/v1/api-keys", body, content_type="application/json")

    made, plain = make(job_ids=[str(job)]), make()

    assert (made.status_code, made.json()["job_ids"]) == (201, [str(job)])
    assert plain.json()["job_ids"] is None
    listed = browser.get("/api/v1/api-keys").json()["data"]
    assert [each["job_ids"] for each in listed] == [None, [str(job)]]
    foreign = make(job_ids=[str(factories.job())])
    assert foreign.status_code == 400
    assert foreign.json()["errors"][0]["pointer"] == "/job_ids"
    assert make(job_ids=[]).status_code == 400
    assert Caller(made.json()["key"]).get("/jobs").json()["data"][0]["id"] == str(job)
