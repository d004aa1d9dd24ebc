"""No problem of the API and no report of a file holds an English word outside of codes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import translation

from pipeline.api.problem_type import ProblemType
from pipeline.api.problem_types import DECLARED, RAISED
from pipeline.api.problems import FIELD_CODES
from pipeline.domain.errors import LineError
from pipeline.files.imports.rows import LEFT_WORDS, WORDS
from tests.support import pseudo_language
from tests.support.callers import Caller

# Errors whose text is only what the place that raised it says.
GIVEN = re.compile(r"\{\w+\}")
REFUSALS = [each for each in RAISED if isinstance(each, type) and issubclass(each, LineError)]
# Their message has one form for each kind of number, and no text without a number.
COUNTED = [each for each in REFUSALS if not str(each.message)]
NUMBERS = ("days", "limit", "limit_days")
BODIES: list[Any] = [
    b"{",
    [],
    {},
    {"title": ""},
    {"title": "x" * 500, "capacity": -1},
    {"title": "\x00", "capacity": "many", "unknown": 1},
    {"title": "Cook", "capacity": 1, "pay": {"minimum": "x", "currency": "?"}, "country": "??"},
    {"title": "Cook", "capacity": 1, "opens_at": "soon", "questions": [{"kind": "?"}]},
    {"title": "Cook", "capacity": 1, "quiet_hours": "?", "acknowledgment_window_seconds": 1},
    {"title": "Cook", "capacity": 1, "metadata": {"a": 1}, "external_id": 4, "language": "??"},
]


@pytest.fixture
def pseudo(settings: Any) -> Iterator[None]:
    """A site that also speaks the pseudo-language."""
    settings.LANGUAGES = [*settings.LANGUAGES, *pseudo_language.NAMES.items()]
    pseudo_language.install()  # a change of this setting makes Django forget all catalogues
    with translation.override("qps"):
        yield


def left_over(text: str) -> list[str]:
    """Return the words outside of the brackets, apart from codes, names of fields and values."""
    return pseudo_language.left_over(re.sub(r"`[^`]*`|“[^”]*”|\"[^\"]*\"", " ", text))


@pytest.mark.parametrize("kind", DECLARED, ids=lambda kind: kind.code)
def test_a_problem_is_translated(pseudo: None, kind: ProblemType) -> None:
    for text in filter(None, map(str, (kind.title, kind.detail, kind.about, kind.remedy))):
        assert text.startswith(pseudo_language.BEGIN)
        assert left_over(text) == []


@pytest.mark.parametrize("code", FIELD_CODES)
def test_the_code_of_a_refused_field_is_explained(pseudo: None, code: str) -> None:
    text = str(FIELD_CODES[code])

    assert text.startswith(pseudo_language.BEGIN)
    assert left_over(text) == []


@pytest.mark.parametrize(
    "error", [each for each in REFUSALS if each not in COUNTED], ids=lambda error: error.__name__
)
def test_a_refusal_is_translated(pseudo: None, error: type[LineError]) -> None:
    text = str(error.message)

    assert text.startswith(pseudo_language.BEGIN) or GIVEN.fullmatch(text)
    assert left_over(GIVEN.sub("", text)) == []


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("error", COUNTED, ids=lambda error: error.__name__)
def test_each_form_of_a_refusal_with_a_number_is_translated(
    pseudo: None, error: type[LineError], number: int
) -> None:
    text = str(error(**dict.fromkeys(NUMBERS, number)))

    assert text.startswith(pseudo_language.BEGIN)
    assert str(number) in text
    assert left_over(text) == []


@pytest.mark.parametrize("body", BODIES, ids=str)
def test_a_refused_body_is_explained_in_the_language_of_the_reader(
    pseudo: None, acme: Caller, body: Any
) -> None:
    answer = acme.post("/jobs", body, accept_language="qps").json()

    texts = [
        answer["title"],
        answer["detail"],
        *(each["detail"] for each in answer.get("errors", ())),
    ]
    assert answer["status"] == 400
    assert [text for text in texts if left_over(text)] == []
    assert all(pseudo_language.BEGIN in text for text in texts)


@pytest.mark.parametrize("path", ["/nothing", "/jobs?limit=x&status=?&unknown=1"])
def test_a_refused_question_is_explained_in_the_language_of_the_reader(
    pseudo: None, acme: Caller, path: str
) -> None:
    answer = acme.get(path, accept_language="qps").json()

    texts = [
        answer["title"],
        answer["detail"],
        *(each["detail"] for each in answer.get("errors", ())),
    ]
    assert [text for text in texts if left_over(text)] == []
    assert all(pseudo_language.BEGIN in text for text in texts)


@pytest.mark.parametrize("reason", [*WORDS, *LEFT_WORDS], ids=str)
def test_the_reason_of_a_refused_row_is_translated(pseudo: None, reason: str) -> None:
    text = str({**WORDS, **LEFT_WORDS}[reason])

    assert text.startswith(pseudo_language.BEGIN)
    assert left_over(text) == []
