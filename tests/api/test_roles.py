"""Each endpoint, called from a browser: a member does what a key of that reach does, or less."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.models import Company, Role
from tests.api.test_access import CALLERS, EXPECTED, Case, Scene, check, each_case, may_change
from tests.support import factories
from tests.support.callers import Callers, SessionCaller, member_caller

AS = {
    "viewer": "reader",
    "recruiter": "writer",
    "owner of the company": "writer",
    "person": "owner",
    "owner of another company": "other company",
}
"""Whose answers in the table of keys and tokens a browser gets."""

OWNERS_ONLY = {
    ("post", "/jobs/{job}/close"): 200,
    ("patch", "/companies/me"): 200,
    ("put", "/jobs/{job}/reserved-seats"): 200,
}
"""What among those a recruiter may not do, though a key that may write can."""

IN_PERSON = {
    ("GET", "/api-keys"): 200,
    ("post", "/api-keys"): 201,
    ("delete", "/api-keys/{key}"): 204,
    ("post", "/api-keys/{key}/revoke"): 200,
    ("GET", "/api-keys/{key}/requests"): 200,
}
"""What an owner may do, and no key."""


KEYS_ONLY = {"/applicants/{applicant}/tokens", "/companies/me/requests"}
"""What no person may do, only a key."""

MEMBERS_ONLY = {("put", "/applications/{application}/scores"): 409}
"""What members may do and no key, and its status: the job has no such criterion."""


@pytest.fixture
def scene(company: Company) -> Scene:
    return scene_with_browsers(company)


def scene_with_browsers(company: Company) -> Scene:
    """The scene of the table, with browsers."""
    scene = Scene(company)
    scene.callers = Callers(
        {
            "viewer": lambda: member_caller(company, Role.VIEWER),
            "recruiter": lambda: member_caller(company, Role.RECRUITER),
            "owner of the company": lambda: member_caller(company, Role.OWNER),
            "person": lambda: SessionCaller().as_applicant(scene.application.applicant),
            "owner of another company": lambda: member_caller(factories.company(), Role.OWNER),
        }
    )
    return scene


def expected(who: str, row: Any) -> int:
    """The status that the caller gets."""
    method, path, _body, statuses = row
    if (method, path) == ("delete", "/auth/token"):
        return 403  # there is no token
    if (method, path) in IN_PERSON and who == "owner of the company":
        return IN_PERSON[method, path]
    if (method, path) in IN_PERSON and who == "owner of another company":
        return 404 if "{key}" in path else IN_PERSON[method, path]
    if path in KEYS_ONLY:
        return 403
    if (method, path) in MEMBERS_ONLY and who in ("recruiter", "owner of the company"):
        return MEMBERS_ONLY[method, path]
    if (method, path) in OWNERS_ONLY and who == "recruiter":
        return 403
    return int(statuses[CALLERS.index(AS[who])])


CASES_OF_BROWSERS: list[Case] = [(who, row, expected(who, row)) for row in EXPECTED for who in AS]


@each_case([case for case in CASES_OF_BROWSERS if may_change(case)])
def test_each_browser_changes_what_is_its_users(scene: Scene, case: Case) -> None:
    check(scene, case)


CAPACITY, POLICY = {"capacity": 2}, {"policy": {"penalty_places": 2}}


@pytest.mark.parametrize("body", [CAPACITY, POLICY, CAPACITY | {"title": "New"}])
@pytest.mark.parametrize(
    ("who", "status"), [("viewer", 403), ("recruiter", 403), ("owner of the company", 200)]
)
def test_only_an_owner_changes_capacity_and_policy(
    scene: Scene, who: str, status: int, body: dict[str, Any]
) -> None:
    before = factories.row_of(scene.job_id).seq

    answer = scene.callers[who].patch(f"/jobs/{scene.job_id}", body, If_Match="*")

    assert answer.status_code == status
    assert (factories.row_of(scene.job_id).seq > before) == (status == 200)


def test_the_log_names_the_member_who_did_it(scene: Scene, company: Company) -> None:
    scene.callers["recruiter"].post(f"/jobs/{scene.job_id}/pause")

    event = factories.events(scene.job_id)[-1]
    recruiter = company.memberships.get(role=Role.RECRUITER)
    assert (event.event, event.actor_kind, event.actor_id) == (
        "JOB_PAUSED",
        "COMPANY",
        recruiter.user_id,
    )
