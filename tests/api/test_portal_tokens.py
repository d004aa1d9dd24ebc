"""Portal tokens: a company's own site acts for one of its applicants, and can do nothing else."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db.models import F

from applicants.models import Applicant
from jobs.models import ApiKey, Company, Role, Scope
from pipeline.api.v1.applicants import LONGEST_SECONDS, SHORTEST_SECONDS
from pipeline.audit.verify import verify_job
from pipeline.integrations.portal_tokens import MOST_AT_ONCE
from pipeline.models import Application, PortalToken
from pipeline.privacy.erase import erase_person
from pipeline.services.jobs import close_job
from tests.support import factories
from tests.support.callers import (
    UNKNOWN_ID,
    Answer,
    Caller,
    code_of,
    key_of,
    member_caller,
    pointers,
    signed_in,
)
from tests.support.clock import let_time_pass

ON_THEIR_SITE = "on the company’s own site"


def make(key: Caller, applicant_id: UUID | str, **body: Any) -> Answer:
    return key.post(f"/applicants/{applicant_id}/tokens", body)


def portal(key: Caller, applicant_id: UUID) -> Caller:
    """The company's own site, with a token for that person."""
    return Caller(make(key, applicant_id).json()["token"])


@pytest.fixture
def key(company: Company) -> Caller:
    """A key that makes portal tokens, and does nothing else."""
    return key_of(company.id, Scope.APPLICANT_TOKENS)


def test_the_companys_own_site_confirms_and_withdraws_for_its_applicant(
    key: Caller, offered: Application
) -> None:
    site = portal(key, offered.applicant_id)

    assert site.get(f"/applications/{offered.id}").json()["status"] == "PENDING_ACKNOWLEDGMENT"
    assert site.post(f"/applications/{offered.id}/acknowledge").json()["status"] == "ACTIVE"
    assert site.post(f"/applications/{offered.id}/acknowledge").json()["status"] == "ACTIVE"
    assert site.post(f"/applications/{offered.id}/withdraw").json()["outcome"] == "WITHDRAWN"
    [listed] = site.get(f"/applicants/{offered.applicant_id}/applications").json()["data"]
    assert listed["outcome"] == "WITHDRAWN"


def test_the_log_names_the_person_and_the_key_and_still_verifies(
    key: Caller, offered: Application
) -> None:
    site = portal(key, offered.applicant_id)
    site.post(f"/applications/{offered.id}/acknowledge")
    site.post(f"/applications/{offered.id}/withdraw")

    key_id = str(ApiKey.objects.get(scopes=["applicant-tokens"]).id)
    log = factories.events(offered.job_id)
    through = {each.event: each for each in log if "via_key" in each.data}
    assert set(through) == {"ACKNOWLEDGED", "WITHDRAWN"}
    for each in through.values():
        assert (each.actor_kind, each.actor_id) == ("APPLICANT", offered.applicant_id)
        assert each.data["via_key"] == key_id
    assert verify_job(offered.job_id).is_sound


def test_the_timeline_says_where_it_was_done(
    key: Caller, acme: Caller, offered: Application
) -> None:
    site = portal(key, offered.applicant_id)
    site.post(f"/applications/{offered.id}/acknowledge")

    path = f"/applications/{offered.id}/timeline"
    for reader, who in ((site, "You"), (acme, "The applicant"), (person_of(offered), "You")):
        said = reader.get(path).json()["data"][-1]["sentence"]
        assert said.startswith(f"{who} confirmed the seat in time, {ON_THEIR_SITE}.")


def person_of(application: Application) -> Caller:
    return signed_in(application.applicant)


def test_what_the_person_does_here_names_no_key(offered: Application) -> None:
    person_of(offered).post(f"/applications/{offered.id}/acknowledge")

    assert not any("via_key" in each.data for each in factories.events(offered.job_id))


def test_a_token_is_shown_once_and_lives_for_minutes(key: Caller, offered: Application) -> None:
    answer = make(key, offered.applicant_id)

    made = answer.json()
    assert answer.status_code == 201
    assert answer.headers["Cache-Control"] == "no-store"
    assert list(made) == ["id", "token", "expires_at", "applicant_id"]
    assert made["applicant_id"] == str(offered.applicant_id)
    assert made["token"].startswith("nilp_")
    row = PortalToken.objects.get()
    assert made["token"].encode() not in bytes(row.digest)
    assert row.expires_at - row.created_at == pytest.approx(
        timedelta(seconds=300), abs=timedelta(seconds=5)
    )
    assert datetime.fromisoformat(made["expires_at"]) == row.expires_at


@pytest.mark.parametrize("seconds", [SHORTEST_SECONDS, LONGEST_SECONDS])
def test_its_lifetime_can_be_chosen(key: Caller, offered: Application, seconds: int) -> None:
    assert make(key, offered.applicant_id, lifetime_seconds=seconds).status_code == 201

    row = PortalToken.objects.get()
    assert (row.expires_at - row.created_at).total_seconds() == pytest.approx(seconds, abs=5)


@pytest.mark.parametrize("seconds", [0, -1, SHORTEST_SECONDS - 1, LONGEST_SECONDS + 1, "x", None])
def test_a_lifetime_out_of_bounds_is_refused(
    key: Caller, offered: Application, seconds: Any
) -> None:
    answer = make(key, offered.applicant_id, lifetime_seconds=seconds)

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == ["/lifetime_seconds"]
    assert not PortalToken.objects.exists()


def test_an_expired_token_opens_nothing(key: Caller, offered: Application) -> None:
    site = portal(key, offered.applicant_id)
    PortalToken.objects.update(expires_at=F("expires_at") - timedelta(minutes=15))

    assert code_of(site.get(f"/applications/{offered.id}")) == (401, "NOT_AUTHENTICATED")
    assert code_of(site.post(f"/applications/{offered.id}/acknowledge"))[0] == 401


@pytest.mark.parametrize("end", ["revoked_at", "expires_at"])
def test_tokens_end_with_their_key(key: Caller, offered: Application, end: str) -> None:
    site = portal(key, offered.applicant_id)
    ApiKey.objects.filter(scopes=["applicant-tokens"]).update(**{end: "2026-01-01T00:00:00Z"})

    assert code_of(site.post(f"/applications/{offered.id}/acknowledge")) == (
        401,
        "NOT_AUTHENTICATED",
    )
    assert factories.status_of(offered) == "PENDING_ACKNOWLEDGMENT"


def test_only_a_key_with_the_scope_makes_tokens(company: Company, offered: Application) -> None:
    owner = member_caller(company, Role.OWNER)
    others = {
        "a key that writes": key_of(company.id, Scope.READ, Scope.WRITE),
        "an owner": owner,
        "the person": person_of(offered),
        "a portal": portal(key_of(company.id), offered.applicant_id),
    }

    refused = {name: make(each, offered.applicant_id) for name, each in others.items()}

    assert {code_of(answer) for answer in refused.values()} == {(403, "PERMISSION_DENIED")}
    assert code_of(make(Caller(), offered.applicant_id)) == (401, "NOT_AUTHENTICATED")


def test_another_companys_applicants_are_not_there(
    other: Caller, key: Caller, offered: Application
) -> None:
    assert code_of(make(other, offered.applicant_id)) == (404, "NOT_FOUND")
    assert code_of(make(key, UNKNOWN_ID)) == (404, "NOT_FOUND")
    assert not PortalToken.objects.exists()


def test_a_person_of_two_companies_is_seen_and_moved_by_each_only_at_its_own(
    other: Caller, other_company: Company, offered: Application
) -> None:
    person = Applicant.objects.get(id=offered.applicant_id)
    theirs = factories.application(
        factories.job(company_id=other_company.id, acknowledge_first_seat=True), person
    )
    site = portal(other, person.id)

    for verb in ("acknowledge", "withdraw"):
        assert code_of(site.post(f"/applications/{offered.id}/{verb}")) == (404, "NOT_FOUND")
    for path in ("", "/timeline"):
        assert code_of(site.get(f"/applications/{offered.id}{path}")) == (404, "NOT_FOUND")
    of_person = f"/applicants/{person.id}"
    assert [each["id"] for each in site.get(f"{of_person}/applications").json()["data"]] == [
        str(theirs.id)
    ]
    told = site.get(f"{of_person}/timeline").json()["data"]
    assert {each["application_id"] for each in told} == {str(theirs.id)}
    assert site.get(of_person).json()["created_at"] == other.get(of_person).json()["created_at"]
    assert factories.status_of(offered) == "PENDING_ACKNOWLEDGMENT"
    assert site.post(f"/applications/{theirs.id}/acknowledge").json()["status"] == "ACTIVE"


def test_another_applicant_of_the_same_company_is_not_there(
    key: Caller, offered: Application
) -> None:
    someone = factories.application(offered.job_id)
    site = portal(key, someone.applicant_id)

    assert code_of(site.post(f"/applications/{offered.id}/acknowledge")) == (404, "NOT_FOUND")
    assert code_of(site.get(f"/applicants/{offered.applicant_id}")) == (404, "NOT_FOUND")


def test_it_does_not_verify_an_application_that_was_not(key: Caller, company: Company) -> None:
    job_id = factories.job(company_id=company.id)
    application = factories.application(job_id, verified=False)
    site = portal(key, application.applicant_id)

    assert site.get(f"/applications/{application.id}").json()["verified"] is False
    assert code_of(site.post(f"/applications/{application.id}/verify"))[0] == 403
    assert code_of(site.post(f"/applications/{application.id}/acknowledge")) == (
        409,
        "INVALID_TRANSITION",
    )
    assert factories.fresh(application).verify_by


def test_whom_the_company_submits_can_be_confirmed_at_once(company: Company) -> None:
    job_id = factories.job(company_id=company.id, acknowledge_first_seat=True)
    ats = key_of(company.id)
    body = {"name": "Mia", "email": "mia@example.org"}
    sent = ats.post(f"/jobs/{job_id}/applications", body).json()
    site = portal(ats, sent["applicant"]["id"])

    assert site.post(f"/applications/{sent['id']}/acknowledge").json()["status"] == "ACTIVE"


def test_refusals_are_those_that_the_person_gets(key: Caller, offered: Application) -> None:
    site = portal(key, offered.applicant_id)
    let_time_pass(offered.job_id, factories.WINDOW)

    late = site.post(f"/applications/{offered.id}/acknowledge")

    assert code_of(late) == (410, "ACKNOWLEDGMENT_EXPIRED")
    close_job(job_id=offered.job_id, actor=factories.RECRUITER)
    assert code_of(site.post(f"/applications/{offered.id}/acknowledge"))[0] in (409, 410)


def test_the_oldest_token_ends_when_there_are_too_many(key: Caller, offered: Application) -> None:
    made = [portal(key, offered.applicant_id) for _ in range(MOST_AT_ONCE + 1)]

    oldest, *others = [each.get(f"/applications/{offered.id}").status_code for each in made]
    assert oldest == 401
    assert set(others) == {200}
    assert PortalToken.objects.count() == MOST_AT_ONCE


def test_making_them_has_a_rate_of_its_own(
    key: Caller, offered: Application, settings: Any
) -> None:
    settings.THROTTLE_RATES = settings.THROTTLE_RATES | {"applicant_tokens": (2, 60)}

    codes = [code_of(make(key, offered.applicant_id)) for _ in range(3)]

    assert codes == [(201, None), (201, None), (429, "THROTTLED")]


def test_a_token_is_not_kept_with_an_idempotency_key(key: Caller, offered: Application) -> None:
    path = f"/applicants/{offered.applicant_id}/tokens"
    made = [key.post(path, {}, Idempotency_Key="k").json()["token"] for _ in range(2)]

    assert made[0] != made[1]


def test_a_portal_can_repeat_a_post_under_a_key(key: Caller, offered: Application) -> None:
    site, path = portal(key, offered.applicant_id), f"/applications/{offered.id}/withdraw"
    first = site.post(path, Idempotency_Key="k")
    again = portal(key, offered.applicant_id).post(path, Idempotency_Key="k")

    assert again.content == first.content
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in person_of(offered).post(path, Idempotency_Key="k").headers


def test_erasing_the_person_ends_their_tokens(key: Caller, offered: Application) -> None:
    site = portal(key, offered.applicant_id)
    erase_person(applicant_id=offered.applicant_id)

    assert code_of(site.get(f"/applications/{offered.id}"))[0] == 401
    assert code_of(make(key, offered.applicant_id)) == (404, "NOT_FOUND")
