"""The page at each problem's URI."""

from __future__ import annotations

import pytest
from django.test import Client

from pipeline.api.problem_type import ProblemType
from pipeline.api.problem_types import ALL_PROBLEM_TYPES
from pipeline.api.problems import FIELD_CODES
from tests.support.callers import Caller
from tests.support.pages import page_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("kind", ALL_PROBLEM_TYPES, ids=lambda kind: kind.code)
def test_the_type_of_a_problem_leads_to_a_page_that_explains_it(kind: ProblemType) -> None:
    answer = Client().get(kind.type, follow=True)

    text = answer.content.decode()
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    for part in (kind.code, str(kind.title), str(kind.status)):
        assert part in text
    assert "`" not in text.partition("<main")[2]


def test_a_refusal_leads_there(nobody: Caller) -> None:
    type_ = nobody.get("/companies/me").json()["type"]

    assert "credential is missing or invalid" in page_of(Client(), f"{type_}/")


def test_the_list_links_to_every_page() -> None:
    text = Client().get("/problems/").content.decode()

    assert [kind.code for kind in ALL_PROBLEM_TYPES if f"{kind.type}/" not in text] == []


def test_the_page_of_invalid_fields_lists_their_codes() -> None:
    text = page_of(Client(), "/problems/validation-error/")

    assert [code for code in FIELD_CODES if code not in text] == []


def test_there_is_no_other_page() -> None:
    assert Client().get("/problems/nothing/").status_code == 404
    assert Client().post("/problems/not-found/").status_code == 405
