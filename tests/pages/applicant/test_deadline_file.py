"""The deadline of an offer, as a file for the applicant's calendar."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from icalendar import Calendar

from jobs.models import JobPosting
from pipeline.mail.links import LinkedOffer, make_offer_token
from pipeline.models import Application
from pipeline.selectors.applications import my_current_offer
from pipeline.services.turns import extend_deadline
from tests.support import factories
from tests.support.applicants import confirm, mine, owner_signed_in, who
from tests.support.clock import let_time_pass
from tests.support.pages import page_of

pytestmark = pytest.mark.django_db(transaction=True)
FILE = "deadline.ics"


@pytest.fixture
def offered() -> Application:
    return factories.application(factories.job(acknowledge_first_seat=True))


def link_of(application: Application) -> str:
    seq = my_current_offer(application.id)
    assert seq
    return f"/confirm/{make_offer_token(LinkedOffer(application.id, seq))}/"


def entry_in(client: Client, application: Application) -> Calendar:
    answer = client.get(mine(application, FILE))
    assert answer["Content-Type"] == "text/calendar; charset=utf-8"
    assert answer["Content-Disposition"] == 'attachment; filename="deadline.ics"'
    assert "no-store" in answer["Cache-Control"]
    return Calendar.from_ical(answer.content).walk("VEVENT")[0]


def test_the_page_of_an_offer_leads_to_its_deadline(offered: Application) -> None:
    client = owner_signed_in(offered)

    assert mine(offered, FILE) in page_of(client, mine(offered))
    entry = entry_in(client, offered)

    until = factories.fresh(offered).acknowledge_by
    assert until
    assert entry.end == until.replace(microsecond=0)
    assert entry.end - entry.start == timedelta(minutes=30)
    assert str(entry["uid"]).startswith(str(offered.id))
    assert "ORGANIZER" in entry
    assert "ATTENDEE" not in entry, "a published entry has none (RFC 5546, 3.2.1)"


def test_an_extended_deadline_replaces_the_entry(offered: Application) -> None:
    client = owner_signed_in(offered)
    before = entry_in(client, offered)

    extend_deadline(application_id=offered.id, seconds=600)

    after = entry_in(client, offered)
    assert (after["uid"], after.end) == (before["uid"], before.end + timedelta(seconds=600))
    assert after["sequence"] > before["sequence"]


def test_without_an_open_offer_it_leads_back(offered: Application) -> None:
    late = factories.application(factories.job(acknowledge_first_seat=True))
    let_time_pass(late.job_id, 400_000)
    confirm(offered)

    for application in (offered, late):
        answer = owner_signed_in(application).get(mine(application, FILE))
        assert (answer.status_code, answer["Location"]) == (302, mine(application))
        assert mine(application, FILE) not in page_of(
            owner_signed_in(application), mine(application)
        )


def test_the_link_of_the_offers_email_leads_to_the_same_entry(
    visitor: Client, offered: Application
) -> None:
    link = link_of(offered)

    assert f"{link}{FILE}" in page_of(visitor, link)
    answer = visitor.get(f"{link}{FILE}")

    entry, own = Calendar.from_ical(answer.content), entry_in(owner_signed_in(offered), offered)
    [told] = entry.walk("VEVENT")
    del told["DTSTAMP"], own["DTSTAMP"]  # when each was made
    assert told.to_ical() == own.to_ical()
    assert "no-store" in answer["Cache-Control"]
    assert who(visitor) is None


def test_a_link_that_is_over_or_wrong_leads_to_what_it_says(
    visitor: Client, offered: Application
) -> None:
    link = link_of(offered)
    confirm(offered)

    for each in (link, "/confirm/garbage/"):
        answer = visitor.get(f"{each}{FILE}")
        assert (answer.status_code, answer["Location"]) == (302, each)
        assert FILE not in visitor.get(each).content.decode()


def test_others_do_not_get_it(visitor: Client, offered: Application) -> None:
    other = owner_signed_in(factories.application(factories.job()))

    assert other.get(mine(offered, FILE)).status_code == 404
    assert visitor.get(mine(offered, FILE)).status_code == 302


@pytest.mark.parametrize(
    "title",
    [
        "Cook\r\nATTENDEE:mailto:victim@example.org",
        "Cook\nEND:VEVENT\nBEGIN:VEVENT\nSUMMARY:x",
        'Cook;X=1:y,z\\\\n"',
        "Cook\u2028END:VCALENDAR\u0085X:y",
        "é" * 200,
    ],
)
def test_no_title_adds_a_line_to_the_file(offered: Application, title: str) -> None:
    """A title with line breaks is refused; this is about rows from before, and other ways in."""
    JobPosting.objects.filter(job_id=offered.job_id).update(title=title)

    answer = owner_signed_in(offered).get(mine(offered, FILE))
    lines = answer.content.split(b"\r\n")
    unfolded = answer.content.replace(b"\r\n ", b"").split(b"\r\n")
    names = [line.partition(b":")[0].partition(b";")[0] for line in unfolded if line]

    assert all(len(line) <= 75 and b"\n" not in line and b"\r" not in line for line in lines)
    assert names.count(b"BEGIN") == names.count(b"END") == 3  # calendar, event, alarm
    assert names.count(b"SUMMARY") == 1
    assert not {b"ATTENDEE", b"X"} & set(names)
