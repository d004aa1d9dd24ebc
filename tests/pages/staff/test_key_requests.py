"""The page of a key's requests: for owners, newest first, filtered by status."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from django.utils import timezone

from jobs.keys import create as create_api_key
from jobs.models import Company, Role, Scope
from pipeline.models import RequestRecord
from pipeline.pages.staff import keys
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.callers import UNKNOWN_ID

CELL = re.compile(r"<code>GET (/api/v1/\w+)</code>")


def request(key_id: UUID, status: int, number: int = 0) -> None:
    RequestRecord.objects.create(
        key_id=key_id,
        is_portal=False,
        at=timezone.now(),
        method="GET",
        path=f"/api/v1/r{number}",
        status=status,
        status_class=status // 100,
        request_id=f"request-{number}",
        duration_ms=12,
    )


@pytest.fixture
def key_id(company: Company) -> UUID:
    return create_api_key(company_id=company.id, name="Import", scopes=[Scope.READ])[0].id


def page(company: Company, key_id: UUID | str, role: Role = Role.OWNER, query: str = "") -> str:
    client = browser_of(member_of(company, role))
    answer = client.get(f"/company/keys/{key_id}/requests/{query}")
    return answer.content.decode() if answer.status_code == 200 else str(answer.status_code)


def test_an_owner_sees_the_requests_of_a_key(company: Company, key_id: UUID) -> None:
    request(key_id, 200, 1)
    request(key_id, 404, 2)

    seen = page(company, key_id)

    assert CELL.findall(seen) == ["/api/v1/r2", "/api/v1/r1"]
    assert "12 ms" in seen
    assert "request-2" in seen
    assert CELL.findall(page(company, key_id, query="?status_class=4xx")) == ["/api/v1/r2"]
    assert "No matching requests" in page(company, key_id, query="?status_class=5xx")
    assert len(CELL.findall(page(company, key_id, query="?status_class=nonsense"))) == 2


def test_the_list_of_keys_leads_there(company: Company, key_id: UUID) -> None:
    listed = browser_of(member_of(company)).get("/company/keys/").content.decode()

    assert f"/company/keys/{key_id}/requests/" in listed
    assert "No requests in the last 7 days" in page(company, key_id)


def test_it_has_pages(company: Company, key_id: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "ROWS", 2)
    for number in range(3):
        request(key_id, 200, number)

    first = page(company, key_id)
    link = re.search(r'href="/company/keys/[^"]+/requests/(\?after=[^"]+)"', first)
    assert link
    assert CELL.findall(first) == ["/api/v1/r2", "/api/v1/r1"]
    assert CELL.findall(page(company, key_id, query=link[1])) == ["/api/v1/r0"]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.RECRUITER])
def test_only_owners_see_it(company: Company, key_id: UUID, role: Role) -> None:
    assert page(company, key_id, role) == "403"


def test_another_companys_key_is_not_there(company: Company) -> None:
    other = factories.company()
    theirs = create_api_key(company_id=other.id, name="Theirs", scopes=[Scope.READ])[0].id

    assert page(company, theirs) == "404"
    assert page(company, UNKNOWN_ID) == "404"
