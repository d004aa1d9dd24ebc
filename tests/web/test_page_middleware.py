"""Headers of the API's answers: those that the middleware of pages would give them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.http import HttpResponse
from django.test import Client

from jobs.models import Company
from tests.support import factories
from tests.support.callers import key_of

# The middleware as it would stand without the short way for the API.
WHOLE = {
    "pipeline.web.middleware.Security": "django.middleware.security.SecurityMiddleware",
    "pipeline.web.middleware.StaticFiles": "whitenoise.middleware.WhiteNoiseMiddleware",
    "pipeline.web.middleware.ContentSecurityPolicy": "csp.middleware.CSPMiddleware",
    "pipeline.web.middleware.PageCommonMiddleware": "django.middleware.common.CommonMiddleware",
    "pipeline.web.middleware.PageCSRFMiddleware": "django.middleware.csrf.CsrfViewMiddleware",
}
OF_ONE_REQUEST = {"X-Request-ID", "RateLimit", "Location"}


@pytest.fixture
def job(company: Company) -> UUID:
    return factories.job(company_id=company.id)


def headers(client: Client, method: str, path: str, **extra: Any) -> dict[str, str]:
    answer = client.generic(method, path, "{}", content_type="application/json", **extra)
    found = {name: value for name, value in answer.headers.items() if name not in OF_ONE_REQUEST}
    if "Expires" in found:
        found["Expires"] = "the time of the answer"  # which may turn a second between two
    return found | {"status": str(answer.status_code)}


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/jobs/{job}", 200),
        ("GET", "/api/v1/jobs/{job}/queue", 200),
        ("HEAD", "/api/v1/jobs/{job}/queue", 200),
        ("POST", "/api/v1/jobs/{job}/applications", 400),
        ("POST", "/api/v1/jobs/{job}/pause", 200),
        ("PUT", "/api/v1/jobs", 405),
        ("GET", "/api/v1/nothing", 404),
        ("GET", "/api/v1/openapi.json", 200),
        ("GET", "/api/v1/docs/", 200),
        ("GET", "/health/live", 200),
    ],
)
def test_an_answer_has_the_headers_that_all_middleware_would_give_it(
    company: Company, job: UUID, settings: Any, method: str, path: str, status: int, secure: bool
) -> None:
    settings.SECURE_HSTS_SECONDS = 31_536_000 if secure else 0
    bearer = {"headers": {"Authorization": f"Bearer {key_of(company.id).token}"}}
    short = headers(Client(), method, path.format(job=job), **bearer)

    usual = [name for name in settings.MIDDLEWARE if not name.endswith(".api_headers")]
    settings.MIDDLEWARE = [WHOLE.get(name, name) for name in usual]
    whole = headers(Client(), method, path.format(job=job), **bearer)
    if path.startswith("/api/") and secure:  # `forbid_caching` let requests of the API go past, too
        whole.setdefault("Strict-Transport-Security", "max-age=31536000")
    if path.startswith("/api/") and "/docs/" not in path:
        whole["Content-Disposition"] = 'attachment; filename="api.json"'

    assert short == whole
    assert short["status"] == str(status)
    assert short["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'self'" in short["Content-Security-Policy"]


@pytest.mark.django_db  # it could be a company's own domain
@pytest.mark.parametrize("path", ["/api/v1/jobs", "/api/v1/docs/", "/"])
def test_a_foreign_host_is_refused_everywhere(path: str) -> None:
    answer = Client().get(path, headers={"Host": "elsewhere.example"})

    assert answer.status_code == 400
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_the_api_runs_nothing_of_the_page_middleware(
    company: Company, job: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> HttpResponse:
        raise AssertionError("page middleware ran")

    company_caller, visitor = key_of(company.id), Client()
    for warm_up in (company_caller.get("/jobs"), visitor.get("/")):  # the middleware is there now
        assert warm_up.status_code == 200
    monkeypatch.setattr("django.middleware.csrf.CsrfViewMiddleware.process_request", refuse)
    monkeypatch.setattr("csp.middleware.CSPMiddleware.process_request", refuse)

    assert company_caller.get(f"/jobs/{job}").status_code == 200
    with pytest.raises(AssertionError, match="page middleware ran"):
        visitor.get("/")
