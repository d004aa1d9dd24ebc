"""Names from right to left, and old names that reorder text, leave each sentence in order."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from django.template import Context, Engine
from django.test import Client

from jobs.models import JobPosting
from pipeline.models import Application
from pipeline.notifications.applicants import email_facts
from pipeline.notifications.messages import compose_reminder
from pipeline.notifications.rendering import render_html
from tests.house.files import name_of
from tests.support import factories
from tests.support.applicants import leave, named
from tests.support.clock import database_now
from tests.support.environment import ROOT
from tests.support.pages import page_of

HEBREW = "\u05e9\u05e8\u05d4 \u05db\u05d4\u05df"
# The variables of templates that hold what a person gave, and where one of them is our own word.
NAME = (
    r"(?:\w+\.)*(?:application|account|company|run\.file|row|key|schedule|view|before|known|miss"
    r"|refusal|first|file|template|colleague|upload|device|card)\.name"
    r"|(?:\w+\.)*posting\.(?:title|location)|(?:\w+\.)*job_title|(?:\w+\.)*shown_name"
    r"|(?:\w+\.)*question\.label|row\.(?:title|location|company|job|description)|tag|link\.label"
    r"|place\.label|authenticator|run\.columns\.(?:email|external_id)"
)
FILTER = r"\|\w+(?::(?:\"[^\"]*\"|'[^']*'|_\(\"[^\"]*\"\)|[\w.]+))?"
# Where they are printed: as they are, or as a named place of a sentence.
PRINTED = re.compile(rf"{{{{\s*({NAME})((?:{FILTER})*)\s*}}}}")
SENTENCE = re.compile(r"{%\s*blocktranslate\b.*?%}", re.DOTALL)
NAMED = re.compile(rf"\b\w+=({NAME})((?:{FILTER})*)(?=[\s%])")
OURS = {
    ("applicant/devices.html", "device.row.name"),
    ("components/rail.html", "link.place.label"),
    ("components/top.html", "link.place.label"),
    ("staff/settings.html", "place.label"),
    ("history/_event.html", "row.title"),
}
# Places of plain text, which can hold no element: their sentences need other marks.
PLAIN = re.compile(
    r"{% block (?:title|description) %}.*?{% endblock %}|<title>.*?</title>"
    r"|{%\s*blocktranslate\b[^%]*\basvar\b.*?{% endblocktranslate %}"
    r'|(?<![\w-])(?:title|aria-label|alt|placeholder|data-title|data-says)="(?:{{.*?}}|{%.*?%}|[^"])*"',
    re.DOTALL,
)
# What is read alone, or by nobody.
ALONE = re.compile(
    r"{#.*?#}|{% comment %}.*?{% endcomment %}|<(option|textarea|script)\b.*?</\1>", re.DOTALL
)
TAG = re.compile(r'<(?:"(?:{{.*?}}|{%.*?%}|[^"])*"|[^">])*>', re.DOTALL)


def names_that_mix(text: str, mark: str) -> list[str]:
    """Return the variables with names in a part of a template that lack a filter."""
    places = [*PRINTED.findall(text)]
    for sentence in SENTENCE.findall(text):
        places += NAMED.findall(sentence)
    kept = (f"|{mark}", "|linebreaks", "|linebreaksbr")
    return [name for name, filters in places if not any(each in filters for each in kept)]


def names_not_apart(template: str) -> list[str]:
    """Return the variables with names that can reorder the words around them."""
    read = ALONE.sub("", template)
    plain = " ".join(place[0] for place in PLAIN.finditer(read))
    text = TAG.sub("", PLAIN.sub("", read))
    return names_that_mix(text, "bdi") + names_that_mix(plain, "isolated")


def test_every_name_on_a_page_is_apart_from_the_words_around_it() -> None:
    folder = ROOT / "templates"
    files = [file for file in sorted(folder.rglob("*.html")) if file.parent.name != "dev"]

    lacking = [
        (name_of(file), name)
        for file in files
        for name in names_not_apart(file.read_text())
        if (str(file.relative_to(folder)), name) not in OURS
    ]

    assert files
    assert lacking == []


@pytest.mark.parametrize(
    ("template", "lacking"),
    [
        ("<p>{{ job.posting.title }}</p>", ["job.posting.title"]),
        ('<b>{{ application.name|default:"?" }}</b>', ["application.name"]),
        ("<p>{{ job.posting.title|bdi }}</p>", []),
        ("<p>{{ job.posting.title|isolated }}</p>", ["job.posting.title"]),
        ('<p title="Of {{ job.posting.title }}"></p>', ["job.posting.title"]),
        ("<title>{{ company.name }}</title>", ["company.name"]),
        ("{% block title %}{{ company.name|isolated }}{% endblock %}", []),
        (
            "{% blocktranslate with n=user.shown_name %}By {{ n }}{% endblocktranslate %}",
            ["user.shown_name"],
        ),
        ("{% blocktranslate with n=file.name|bdi %}By {{ n }}{% endblocktranslate %}", []),
        (
            "{% blocktranslate asvar x with n=file.name|bdi %}By {{ n }}{% endblocktranslate %}",
            ["file.name"],
        ),
        ("<option>{{ company.name }}</option>", []),
    ],
)
def test_a_name_that_mixes_with_the_words_around_it_is_found(
    template: str, lacking: list[str]
) -> None:
    assert names_not_apart(template) == lacking


@pytest.mark.parametrize(
    ("name", "html"),
    [
        ("Ann <Li>", "Ann &lt;Li&gt;"),
        (f"{HEBREW} <b>", f"<bdi>{HEBREW} &lt;b&gt;</bdi>"),
        ("Bo \u202egnieR", "Bo gnieR"),
        (f"{HEBREW}\u2069 x", f"<bdi>{HEBREW} x</bdi>"),
    ],
)
def test_the_filter_escapes_a_name_and_sets_it_apart_where_needed(name: str, html: str) -> None:
    engine = Engine(libraries={"line": "pipeline.templatetags.line"}, builtins=[])

    shown = engine.from_string("{% load line %}{{ name|bdi }}").render(Context({"name": name}))

    assert shown == html


def test_the_board_keeps_its_sentences_in_order(owner: Client, job: UUID) -> None:
    leave(named(job, "Ana Li"))
    for old, new in (("Cy Okafor", "Bo \u202egnieR"), ("Dee Rao", HEBREW)):
        Application.objects.filter(job_id=job, name=old).update(name=new)

    page = page_of(owner, f"/company/jobs/{job}/")

    assert f"\u2068{HEBREW}\u2069 is promoted" in page
    assert f"<bdi>{HEBREW}</bdi>" in page
    assert "Bo gnieR" in page
    assert "\u202e" not in re.sub(r'(title|aria-label)="[^"]*"', "", page)


@pytest.mark.django_db
def test_an_email_keeps_a_name_apart_but_its_subject_has_only_the_name() -> None:
    person = factories.application(factories.job())
    JobPosting.objects.filter(job_id=person.job_id).update(title=HEBREW)
    person = factories.fresh(person)

    message = compose_reminder(email_facts(person, None), database_now())

    assert HEBREW in message.subject
    assert "\u2068" not in message.subject
    assert f"“\u2068{HEBREW}\u2069” at" in message.text
    assert f"“\u2068{HEBREW}\u2069” at" in render_html(message)
