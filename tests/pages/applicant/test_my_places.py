"""The page of one's place in line over time."""

from __future__ import annotations

import pytest

from pipeline.figures import series
from tests.support import factories
from tests.support.applicants import applicant_browser, leave, mine, owner_signed_in
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_page_draws_the_place_and_lists_every_change() -> None:
    job = factories.job()
    seated, first, me = factories.applications(job, 3)
    leave(first)

    page = owner_signed_in(me).get(mine(me, "places/"))

    text = text_of(page)
    assert "Best place 1, worst 2, latest 1." in text
    assert "2 changes, newest first" in text
    assert text.index("Others moved") < text.rindex("Applied")
    assert mine(me, "places/") in owner_signed_in(me).get(mine(me)).content.decode()
    assert owner_signed_in(seated).get(mine(seated, "places/")).status_code == 200


def test_it_says_when_there_was_no_place() -> None:
    seated = factories.application(factories.job())

    assert "You have not waited in this line yet" in text_of(
        owner_signed_in(seated).get(mine(seated, "places/"))
    )


def test_it_says_when_the_log_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    me = factories.applications(factories.job(), 2)[1]
    monkeypatch.setattr(series, "MOST_EVENTS", 1)

    assert "too long for this page" in text_of(owner_signed_in(me).get(mine(me, "places/")))


def test_it_is_nobody_elses() -> None:
    me = factories.applications(factories.job(), 2)[1]

    assert applicant_browser(factories.applicant()).get(mine(me, "places/")).status_code == 404
