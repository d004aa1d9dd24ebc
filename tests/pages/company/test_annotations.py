"""Notes, tags, links and the assignee on an application's page."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.test import Client

from pipeline.models import ApplicationLink, ApplicationNote
from tests.support.applicants import named
from tests.support.pages import follow, page_of


@pytest.fixture
def here(job: UUID) -> str:
    """Return the page of an application."""
    return f"/company/applications/{named(job, 'Ana Li').id}/"


def test_each_is_added_and_removed_again(recruiter: Client, here: str) -> None:
    act = f"{here}annotate/"
    follow(recruiter, act, {"do": "add_note", "note": "Knows <b>Zig</b>."})
    follow(recruiter, act, {"do": "add_tag", "tag": "Night shift"})
    page = follow(recruiter, act, {"do": "add_link", "url": "example.org/cv", "label": "The CV"})

    assert "Knows &lt;b&gt;Zig&lt;/b&gt;." in page
    assert "night shift" in page
    assert 'href="https://example.org/cv" rel="noopener noreferrer nofollow">The CV' in page

    note, link = ApplicationNote.objects.get(), ApplicationLink.objects.get()
    follow(recruiter, act, {"do": "remove_note", "row": note.id})
    follow(recruiter, act, {"do": "remove_tag", "tag": "night shift"})
    page = follow(recruiter, act, {"do": "remove_link", "row": link.id})
    assert [word for word in ("Knows &lt;b&gt;", "night shift", "The CV") if word in page] == []


def test_an_open_page_follows_a_note(recruiter: Client, here: str) -> None:
    first = recruiter.get(f"{here}?fragment=1")["ETag"]

    follow(recruiter, f"{here}annotate/", {"do": "add_note", "note": "Knows Zig."})

    assert recruiter.get(f"{here}?fragment=1")["ETag"] != first


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ({"do": "add_tag", "tag": "a\x07b"}, "Remove line breaks"),
        ({"do": "add_tag", "tag": "İ" * 21}, "Enter at most 40 characters"),  # 42 in lower case
        ({"do": "add_link", "url": "javascript:alert(1)"}, "Enter a"),
        ({"do": "add_link", "url": "ftp://example.org/x"}, "https:// or http://"),
        ({"do": "assign", "member": "nobody"}, "Nothing was saved."),
        ({"do": "assign", "member": "00000000-0000-7000-8000-000000000000"}, "not a member"),
        ({"do": "remove_note", "row": "0"}, "Nothing was saved."),
    ],
)
def test_bad_input_is_refused_in_words(
    recruiter: Client, here: str, sent: dict[str, str], says: str
) -> None:
    assert says in follow(recruiter, f"{here}annotate/", sent)


def test_a_line_break_in_a_note_counts_as_the_browser_counts_it(
    recruiter: Client, here: str
) -> None:
    note = "x" * 999 + "\r\n" + "x" * 1_000

    follow(recruiter, f"{here}annotate/", {"do": "add_note", "note": note})

    assert ApplicationNote.objects.get().text == note.replace("\r\n", "\n")


def test_a_note_that_cannot_be_added_is_not_lost(
    recruiter: Client, here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(note: str) -> str:
        response = recruiter.post(f"{here}annotate/", {"do": "add_note", "note": note})
        assert response.status_code == 422
        return response.content.decode()

    long = "Knows <Zig>. " * 200
    assert "Fill in this field." in answer("")
    assert "Knows &lt;Zig&gt;. Knows" in answer(long)
    assert "Enter at most 2000 characters" in answer(long)

    monkeypatch.setattr("pipeline.review.annotations.MOST_NOTES", 0)
    refused = answer("Knows Ada.")
    assert "Knows Ada.</textarea>" in refused
    assert "An application can have 0 notes. Remove one first." in refused


def test_roles_and_companies(
    viewer: Client, stranger: Client, recruiter: Client, here: str
) -> None:
    sent = {"do": "add_tag", "tag": "x"}

    assert viewer.post(f"{here}annotate/", sent).status_code == 403
    assert stranger.post(f"{here}annotate/", sent).status_code == 404
    assert recruiter.post(f"{here}annotate/", {"do": "dance"}).status_code == 404
    assert "annotate/" not in page_of(viewer, here)
