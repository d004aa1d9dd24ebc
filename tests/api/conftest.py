"""A job and an offer that the tests of the API call about."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import Company
from pipeline.api import conditional, endpoint, rendering
from pipeline.models import Application
from tests.support import factories
from tests.support.callers import leave, signed_in


@pytest.fixture(autouse=True)
def _mail_at_once(mail_at_once: None) -> None:
    """Send every email of these tests at once."""


@pytest.fixture
def job(company: Company) -> UUID:
    """A job with two seats: one active, one on offer, and three waiting."""
    job = factories.job(company_id=company.id, capacity=2)
    people = factories.applications(job, 6)
    signed_in(people[0].applicant).post(f"/applications/{people[0].id}/withdraw")
    return job


@pytest.fixture
def offered(company: Company) -> Application:
    """An application that has a seat on offer, with two people waiting behind."""
    job = factories.job(company_id=company.id)
    first, second, _third, _fourth = factories.applications(job, 4)
    leave(first)
    return factories.fresh(second)


@pytest.fixture(autouse=True)
def _answers_keep_their_bytes_and_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare every answer of these tests with the exact encoder's, and tags with what they tag."""
    tagged: dict[tuple[str, str, str], Any] = {}
    fast, answer = rendering.render_json, conditional.answer_if_changed

    def as_json(data: Any) -> bytes:
        written = fast(data)
        assert written == rendering.render_number_json(data)
        return written

    def answer_with_tag(request: Request, payload: Any, tag: str) -> Response:
        who = request.META.get("HTTP_AUTHORIZATION", "")
        shown = conditional.weak_etag(payload) if payload is not None else ""
        assert tagged.setdefault((who, request.get_full_path(), tag), shown) == shown
        return answer(request, payload, tag)

    monkeypatch.setattr(rendering, "render_json", as_json)
    monkeypatch.setattr(endpoint, "answer_if_changed", answer_with_tag)
