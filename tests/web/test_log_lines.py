"""Log lines of requests: each names the request, the caller and the client's address."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import OperationalError
from django.test import Client

from applicants.models import Applicant
from jobs.models import ApiKey, Company, Role, User
from pipeline.api.v1.jobs import views as job_views
from pipeline.pages.applicant import openings
from tests.server.clients import ask
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.callers import UNKNOWN_ID, Caller, SessionCaller, signed_in
from tests.support.logs import Log
from tests.support.server import serving

pytestmark = pytest.mark.django_db(transaction=True)


def _last(log: Log) -> dict[str, Any]:
    line = log.lines("django.request")[-1]
    return {name: line.get(name) for name in ("request_id", "caller", "address")}


def test_a_refusal_by_the_api_names_request_key_and_address(
    acme: Caller, company: Company, log: Log
) -> None:
    key = ApiKey.objects.get(company=company)

    acme.get(f"/jobs/{UNKNOWN_ID}", x_request_id="probe-1")

    assert _last(log) == {
        "request_id": "probe-1",
        "caller": f"key:{key.id}",
        "address": "127.0.0.1",
    }


def test_a_line_names_the_ids_of_the_url_and_the_next_request_forgets_them(
    acme: Caller, log: Log
) -> None:
    acme.get(f"/jobs/{UNKNOWN_ID}")
    acme.get("/nothing")

    with_job, without = log.lines("django.request")
    assert with_job["job_id"] == str(UNKNOWN_ID)
    assert "job_id" not in without


def test_every_kind_of_caller_is_named(company: Company, log: Log, applicant: Applicant) -> None:
    user = member_of(company, Role.VIEWER)
    callers = {
        "anonymous": Caller(),
        f"applicant:{applicant.id}": signed_in(applicant),
        f"member:{user.id}": SessionCaller().as_staff(user),
    }

    for caller in callers.values():
        caller.get(f"/applications/{UNKNOWN_ID}")

    assert [line["caller"] for line in log.lines("django.request")] == list(callers)


def test_a_wrong_credential_is_anonymous(log: Log) -> None:
    Caller("nilk_wrong").get("/companies/me")

    assert _last(log)["caller"] == "anonymous"


@pytest.mark.parametrize("kind", ["member", "applicant"])
def test_a_refused_page_names_who_asked(
    log: Log, company: Company, applicant: Applicant, applicant_page: Client, kind: str
) -> None:
    user = member_of(company, Role.VIEWER)
    browser, caller = (
        (browser_of(user), user.id) if kind == "member" else (applicant_page, applicant.id)
    )

    browser.get(f"/my/applications/{UNKNOWN_ID}/", headers={"X-Request-ID": "page-1"})

    assert _last(log) | {"address": ""} == {
        "request_id": "page-1",
        "caller": f"{kind}:{caller}",
        "address": "",
    }


def test_a_form_without_its_token_names_who_sent_it(log: Log, company: Company) -> None:
    user = member_of(company, Role.OWNER)
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(user)

    assert browser.post("/company/team/", {}).status_code == 403

    lines = log.lines("django")
    assert {line["request_id"] for line in lines} == {lines[0]["request_id"]}
    assert lines[-1]["caller"] in (f"member:{user.id}", "session")


def test_a_page_above_ones_role_is_logged_in_one_line_without_traceback(
    log: Log, viewer: Client
) -> None:
    assert viewer.get("/company/keys/").status_code == 403

    [line] = log.lines("django.request")
    assert line["status_code"] == 403
    assert "exception" not in line
    assert "Traceback" not in log.text


def _busy(*_: Any, **__: Any) -> None:
    raise OperationalError("lock") from psycopg.errors.LockNotAvailable("lock")


def test_a_lock_that_is_not_free_is_logged_without_traceback(
    log: Log, monkeypatch: pytest.MonkeyPatch, nobody: Caller
) -> None:
    job = factories.job()
    monkeypatch.setattr(job_views, "read_job", _busy)
    monkeypatch.setattr(openings, "public_job", _busy)
    browser = Client(raise_request_exception=False)

    assert nobody.get(f"/jobs/{job}").status_code == 503
    assert browser.get(f"/jobs/{job}/").status_code == 503

    assert len(log.lines()) >= 2
    assert "Traceback" not in log.text


def test_what_nobody_foresaw_keeps_its_traceback(
    log: Log, monkeypatch: pytest.MonkeyPatch, nobody: Caller
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ValueError("broken")

    job = factories.job()
    monkeypatch.setattr(job_views, "read_job", broken)

    assert nobody.get(f"/jobs/{job}").status_code == 500

    assert "ValueError: broken" in log.lines("pipeline.api.problems")[0]["exception"]


def test_a_request_leaves_nothing_for_the_next_line(log: Log, acme: Caller) -> None:
    acme.get(f"/jobs/{UNKNOWN_ID}")
    logging.getLogger("pipeline").warning("later")

    assert "request_id" not in log.lines("pipeline")[0]


def test_an_address_behind_a_trusted_proxy_is_the_clients(
    environment: dict[str, str], tmp_path: Path
) -> None:
    path, said = f"/api/v1/jobs/{UNKNOWN_ID}", tmp_path / "web.log"
    with serving(environment | {"TRUSTED_PROXIES": "127.0.0.0/8"}, said, workers=1) as url:
        port = int(url.rpartition(":")[2])
        assert ask(port, path, X_Forwarded_For="198.51.100.7")[0] == 404

    (line,) = (line for line in said.read_text().splitlines() if f"Not Found: {path}" in line)
    assert json.loads(line)["address"] == "198.51.100.7"


def test_a_name_costs_no_query_while_nothing_is_refused(
    company: Company, django_assert_num_queries: Any
) -> None:
    user: User = member_of(company, Role.VIEWER)
    browser = browser_of(user)

    with django_assert_num_queries(0):
        browser.get("/health/live")


def test_gunicorns_own_lines_have_the_format_of_all_others(
    environment: dict[str, str], tmp_path: Path
) -> None:
    said = tmp_path / "web.log"

    with serving(environment | {"LOG_FORMAT": "json"}, said, workers=1):
        pass

    lines = [json.loads(line) for line in said.read_text().splitlines()]
    events = {line["event"].split(":")[0] for line in lines if line["logger"] == "gunicorn.error"}
    assert {"Listening at", "Booting worker with pid", "Shutting down"} <= events
