"""Every address, called by members in every role: what a role does not show does not exist.

The table of permissions says what to expect, so an address that is new is tried by itself.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from django.test import Client
from django.urls import resolve

from applicants.models import Applicant
from jobs import keys
from jobs.models import Company, JobMember, JobPosting, JobRole, Membership, Role, Scope
from pipeline.api import auth
from pipeline.api.openapi.schemas import OPERATION
from pipeline.domain.permissions import RULES, Action
from pipeline.models import (
    Application,
    ApplicationReference,
    ApplicationSource,
    Criterion,
    GivenAnswers,
    JobReference,
)
from pipeline.pages import access
from tests.strangers.acme import furnish, state_of
from tests.strangers.addresses import Address, addresses
from tests.strangers.test_every_address import NOT_READY, _send, bearer, faults
from tests.support import factories
from tests.support.accounts import browser_of, job_member_of, member_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.timeout(1200)]

# What a member changes of their own by signing in and looking around.
OWN = {
    *("account.EmailAddress", "jobs.User", "jobs.Membership", "usersessions.UserSession"),
    *("jobs.Activity", "pipeline.SavedView"),
}
# What a key changes by being used.
OWN_OF_KEY = ("jobs.ApiKey", "pipeline.RequestRecord")
# They end the session, or belong to the account and not to the company.
NOT_THE_COMPANYS = ("account/", "me/", "sign-in/", "admin/", "dev/", "demo/", "live/")


@pytest.fixture(autouse=True)
def unthrottled(settings: Any, mail_at_once: None) -> None:
    settings.THROTTLE_RATES = dict.fromkeys(settings.THROTTLE_RATES)


def _state(acme: Company) -> dict[str, str]:
    return {label: rows for label, rows in state_of(acme).items() if label not in OWN}


def _faults(client: Client, ids: dict[str, Any]) -> list[str]:
    """Return what a member sees or breaks at the addresses about a company."""
    below = ("company/", "api/", "jobs/", "files/")
    return [each for start in below for each in faults(lambda: client, ids, start)]


def _other_job(acme: Company) -> UUID:
    """A job of the same company, with someone in a seat."""
    job = factories.job(company_id=acme.id)
    factories.application(job)
    return job


@pytest.mark.parametrize("role", list(JobRole))
def test_of_other_jobs_of_the_company_a_member_of_one_job_sees_and_changes_nothing(
    role: JobRole,
) -> None:
    acme, ids = furnish()
    user = job_member_of(acme, _other_job(acme), role)
    JobPosting.objects.filter(job_id__in=ids["job_id"]).exclude(job__status="DRAFT").update(
        title="Public"
    )
    before = _state(acme)

    wrong = _faults(browser_of(user), ids)

    assert wrong == []
    assert _state(acme) == before


def test_of_other_jobs_of_the_company_a_key_of_one_job_sees_and_changes_nothing() -> None:
    acme, ids = furnish()
    _, key = keys.create(
        company_id=acme.id, name="one", scopes=list(Scope), job_ids=[_other_job(acme)]
    )
    JobPosting.objects.filter(job_id__in=ids["job_id"]).exclude(job__status="DRAFT").update(
        title="Public"
    )
    before = _state(acme)

    wrong = faults(lambda: bearer(key), ids, "api/")

    after = _state(acme)
    for label in OWN_OF_KEY:
        before.pop(label), after.pop(label)
    assert wrong == []
    assert after == before


def _unmark_what_an_interviewer_sees(job: Any, seated: Any) -> None:
    """Leave the marker in everything but the person in the seat and the criteria of the job."""
    row = Application.objects.select_related("applicant").get(id=seated)
    Applicant.objects.filter(id=row.applicant_id).update(email="ann@example.org", name="Ann")
    Application.objects.filter(id=seated).update(name="Ann")
    GivenAnswers.objects.filter(application_id=seated).update(answers={})
    ApplicationReference.objects.filter(application_id=seated).delete()
    ApplicationSource.objects.filter(application_id=seated).delete()
    JobReference.objects.filter(job_id=job).delete()
    Criterion.objects.filter(job_id=job).update(label="Craft")


def test_an_interviewer_sees_the_people_in_seats_alone() -> None:
    acme, ids = furnish()
    job, seated = ids["job_id"][0], ids["application_id"][0]
    _unmark_what_an_interviewer_sees(job, seated)
    client = browser_of(job_member_of(acme, job, JobRole.INTERVIEWER))

    wrong = _faults(client, ids)

    assert wrong == []
    assert b"Ann" in client.get(f"/company/jobs/{job}/").content
    assert b"Ann" in client.get(f"/company/applications/{seated}/").content
    assert b"Ann" in client.get(f"/api/v1/applications/{seated}").content


class _Asked(NamedTuple):
    """What an owner got at an address, and the actions for which permission was asked there."""

    address: Address
    path: str
    status: int
    actions: frozenset[Action]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Action]:
    """The actions for which pages and API have asked for permission."""
    seen: list[Action] = []
    for real in (access.require_permission, auth.authorize):

        def noting(who: Any, action: Action, real: Any = real) -> Any:
            seen.append(action)
            return real(who, action)

        for module in [each for name, each in sys.modules.items() if name.startswith("pipeline.")]:
            if getattr(module, real.__name__, None) is real:
                monkeypatch.setattr(module, real.__name__, noting)
    return seen


def _one_of_each(ids: dict[str, Any]) -> dict[str, Any]:
    return {name: each[0] if isinstance(each, list) else each for name, each in ids.items()}


def _looks(client: Client, ids: dict[str, Any], asked: list[Action]) -> list[_Asked]:
    """Open every address as a member for whom everything exists; keep those that ask for leave."""
    found = []
    for address in addresses():
        if "GET" not in address.methods or address.route.startswith(NOT_THE_COMPANYS):
            continue
        path = next(iter(address.paths(_one_of_each(ids))))
        asked.clear()
        answer = _send(client, "GET", path)
        b"".join(getattr(answer, "streaming_content", ()))
        is_of_company = all(RULES[each].role for each in asked)
        if asked and is_of_company and path != NOT_READY:
            found.append(_Asked(address, path, answer.status_code, frozenset(asked)))
    return found


@pytest.fixture
def scene() -> tuple[Company, dict[str, Any]]:
    acme, ids = furnish()
    ids["application_id"] = ids["application_id"][0]  # the one in a seat
    ids["job_id"] = ids["job_id"][0]
    return acme, ids


def _members(acme: Company, job_id: UUID) -> dict[str, tuple[Role | None, JobRole | None, Client]]:
    roles: dict[str, tuple[Role | None, JobRole | None, Client]] = {
        role.value: (role, None, browser_of(member_of(acme, role))) for role in Role
    }
    for job_role in JobRole:
        user = job_member_of(acme, job_id, job_role)
        roles[job_role.value] = (None, job_role, browser_of(user))
    user = member_of(acme, Role.VIEWER)
    member = Membership.objects.get(user=user)
    JobMember.objects.create(membership=member, job_id=job_id, role=JobRole.HIRING_MANAGER)
    roles["VIEWER and HIRING_MANAGER"] = (Role.VIEWER, JobRole.HIRING_MANAGER, browser_of(user))
    return roles


def _is_of_job(address: Address) -> bool:
    return "job_id" in address.route or "application_id" in address.route


def test_each_role_opens_what_the_table_allows_and_nothing_else(
    scene: tuple[Company, dict[str, Any]], asked: list[Action]
) -> None:
    acme, ids = scene
    looks = _looks(browser_of(member_of(acme, Role.OWNER)), ids, asked)
    wrong = []

    for name, (role, job_role, client) in _members(acme, ids["job_id"]).items():
        for look in looks:
            on_job = job_role if _is_of_job(look.address) else None
            allowed = all(RULES[each].allows_member(role, on_job) for each in look.actions)
            status = _send(client, "GET", look.path).status_code
            expected = (
                {look.status}
                if allowed
                else {404}
                if role is None and on_job is None
                else {
                    403,
                    404,
                }
            )
            if status not in expected:
                wrong.append(f"{name} {look.path}: {status}, not {expected} for {look.actions}")

    assert len(looks) > 100
    assert wrong == []


def _actions_of(path: str, method: str) -> frozenset[Action]:
    """The action that a page or an endpoint declares for a method."""
    view = resolve(path).func
    of_api = getattr(view, "cls", None)
    if of_api is not None:
        operation = getattr(getattr(of_api, method.lower(), None), OPERATION, None)
        return frozenset({operation.action} if operation else ())
    if not hasattr(view, access.GUARD):
        return frozenset()
    of_job = "job_id" in resolve(path).kwargs or "application_id" in resolve(path).kwargs
    guard = getattr(view, access.GUARD) or (None if of_job else Action.READ_COMPANY)
    return frozenset({guard} if guard else ())


def test_no_role_changes_what_the_table_does_not_allow(
    scene: tuple[Company, dict[str, Any]],
) -> None:
    acme, ids = scene
    members, wrong, tried = _members(acme, ids["job_id"]), [], 0
    before = _state(acme)

    for name, (role, job_role, client) in members.items():
        for address in addresses():
            if address.route.startswith(NOT_THE_COMPANYS):
                continue
            path = next(iter(address.paths(_one_of_each(ids))))
            for method in set(address.methods) - {"GET", "HEAD", "OPTIONS"}:
                on_job = job_role if _is_of_job(address) else None
                declared = _actions_of(path, method)
                rules = [RULES[each] for each in declared]
                if not rules or any(rule.public for rule in rules):
                    continue
                if all(rule.allows_member(role, on_job) for rule in rules):
                    continue
                tried += 1
                status = _send(client, method, path).status_code
                if status not in (403, 404, 405):
                    wrong.append(f"{name} {method} {path}: {status}")

    assert tried > 300
    assert wrong == []
    assert _state(acme) == before


def test_a_page_that_asks_for_too_little_would_be_noticed(
    scene: tuple[Company, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check the check: if roles on jobs counted everywhere, an interviewer would see the marker."""
    acme, ids = scene
    client = browser_of(job_member_of(acme, _other_job(acme), JobRole.INTERVIEWER))
    monkeypatch.setattr(
        access.Member,
        "on",
        lambda member, job_id: member.__class__(member.user, member.company, Role.VIEWER),
    )

    found = faults(lambda: client, ids, "company/jobs/")

    assert any("shows what is Acme's" in fault for fault in found)
