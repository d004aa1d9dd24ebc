"""Every sentence of the Python code that people read is marked for translation.

`test_translations.py` does the same for templates. What is said by no code that this reads, such as
a lower-case word, the pseudo-language of the browser tests finds on the page.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.management.translations import KEYWORDS
from tests.support.environment import ROOT

# Rooms whose words reach pages, emails and notifications. Others speak to programs and operators.
ROOMS = (
    *("applicants", "jobs"),
    *(
        f"pipeline/{room}"
        for room in (
            "careers consents correspondence equality figures files form notifications pages"
            " privacy review sign_on templatetags texts web wording"
        ).split()
    ),
)
SAMPLES = ("pipeline/notifications/previews.py", "pipeline/pages/gallery.py")  # for developers
# Sentences that are none, or are not for people.
OTHERS = {
    "Chat addresses": "the name of a schedule",
    "Domains of careers pages": "the name of a schedule, by which it is found",
    "Domains of single sign-on": "the name of a schedule",
    "Erased person": "stands in the database; pages say it in the reader’s language",
    "Fully remote": "a code of job boards",
    "Hybrid remote": "a code of job boards",
    "Name at most … jobs, all of your company.": "the API alone limits a key to jobs",
    "Next in Line": "the product’s name",
    "Openings and companies": "the name of a room in Django’s admin, for operators",
    "Requests answered.": "a metric",
    "Retention of personal data": "the name of a schedule",
    "Review targets": "the name of a schedule",
    "The logout token is not valid.": "an answer to an identity provider",
    "Time from the first middleware to the response.": "a metric",
    "Your decisions": "a key of reports, which GROUP_LABELS words",
}
_SENTENCE = re.compile(r"[A-Z][a-z’'-]*,? [a-z%{…].*|[A-Z][a-z’'-]*,? [^.!?]*[.!?…]", re.S)
# Calls whose texts operators or programmers read.
_OF_CODE = frozenset(
    "debug info warning error exception critical ValueError TypeError RuntimeError LookupError"
    " KeyError AssertionError ImproperlyConfigured CommandError SystemExit add_argument compile"
    " RunSQL execute Error Warning Critical".split()
)


def unmarked(code: str) -> Iterator[str]:
    """Yield the sentences of a module that are not marked; what is filled in is an ellipsis."""
    yield from _unmarked(ast.parse(code))


def _unmarked(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call) and _name_of(node) in {*KEYWORDS, *_OF_CODE}:
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring
    if isinstance(node, ast.JoinedStr):
        parts = (str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        text: object = "".join(parts)
    else:
        text = node.value if isinstance(node, ast.Constant) else None
    if isinstance(text, str) and _SENTENCE.fullmatch(text):
        yield text
    elif not isinstance(node, ast.JoinedStr):
        for child in ast.iter_child_nodes(node):
            yield from _unmarked(child)


def _name_of(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _modules() -> Iterator[Path]:
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not re.search("/(migrations|management)/|/admin.py", name) and name not in SAMPLES:
                yield path


def test_every_sentence_that_people_read_is_marked() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {text}"
        for path in _modules()
        for text in unmarked(path.read_text())
        if text not in OTHERS
    ]

    assert found == []


def test_every_sentence_that_is_left_out_is_there() -> None:
    said = {text for path in _modules() for text in unmarked(path.read_text())}

    assert set(OTHERS) - said == set()


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('label = "Send me a copy"', ["Send me a copy"]),
        ('messages.success(request, f"Saved {n} rows.")', ["Saved … rows."]),
        ('raise forms.ValidationError("Choose a day.")', ["Choose a day."]),
        ('said = _("Saved now.") + "Go on now."', ["Go on now."]),
        ('label = pgettext_lazy("label", "Send me a copy")', []),
        ('"""Do something."""\nlog.info("Did something now.")', []),
        ('KEY = "SELECT 1 FROM x"', []),
        ('text = {"a": ngettext("One person waits.", "Many wait.", n)}', []),
    ],
)
def test_a_sentence_that_is_not_marked_is_found(code: str, found: list[str]) -> None:
    assert list(unmarked(code)) == found
