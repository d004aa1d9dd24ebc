"""The pages of webhooks, without JavaScript."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db.models.functions import Now
from django.test import Client
from uuid_utils.compat import uuid7

from jobs.models import Company
from pipeline.models import WebhookDelivery, WebhookEndpoint
from pipeline.outgoing.client import Failure
from pipeline.pages.webhooks import FAILURES, OFF_REASONS, STATES
from pipeline.webhooks.deliver import send_due_webhooks
from pipeline.webhooks.endpoints import REDELIVER, SHOWN_AGAIN_FOR
from pipeline.webhooks.queue import TYPES
from tasks.models import Task
from tests.support.pages import follow, page_of
from tests.support.receiver import Receiver
from tests.support.webhooks import endpoint

LIST = "/company/webhooks/"
NEW = f"{LIST}new/"


@pytest.fixture
def hook(company: Company, receiver: Receiver) -> str:
    """The address of an endpoint's page."""
    made, _ = endpoint(company.id, receiver.url)
    return f"{LIST}{made.id}/"


def test_an_empty_list_says_what_to_do_next(owner: Client) -> None:
    page = page_of(owner, LIST)

    assert "No endpoints yet" in page
    assert NEW in page
    assert LIST in page_of(owner, "/company/keys/")


def test_only_owners_see_them(
    recruiter: Client, viewer: Client, stranger: Client, hook: str
) -> None:
    for browser in (recruiter, viewer):
        assert browser.get(LIST).status_code == 403
        assert browser.get(hook).status_code == 403
        assert browser.post(f"{hook}test/").status_code == 403
    assert stranger.get(hook).status_code == 404
    assert stranger.post(f"{hook}delete/").status_code == 404
    assert WebhookEndpoint.objects.count() == 1


def test_an_endpoint_is_added_once_and_its_secret_shown_once(owner: Client) -> None:
    first = owner.get(NEW).context["form"].initial["endpoint_id"]
    form = {"endpoint_id": str(first), "url": "https://example.org/hook", "types": ["job.closed"]}

    answer = owner.post(NEW, form)
    owner.post(NEW, form)

    secret = answer.context["secret"]
    made = WebhookEndpoint.objects.get()
    assert answer.status_code == 201
    assert (
        answer.headers["Cache-Control"] == "max-age=0, no-cache, no-store, must-revalidate, private"
    )
    assert secret in answer.content.decode()
    assert (made.url, made.types) == ("https://example.org/hook", ["job.closed"])
    assert secret not in page_of(owner, f"{LIST}{made.id}/")
    assert secret not in page_of(owner, LIST)


def test_events_are_chosen_in_groups_that_hold_each_type_once(owner: Client) -> None:
    page, groups = page_of(owner, NEW), owner.get(NEW).context["groups"]

    types = [type_ for _, choices in groups for _, type_ in choices]
    assert (sorted(types), len(groups)) == (sorted(TYPES), 7)
    assert all(choices for _, choices in groups)
    assert "<legend>Applying and leaving</legend>" in page
    assert "Every event" in page


def test_an_endpoint_for_some_events_says_how_many(owner: Client, hook: str) -> None:
    WebhookEndpoint.objects.update(types=["job.closed", "application.applied"])

    assert f"2 of {len(TYPES)} kinds" in page_of(owner, f"{hook}edit/")


def refused(owner: Client, form: dict[str, Any]) -> str:
    """Send the form of a new endpoint, and return the id in the form that comes back."""
    answer = owner.post(NEW, form)
    assert answer.status_code == 422
    assert "To add another one, send the form again" in answer.content.decode()
    assert "whsec_" not in answer.content.decode()
    return str(answer.context["form"]["endpoint_id"].value())


@pytest.mark.parametrize(
    "change", [{"url": "https://example.org/b"}, {"description": "new"}, {"types": ["job.opened"]}]
)
def test_another_endpoint_under_the_id_of_one_is_refused_and_can_be_sent_again(
    owner: Client, change: dict[str, Any]
) -> None:
    form = {"endpoint_id": str(uuid7()), "url": "https://example.org/a", "types": ["job.closed"]}
    owner.post(NEW, form)

    fresh = refused(owner, form | change)
    added = owner.post(NEW, form | change | {"endpoint_id": fresh})

    assert added.status_code == 201
    assert WebhookEndpoint.objects.count() == 2


@pytest.mark.parametrize("is_rotated", [True, False])
def test_a_secret_is_not_shown_again_after_a_rotation_or_some_minutes(
    owner: Client, is_rotated: bool
) -> None:
    form = {"endpoint_id": str(uuid7()), "url": "https://example.org/a"}
    owner.post(NEW, form)
    if is_rotated:
        owner.post(f"{LIST}{form['endpoint_id']}/rotate/")
    else:
        WebhookEndpoint.objects.update(created_at=Now() - SHOWN_AGAIN_FOR)

    refused(owner, form)


def test_the_id_of_another_companys_endpoint_is_refused(
    owner: Client, other_company: Company
) -> None:
    theirs, _ = endpoint(other_company.id, "https://example.org/a")

    refused(owner, {"endpoint_id": str(theirs.id), "url": "https://example.org/a"})


def test_each_time_a_secret_is_shown_is_in_the_security_log(
    owner: Client, caplog: pytest.LogCaptureFixture
) -> None:
    form = {"endpoint_id": str(uuid7()), "url": "https://example.org/a"}

    with caplog.at_level("INFO", "security"):
        for _ in range(3):
            owner.post(NEW, form)
        owner.post(f"{LIST}{form['endpoint_id']}/rotate/")

    assert [each.message for each in caplog.records if "webhook" in each.message] == [
        "webhook.created",
        "webhook.secret_shown_again",
        "webhook.secret_shown_again",
        "webhook.secret_rotated",
    ]


def test_a_bad_url_is_explained_at_its_field(owner: Client) -> None:
    answer = owner.post(NEW, {"url": "https://user:x@example.org/"})

    assert answer.status_code == 422
    assert "Enter a URL without user name" in answer.content.decode()
    assert WebhookEndpoint.objects.count() == 0


def test_it_is_edited_switched_off_and_on_and_deleted(owner: Client, hook: str) -> None:
    edited = follow(
        owner, f"{hook}edit/", {"url": "https://example.org/new", "description": "Chat"}
    )
    off = follow(owner, f"{hook}switch/", {"enabled": "no"})
    on = follow(owner, f"{hook}switch/", {"enabled": "yes"})
    asked = page_of(owner, f"{hook}delete/")
    kept = WebhookEndpoint.objects.count()
    gone = follow(owner, f"{hook}delete/", {})

    assert "https://example.org/new" in edited
    assert "Chat" in edited
    assert "Nothing has been sent to this endpoint" in off
    assert "switched off by hand" in off
    assert "Nothing has been sent" not in on
    assert "Delete this endpoint?" in asked
    assert kept == 1
    assert "Endpoint deleted." in gone
    assert WebhookEndpoint.objects.count() == 0


def test_a_rotation_is_asked_for_first(owner: Client, hook: str) -> None:
    page_of(owner, f"{hook}rotate/")
    before = bytes(WebhookEndpoint.objects.get().secret)

    answer = owner.post(f"{hook}rotate/", {})

    row = WebhookEndpoint.objects.get()
    assert answer.context["secret"] in answer.content.decode()
    assert bytes(row.old_secret or b"") == before
    assert "also signs requests until" in page_of(owner, hook)


def test_a_test_is_sent_seen_and_sent_again(owner: Client, hook: str, receiver: Receiver) -> None:
    sent = follow(owner, f"{hook}test/", {})
    send_due_webhooks()
    delivery = WebhookDelivery.objects.get()
    seen = page_of(owner, f"{hook}deliveries/{delivery.id}/")
    follow(owner, f"{hook}deliveries/{delivery.id}/redeliver/", {})
    send_due_webhooks()

    assert "Not sent yet" in sent
    assert "Attempt 1: delivered (204)" in seen
    assert delivery.webhook_id in seen
    assert "webhook.test" in page_of(owner, hook)
    assert len(receiver.received) == 2


def test_failures_are_explained_and_sent_again_as_a_task(
    owner: Client, hook: str, receiver: Receiver
) -> None:
    receiver.answers(410)
    follow(owner, f"{hook}test/", {})
    send_due_webhooks()
    page, listed = page_of(owner, hook), page_of(owner, LIST)
    refused = follow(owner, f"{hook}redeliver/", {"since": "day"})
    follow(owner, f"{hook}switch/", {"enabled": "yes"})
    started = follow(owner, f"{hook}redeliver/", {"since": "day"})

    assert "It answered 410, so it wants no more webhooks" in page
    assert "was switched off" in listed
    assert "Switch it on first" in refused
    assert "Send failed webhooks again" in started
    assert Task.objects.get(type__key=REDELIVER).payload["endpoint_id"] == str(
        UUID(hook.split("/")[3])
    )


def test_deliveries_are_filtered_and_paged(owner: Client, hook: str, company: Company) -> None:
    made = WebhookEndpoint.objects.get()
    for number in range(60):
        WebhookDelivery.objects.create(
            endpoint_id=made.id,
            source=str(number),
            type="job.opened" if number % 2 else "job.closed",
            body="{}",
            state="FAILED" if number < 5 else "DELIVERED",
        )

    first = owner.get(hook)
    second = owner.get(first.context["next_url"])
    failed = owner.get(hook, {"state": "FAILED", "type": "job.opened"})
    nothing = owner.get(hook, {"state": "PENDING"})
    nonsense = owner.get(hook, {"state": "x", "type": "y", "after": "z"})

    counts = [
        len(each.context["deliveries"]) for each in (first, second, failed, nothing, nonsense)
    ]
    assert counts == [50, 10, 2, 0, 50]
    assert "No matching deliveries" in nothing.content.decode()


def test_everything_that_can_happen_has_words() -> None:
    assert set(FAILURES) == set(Failure)
    assert set(OFF_REASONS) == set(WebhookEndpoint.OffReason)
    assert set(STATES) == set(WebhookDelivery.State)
