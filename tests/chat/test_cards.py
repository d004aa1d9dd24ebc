"""Cards as the chats take them: limits, and names that cannot become markup or mentions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.chat.cards import Card, body_of, escape_teams, slack_body, teams_body
from pipeline.models import ChatService
from tests.support.chat import is_slack_message, is_teams_message

HOSTILE = "<!channel> & <@U1> <https://evil.example|Sign in> *bold* [x](https://evil.example)"


def card(title: str = "Seat taken", text: str = "Someone.", **given: object) -> Card:
    return Card(title, text, "https://line.example/company/", "Open the review", **given)  # type: ignore[arg-type]


def test_slack_reads_no_name_as_a_mention_or_a_link() -> None:
    body = slack_body(card(HOSTILE, HOSTILE))

    assert "<" not in body["text"]
    assert ">" not in body["text"]
    assert "&lt;!channel&gt; &amp; &lt;@U1&gt;" in body["text"]
    texts = [each["text"] for each in body["blocks"] if "text" in each]
    assert {each["type"] for each in texts} == {"plain_text"}
    assert [each["text"] for each in texts] == [HOSTILE, HOSTILE]  # shown as it is written


def test_teams_reads_no_name_as_markdown() -> None:
    [attachment] = teams_body(card("*x*", HOSTILE))["attachments"]

    title, text = (each["text"] for each in attachment["content"]["body"])
    assert title == r"\*x\*"
    assert r"\[x\]\(https://evil.example\)" in text
    assert r"\<@U1\>" in text


def test_a_card_has_its_figures_and_one_link() -> None:
    given = card(figures=(("Applied", "12"), ("Missed", "1")))

    slack, teams = slack_body(given), teams_body(given)

    fields = slack["blocks"][2]["fields"]
    assert [each["text"] for each in fields] == ["Applied: 12", "Missed: 1"]
    content = teams["attachments"][0]["content"]
    assert content["body"][2]["facts"][0] == {"title": "Applied", "value": "12"}
    assert slack["blocks"][3]["elements"][0]["url"] == content["actions"][0]["url"]


@pytest.mark.parametrize("service", ChatService)
@given(title=st.text(min_size=1, max_size=400), text=st.text(min_size=1, max_size=6_000))
def test_the_chats_take_any_words(service: ChatService, title: str, text: str) -> None:
    body = body_of(card(title, text, figures=((title, text),) * 12), service)

    takes = is_slack_message if service == ChatService.SLACK else is_teams_message
    assert takes(body)


def test_escaping_for_teams_keeps_plain_words() -> None:
    assert escape_teams("Data engineer, Berlin") == "Data engineer, Berlin"
