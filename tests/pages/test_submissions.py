"""A form that is sent twice is carried out once."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from jobs.models import Company, Job
from pipeline.models import WebhookEndpoint
from pipeline.pages import submissions
from pipeline.pages.company import jobs as job_pages
from tests.support.accounts import browser_of, member_of
from tests.support.pages import text_of, values_of_form

pytestmark = pytest.mark.django_db(transaction=True)
NEW_JOB = "/company/jobs/new/"
TWICE = "You sent this form twice. It was carried out once."


def fields_of(client: Client, path: str) -> dict[str, Any]:
    """Return the form of a page, with its id and its usual values."""
    return values_of_form(client, path) | {"submission_id": submission_of(client, path)}


def submission_of(client: Client, path: str) -> str:
    page = client.get(path).content.decode()
    return re.findall(r'name="submission_id" value="([\w-]{16})"', page)[-1]


def test_a_second_press_shows_the_result_of_the_first(company: Company) -> None:
    client = browser_of(member_of(company))
    form = fields_of(client, NEW_JOB) | {"title": "Cook", "capacity": 1}

    first, second = client.post(NEW_JOB, form), client.post(NEW_JOB, form)

    assert first.status_code == second.status_code == 302
    assert first.url == second.url
    assert TWICE in text_of(client.get(second.url))
    assert Job.objects.count() == 1


def test_another_text_or_a_form_that_was_opened_again_is_another_order(company: Company) -> None:
    client = browser_of(member_of(company))
    form = fields_of(client, NEW_JOB) | {"title": "Cook", "capacity": 1}
    again = form | {"submission_id": submission_of(client, NEW_JOB)}

    for each in (form, form | {"title": "Baker"}, again):
        client.post(NEW_JOB, each)

    assert Job.objects.count() == 3


def test_two_presses_at_the_same_moment_make_one_job(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = browser_of(member_of(company))
    form = fields_of(client, NEW_JOB) | {"title": "Cook", "capacity": 1}
    entered, may_go = threading.Event(), threading.Event()
    real = job_pages.create_job

    def slow(**how: Any) -> Any:
        entered.set()
        assert may_go.wait(20)
        return real(**how)

    monkeypatch.setattr(job_pages, "create_job", slow)
    answers: list[Any] = []

    def press() -> None:
        answers.append(client.post(NEW_JOB, form))
        connection.close()

    threads = [threading.Thread(target=press) for _ in range(2)]
    threads[0].start()
    assert entered.wait(20)
    threads[1].start()
    may_go.set()
    for thread in threads:
        thread.join()

    assert {answer.status_code for answer in answers} == {302}
    assert len({answer.url for answer in answers}) == 1
    assert Job.objects.count() == 1


def test_a_press_during_long_work_does_not_hold_a_thread_until_its_end(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = browser_of(member_of(company))
    form = fields_of(client, NEW_JOB) | {"title": "Cook", "capacity": 1}
    real, second = job_pages.create_job, []

    def pressed_again(**how: Any) -> Any:
        monkeypatch.setattr(job_pages, "create_job", real)
        other = threading.Thread(target=press)
        other.start()
        other.join()
        return real(**how)

    def press() -> None:
        second.append(client.post(NEW_JOB, form))
        connection.close()

    monkeypatch.setattr(job_pages, "create_job", pressed_again)
    monkeypatch.setattr(submissions, "WAIT_SECONDS", 0.1)

    first = client.post(NEW_JOB, form)

    assert (first.status_code, second[0].status_code) == (302, 409)
    assert "We are still working on it" in text_of(second[0])
    assert Job.objects.count() == 1


def test_a_refused_form_can_be_sent_again_as_it_is(company: Company) -> None:
    client = browser_of(member_of(company))
    form = fields_of(client, NEW_JOB) | {"title": "", "capacity": 1}

    codes = [client.post(NEW_JOB, form).status_code for _ in range(2)]

    assert codes == [422, 422]


def test_what_is_shown_once_is_not_kept(company: Company) -> None:
    client = browser_of(member_of(company))
    path = "/company/webhooks/new/"
    form = {"url": "https://example.org/x", "submission_id": submission_of(client, path)}

    first, second = client.post(path, form), client.post(path, form)

    assert (first.status_code, second.status_code) == (201, 409)
    assert "whsec_" in first.content.decode()
    assert "whsec_" not in second.content.decode()
    assert "You have already sent this" in text_of(second)
    assert WebhookEndpoint.objects.count() == 1


def test_the_id_of_another_session_means_nothing(company: Company) -> None:
    first, second = (browser_of(member_of(company)) for _ in range(2))
    form = fields_of(first, NEW_JOB) | {"title": "Cook", "capacity": 1}

    for client in (first, second):
        assert TWICE not in text_of(client.post(NEW_JOB, form, follow=True))

    assert Job.objects.count() == 2
