"""The pages of chat channels, without JavaScript."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from jobs.models import Company, Role
from pipeline.chat import queue
from pipeline.chat.channels import OffReason
from pipeline.models import ChatCard, ChatChannel, ChatMessage
from pipeline.outgoing.client import Failure
from pipeline.pages.chat import CARDS, FAILURES, OFF_REASONS, STATES
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.chat import ChatServer, channel, deliver
from tests.support.pages import follow, page_of
from tests.support.sandboxes import sandbox

pytestmark = pytest.mark.django_db(transaction=True)
LIST, NEW = "/company/chat/", "/company/chat/new/"


@pytest.fixture
def owner(company: Company) -> Client:
    return browser_of(member_of(company, Role.OWNER))


def form(address: str, **changes: Any) -> dict[str, Any]:
    usual = {"service": "SLACK", "name": "#hiring", "job_id": "", "cards": ["SEAT"]}
    return {"address": address, "language": "en", **usual, **changes}


def test_an_empty_list_says_what_to_do_next(owner: Client) -> None:
    page = page_of(owner, LIST)

    assert "No channels yet" in page
    assert NEW in page
    assert LIST in page_of(owner, "/company/settings/")


def test_only_owners_of_the_company_see_channels(
    company: Company, owner: Client, chat: ChatServer
) -> None:
    row = channel(company.id, chat.slack)
    path = f"{LIST}{row.id}/"
    recruiter = browser_of(member_of(company, Role.RECRUITER))
    stranger = browser_of(member_of(factories.company(name="Other"), Role.OWNER))

    assert [recruiter.get(each).status_code for each in (LIST, NEW, path)] == [403] * 3
    for each in ("test/", "switch/", "delete/", "edit/"):
        assert recruiter.post(f"{path}{each}").status_code == 403
        assert stranger.post(f"{path}{each}").status_code == 404
    assert ChatChannel.objects.get().is_active


def test_a_channel_is_added_tested_paused_and_deleted(
    company: Company, owner: Client, chat: ChatServer
) -> None:
    job = factories.job(company_id=company.id)
    page = follow(owner, NEW, form(chat.slack, job_id=str(job), cards=["SEAT", "REPORT"]))
    row = ChatChannel.objects.get()
    path = f"{LIST}{row.id}/"
    assert "Channel added" in page
    assert (row.cards, row.job_id, row.language) == (["SEAT", "REPORT"], job, "en")

    assert "Test sent" in follow(owner, f"{path}test/", {})
    deliver()
    assert chat.titles() == ["Test"]
    assert "Delivered" in page_of(owner, path)

    assert "Channel paused" in follow(owner, f"{path}switch/", {"enabled": "no"})
    assert "This channel is off" in follow(owner, f"{path}test/", {})
    assert "Channel switched on" in follow(owner, f"{path}switch/", {"enabled": "yes"})
    assert "Delete this channel?" in page_of(owner, f"{path}delete/")
    assert "Channel deleted" in follow(owner, f"{path}delete/", {})
    assert not ChatChannel.objects.exists()


def test_no_page_shows_an_address_whole(company: Company, owner: Client, chat: ChatServer) -> None:
    row = channel(company.id, chat.slack)
    path = f"{LIST}{row.id}/"
    refused = owner.post(NEW, form(f"{chat.slack}secret", name=""))

    pages = [page_of(owner, each) for each in (LIST, path, f"{path}edit/", f"{path}delete/")]
    assert all("B000" not in page for page in pages)
    assert "127.0.0.1/…EfGh" in pages[1]
    assert refused.status_code == 422
    assert "secret" not in refused.content.decode()


def test_an_edit_keeps_the_address_unless_one_is_entered(
    company: Company, owner: Client, chat: ChatServer
) -> None:
    row = channel(company.id, chat.slack)
    before = bytes(row.address)
    path = f"{LIST}{row.id}/edit/"

    assert "Channel saved" in follow(owner, path, form("", name="#people"))
    row.refresh_from_db()
    kept = bytes(row.address)
    follow(owner, path, form(f"{chat.slack}2"))

    row.refresh_from_db()
    assert kept == before
    assert row.hint.endswith("fGh2")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"address": ""}, "Fill in this field."),
        ({"address": "https://example.org/services/x"}, "an incoming webhook of Slack"),
        ({"address": "nonsense"}, "Enter a URL like"),
        ({"cards": []}, "Choose at least one."),
        ({"service": "IRC"}, "Choose one of the options."),
        ({"language": "xx"}, "Choose one of the options."),
        ({"job_id": "01a20067-f797-756d-b038-6ee358443f86"}, "Choose one of the options."),
    ],
)
def test_a_wrong_entry_is_explained(
    owner: Client, chat: ChatServer, changes: dict[str, Any], said: str
) -> None:
    answer = owner.post(NEW, form(chat.slack) | changes)

    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not ChatChannel.objects.exists()


def test_the_page_says_why_messages_failed_and_why_a_channel_is_off(
    company: Company, owner: Client, chat: ChatServer
) -> None:
    row = channel(company.id, chat.slack)
    queue.post_test(company_id=company.id, channel_id=row.id)
    chat.receiver.answers(410)
    deliver()

    page = page_of(owner, f"{LIST}{row.id}/")

    assert "The chat says that the address is gone (410)" in page
    assert "Enter a new one." in page
    assert "Send a test" not in page


def test_every_state_and_reason_has_its_words() -> None:
    assert set(FAILURES) == set(Failure)
    assert set(OFF_REASONS) == set(OffReason)
    assert set(STATES) == set(ChatMessage.State)
    assert {*CARDS, ChatCard.TEST} == set(ChatCard)


def test_a_sandbox_has_no_page_of_chat(company: Company, owner: Client) -> None:
    test_mode = sandbox(company)
    owner.post("/company/switch/", {"company": str(test_mode.id), "company_id": str(test_mode.id)})

    answers = [owner.post(NEW, form("x") | {"company_id": str(test_mode.id)})]

    assert all(each.status_code == 302 for each in answers)
    assert not ChatChannel.objects.exists()


def test_the_list_takes_few_queries(
    company: Company, owner: Client, chat: ChatServer, django_assert_max_num_queries: Any
) -> None:
    for number in range(5):
        channel(company.id, f"{chat.slack}{number}", job_id=factories.job(company_id=company.id))
    owner.get(LIST)

    with django_assert_max_num_queries(8):
        owner.get(LIST)
