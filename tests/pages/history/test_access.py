"""Who may open the pages of a job's past, and that looking changes nothing."""

from __future__ import annotations

import pytest
from django.test import Client

from jobs.models import Job
from tests.support.history import History, log_lengths, page

PAGES = [
    "timeline/",
    "timeline/?event=PROMOTED",
    "timeline/?cause=6",
    "timeline/?before=5",
    "verify/",
    "replay/",
    "replay/?seq=4&with=9",
    "replay/?seq=4&fragment=1",
    "figures/",
    "figures/?range=all",
    "export/log.jsonl",
    "export/log.csv",
    "export/applications.csv",
    "export/applications.jsonl",
]


def read(client: Client, address: str) -> tuple[int, bytes]:
    response = client.get(address)
    body = b"".join(response) if response.streaming else response.content
    return response.status_code, body


@pytest.mark.parametrize("name", PAGES)
def test_a_viewer_sees_all_of_it_and_changes_nothing(
    viewer: Client, past: History, name: str
) -> None:
    before = log_lengths(), Job.objects.get(id=past.job).chain_head

    status, body = read(viewer, page(past.job, name))

    assert status == 200
    assert body
    assert (log_lengths(), Job.objects.get(id=past.job).chain_head) == before


@pytest.mark.parametrize("name", PAGES)
def test_for_another_company_there_is_no_such_job(
    stranger: Client, past: History, name: str
) -> None:
    assert stranger.get(page(past.job, name)).status_code == 404


@pytest.mark.parametrize("name", PAGES)
def test_who_is_not_signed_in_signs_in_first(past: History, name: str) -> None:
    response = Client().get(page(past.job, name))

    assert response.status_code == 302
    assert "login" in response["Location"]


def test_another_company_cannot_verify_the_log(stranger: Client, past: History) -> None:
    assert stranger.post(page(past.job, "verify/")).status_code == 404


def test_names_are_shown_as_text_never_as_markup(viewer: Client, past: History) -> None:
    for name in ("timeline/", "replay/?seq=5", "replay/?seq=4&with=9"):
        text = read(viewer, page(past.job, name))[1].decode()

        assert "Bo &lt;Berg&gt;" in text
        assert "<Berg>" not in text


def test_no_page_styles_or_scripts_inline(viewer: Client, past: History) -> None:
    for name in PAGES[:10]:
        text = read(viewer, page(past.job, name))[1].decode()

        assert " style=" not in text
        assert "<script>" not in text
        assert " onclick=" not in text
