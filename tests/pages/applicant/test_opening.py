"""The page of one job: its rules, the form, and obstacles to applying."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client

from jobs.models import JobPosting, Membership, Role, User
from jobs.policies import DAY
from pipeline.figures.forecast import POSITIONS
from pipeline.models import Application, JobForecast
from pipeline.pages.live_page import STREAM_HEADER
from pipeline.services.jobs import close_job, pause_job
from tests.support import factories
from tests.support.applicants import applicant_browser
from tests.support.clock import database_now, let_time_pass
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)


def staff_of(company_id: object, role: Role = Role.VIEWER) -> Client:
    user = factories.UserFactory.create(password=None)
    Membership.objects.create(company_id=company_id, user=user, role=role)
    client = Client()
    client.force_login(user)
    return client


def test_a_job_tells_its_rules_and_its_numbers(visitor: Client) -> None:
    job = factories.job(penalty_places=2, max_decays=1)

    page = text_of(visitor.get(f"/jobs/{job}/"))
    rules = text_of(visitor.get(f"/jobs/{job}/facts/"))

    assert "1 seat, 1 free. A seat is free now." in page
    assert "Confirm within 10 minutes and the seat is yours." in page
    assert "They have 10 minutes to confirm it." in rules
    assert "the next 2 people to join go ahead of you" in rules


def test_where_the_forecast_ends_a_least_wait_is_said(visitor: Client) -> None:
    job = factories.job()
    factories.applications(job, 8)
    JobForecast.objects.create(
        job_id=job,
        seq=1,
        made_at=database_now(),
        positions={"5": [4 * DAY, 9 * DAY, 20]},
        settled=0,
        came_true=0,
    )

    for page in (f"/jobs/{job}/", f"/jobs/{job}/facts/"):
        said = text_of(visitor.get(page))
        assert "You will probably wait more than 4 days for a seat." in said
        assert "not known yet" not in said


def test_a_line_is_said_in_one_sentence_and_three_steps(visitor: Client) -> None:
    job = factories.job(capacity=2)
    factories.applications(job, 5)
    known = {str(place): [4 * DAY, 9 * DAY, 20] for place in POSITIONS}
    JobForecast.objects.create(
        job_id=job, seq=1, made_at=database_now(), positions=known, settled=0, came_true=0
    )
    JobPosting.objects.filter(job_id=job).update(review_target_seconds=3 * DAY)

    page = text_of(visitor.get(f"/jobs/{job}/"))

    assert (
        "2 seats, 3 waiting. Apply today and you should get a seat in 4 to 9 days. You then have"
        " 10 minutes to confirm."
    ) in page
    assert "1. Join the line You would be number 4." in page
    assert "2. Your turn We email you." in page
    assert "3. An answer A person reads everything. The company aims to answer" in page


def test_a_description_is_text_with_links_and_never_markup(visitor: Client) -> None:
    job = factories.job()
    text = "One.\nTwo <script>alert(1)</script> https://example.org/x javascript:alert(1)"
    JobPosting.objects.filter(job_id=job).update(description=text)

    page = visitor.get(f"/jobs/{job}/").content.decode()

    assert "One.<br>\nTwo &lt;script&gt;" in page
    assert '<a href="https://example.org/x" rel="nofollow noopener' in page
    assert 'href="javascript' not in page


def test_a_stranger_is_asked_for_name_and_address(visitor: Client) -> None:
    page = visitor.get(f"/jobs/{factories.job()}/")

    assert list(page.context["form"].fields) == ["name", "email"]


def test_who_is_signed_in_is_asked_for_the_name_they_gave_last() -> None:
    person = factories.applicant(name="")
    factories.application(factories.job(), person)
    Application.objects.update(name="Ana Li")

    page = applicant_browser(person).get(f"/jobs/{factories.job()}/")

    assert list(page.context["form"].fields) == ["name"]
    assert page.context["form"]["name"].value() == "Ana Li"


def test_who_has_applied_is_led_to_the_application() -> None:
    person, job = factories.applicant(), factories.job()
    application = factories.application(job, person)

    page = applicant_browser(person).get(f"/jobs/{job}/")

    assert "You have applied" in text_of(page)
    assert f"/me/applications/{application.id}/" in page.content.decode()


@pytest.mark.parametrize(("verb", "words"), [(pause_job, "is paused"), (close_job, "is closed")])
def test_a_job_that_takes_nobody_says_why(visitor: Client, verb: object, words: str) -> None:
    job = factories.job()
    verb(job_id=job, actor=factories.RECRUITER)  # type: ignore[operator]

    page = visitor.get(f"/jobs/{job}/")

    assert f"This job {words}" in text_of(page)
    assert b'method="post"' not in page.content


def test_a_seat_that_nobody_who_waits_can_take_is_free(visitor: Client) -> None:
    job = factories.job(acknowledge_first_seat=True)
    factories.application(job)
    let_time_pass(job, factories.WINDOW)
    factories.settle_all()

    page = text_of(visitor.get(f"/jobs/{job}/"))

    assert (
        "A seat is free now. Nobody on the waitlist can take a seat right now, so you would get"
        " this one."
    ) in page
    assert "would join behind" not in page


def test_a_closed_job_tells_nothing_of_a_line_that_is_over(visitor: Client) -> None:
    job = factories.job(capacity=2)
    empty = factories.job()
    factories.applications(job, 3)
    for each in (job, empty):
        close_job(job_id=each, actor=factories.RECRUITER)
    factories.settle_all()

    page, unused = (text_of(visitor.get(f"/jobs/{each}/")) for each in (job, empty))

    assert "still reviewing 2 applicants with a seat" in page
    assert "still looking" not in unused
    for words in ("free", "waiting", "How it works"):
        assert words not in page + unused


def test_a_paused_job_speaks_of_no_free_seat(visitor: Client) -> None:
    job = factories.job()
    pause_job(job_id=job, actor=factories.RECRUITER)

    page = text_of(visitor.get(f"/jobs/{job}/"))

    assert "seats free" not in page
    assert "seat free" not in page
    assert "1 seat, nobody waiting. Everyone in line keeps their place." in page
    assert "How it works" in page


def test_a_draft_is_a_preview_for_its_company_and_nothing_for_others(visitor: Client) -> None:
    company = factories.company()
    job = factories.job(company_id=company.id, open_now=False)

    assert visitor.get(f"/jobs/{job}/").status_code == 404
    assert staff_of(factories.company().id).get(f"/jobs/{job}/").status_code == 404
    assert "Preview of a draft" in text_of(staff_of(company.id).get(f"/jobs/{job}/"))


def test_staff_are_led_to_their_board_and_cannot_apply() -> None:
    company = factories.company()
    job = factories.job(company_id=company.id)
    client = staff_of(company.id)

    page = client.get(f"/jobs/{job}/")
    tried = client.post(f"/jobs/{job}/apply/", {"name": "A", "email": "a@example.org"})

    assert "You are signed in as a company" in text_of(page)
    assert f"/company/jobs/{job}/" in page.content.decode()
    assert (tried.status_code, factories.row_of(job).seq) == (302, 2)


def test_an_open_job_describes_itself_to_search_engines(visitor: Client) -> None:
    job = factories.job()
    JobPosting.objects.filter(job_id=job).update(
        title="Cook </script><b>", description="Cooks & bakes", location="Berlin", country="DE"
    )

    page = visitor.get(f"/jobs/{job}/").content.decode()

    assert '"@type": "JobPosting"' in page
    assert '"title": "Cook \\u003c/script\\u003e\\u003cb\\u003e"' in page
    assert "open since" in page
    assert '<meta property="og:title" content="Cook &lt;/script&gt;' in page
    close_job(job_id=job, actor=factories.RECRUITER)
    assert "JobPosting" not in visitor.get(f"/jobs/{job}/").content.decode()


def test_the_page_says_what_changes_and_fetches_only_that(visitor: Client) -> None:
    job = factories.job()
    page = visitor.get(f"/jobs/{job}/").content.decode()
    (tag,) = re.findall(r'data-tag="([^"]+)"', page)

    same = visitor.get(f"/jobs/{job}/?fragment=1", headers={"if-none-match": html.unescape(tag)})
    factories.applications(job, 3)
    fresh = visitor.get(f"/jobs/{job}/?fragment=1", headers={"if-none-match": html.unescape(tag)})

    assert same.status_code == 304
    assert fresh.status_code == 200
    assert "1 seat, 2 waiting." in text_of(fresh)
    assert "You would be number 3." in text_of(fresh)
    assert "<h1" not in fresh.content.decode()
    assert "open since" not in fresh.content.decode()


def test_a_look_without_news_costs_two_queries_and_is_the_same_for_everybody(
    visitor: Client, django_assert_num_queries: Any
) -> None:
    job = factories.job()
    first = visitor.get(f"/jobs/{job}/?fragment=1")

    with django_assert_num_queries(2):  # the job, and its plans
        same = visitor.get(f"/jobs/{job}/?fragment=1", headers={"if-none-match": first["ETag"]})
    with django_assert_num_queries(2):  # the fragment is shared
        other = Client().get(f"/jobs/{job}/?fragment=1")

    assert (same.status_code, other.status_code) == (304, 200)
    assert other["ETag"] == first["ETag"]


def test_a_person_who_applied_elsewhere_sees_it_here() -> None:
    person, job = factories.applicant(), factories.job()
    browser = applicant_browser(person)
    before = browser.get(f"/jobs/{job}/?fragment=1")

    factories.application(job, person)
    after = browser.get(f"/jobs/{job}/?fragment=1", headers={"if-none-match": before["ETag"]})

    assert "You have applied" in text_of(after)


def test_members_of_one_company_share_no_fragment_if_one_is_also_a_member_of_another() -> None:
    company, elsewhere = factories.company(), factories.company(name="Elsewhere")
    job = factories.job(company_id=company.id)
    browser, other = staff_of(elsewhere.id), staff_of(elsewhere.id)
    member = User.objects.get(id=browser.session["_auth_user_id"])
    Membership.objects.create(company=company, user=member, role=Role.VIEWER)
    session = browser.session
    session["company_id"] = str(elsewhere.id)
    session.save()

    mine, theirs = (each.get(f"/jobs/{job}/?fragment=1") for each in (browser, other))

    assert "To apply yourself" not in text_of(mine)
    assert "To apply yourself" in text_of(theirs)


@pytest.mark.parametrize(
    ("verb", "news"), [(pause_job, "This job is paused."), (close_job, "This job is closed.")]
)
def test_a_job_that_stops_is_told_aloud(visitor: Client, verb: Any, news: str) -> None:
    job = factories.job()
    before = visitor.get(f"/jobs/{job}/?fragment=1").content.decode()
    verb(job_id=job, actor=factories.RECRUITER)

    after = visitor.get(f"/jobs/{job}/?fragment=1").content.decode()

    assert 'data-says="A seat is free now."' in before
    assert f'data-says="{news}"' in after


def test_a_refused_form_is_shown_again_and_does_not_update_itself(visitor: Client) -> None:
    job = factories.job()

    page = visitor.post(f"/jobs/{job}/apply/", {"name": "", "email": "x"})

    assert page.status_code == 422
    assert b"data-live=" not in page.content


def test_only_who_is_signed_in_has_a_stream(visitor: Client) -> None:
    job = factories.job()
    path = f"/jobs/{job}/"
    applicant, staff = applicant_browser(factories.applicant()), staff_of(factories.company().id)

    for client in (applicant, staff):
        assert 'data-stream="/live/' in client.get(path).content.decode()
        assert client.get(f"{path}?fragment=1")[STREAM_HEADER].startswith("/live/")

    page = visitor.get(path).content.decode()
    assert 'data-stream=""' in page
    assert f'data-live="{path}?fragment=1"' in page  # it still looks again by itself
    assert 'id="live-state"' in page
    assert visitor.get(f"{path}?fragment=1")[STREAM_HEADER] == ""
