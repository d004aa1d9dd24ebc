"""Review settings of a job, working hours, ageing on pages, mentions and scorecards."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db.models import F
from django.test import Client

from jobs.models import Company, JobPosting, Membership, Role, Telling, User
from pipeline.domain.states import Outcome
from pipeline.models import Application, JobFollower, NoteMention, RotaMember, Score
from pipeline.review import rota
from pipeline.review.scores import CriterionWords, Mark, give, set_criteria
from pipeline.selectors.scores import read_criteria
from pipeline.services.leaving import remove
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.applicants import named
from tests.support.clock import database_now
from tests.support.pages import follow, page_of

DAY = 86_400
# The form as it stands without any settings.
WHOLE: dict[str, Any] = {"number": "", "unit": DAY, "telling": "USUAL"}


@pytest.fixture
def here(job: UUID) -> str:
    """Return the page of a job's review settings."""
    return f"/company/jobs/{job}/review/"


@pytest.fixture
def ana(job: UUID) -> Application:
    """Return the application of someone in review."""
    return named(job, "Ana Li")


def set_target(job: UUID, seconds: int) -> None:
    JobPosting.objects.filter(job_id=job).update(review_target_seconds=seconds)


def age(application: Application, days: float) -> None:
    row = Application.objects.filter(id=application.id)
    row.update(status_since=F("status_since") - timedelta(days=days))


def test_a_target_is_set_changed_and_removed(recruiter: Client, here: str, job: UUID) -> None:
    def saved(number: str, unit: int) -> int | None:
        follow(recruiter, here, WHOLE | {"number": number, "unit": unit})
        return JobPosting.objects.get(job_id=job).review_target_seconds

    assert [saved("3", DAY), saved("5", 3_600), saved("", DAY)] == [3 * DAY, 5 * 3_600, None]


@pytest.mark.parametrize("number", ["0", "61", "x"])
def test_a_target_out_of_range_is_refused_in_words(
    recruiter: Client, here: str, number: str
) -> None:
    answer = recruiter.post(here, WHOLE | {"number": number, "unit": DAY})

    assert answer.status_code == 422
    assert "There is a problem" in answer.content.decode()


def test_criteria_are_saved_in_order_and_an_empty_one_is_none(
    recruiter: Client, here: str, job: UUID
) -> None:
    given = {"c0-label": "Skill", "c0-help": "Can they?", "c3-label": "Will"}
    page = follow(recruiter, here, WHOLE | given)

    assert [(row.label, row.help) for row in read_criteria(job)] == [
        ("Skill", "Can they?"),
        ("Will", ""),
    ]
    assert 'value="Skill"' in page


def test_the_rota_takes_members_of_the_company_only(
    recruiter: Client, here: str, job: UUID, company: Company
) -> None:
    ours, theirs = member_of(company), member_of(factories.company())

    follow(recruiter, here, WHOLE | {"members": [str(ours.id)]})
    refused = recruiter.post(here, WHOLE | {"members": [str(theirs.id)]})

    assert refused.status_code == 422
    assert list(RotaMember.objects.values_list("user_id", flat=True)) == [ours.id]


def test_the_rota_takes_only_members_who_may_decide(
    recruiter: Client, here: str, job: UUID, company: Company, ana: Application
) -> None:
    decides, looks = member_of(company), member_of(company, Role.VIEWER, email="v@example.org")

    refused = recruiter.post(here, WHOLE | {"members": [str(looks.id)]})
    follow(recruiter, here, WHOLE | {"members": [str(decides.id)]})
    Membership.objects.filter(user=decides).update(role=Role.VIEWER)
    shown = page_of(recruiter, here)

    assert refused.status_code == 422
    assert (looks.email in shown, decides.email in shown) == (False, False)
    assert rota.assign_in_turn(factories.row_of(job), ana.id, ana.status_since) is None


def test_everything_is_saved_at_once_or_nothing(
    recruiter: Client, here: str, job: UUID, company: Company
) -> None:
    ours = member_of(company)
    given = WHOLE | {"number": "3", "c0-label": "Skill", "members": [str(ours.id)]}

    refused = recruiter.post(here, given | {"number": "61", "telling": "AT_ONCE"})
    before = (read_criteria(job), RotaMember.objects.count(), JobFollower.objects.count())
    follow(recruiter, here, given | {"telling": "AT_ONCE"})

    assert (refused.status_code, before) == (422, ([], 0, 0))
    assert JobPosting.objects.get(job_id=job).review_target_seconds == 3 * DAY
    assert [row.label for row in read_criteria(job)] == ["Skill"]
    assert RotaMember.objects.get().user == ours
    assert JobFollower.objects.get().telling == Telling.AT_ONCE


def test_every_member_chooses_how_to_be_told_but_only_recruiters_change_the_rest(
    viewer: Client, here: str, job: UUID
) -> None:
    follow(viewer, here, {"telling": "AT_ONCE"})
    chosen = JobFollower.objects.get().telling
    follow(viewer, here, {"telling": "USUAL"})

    assert chosen == Telling.AT_ONCE
    assert not JobFollower.objects.exists()
    for name in ("number", "members"):
        assert viewer.post(here, {name: "3", "telling": "USUAL"}).status_code == 403
    follow(viewer, here, {"telling": "USUAL", "c0-label": "Skill"})
    assert read_criteria(job) == []


def test_working_hours_are_saved_and_removed(recruiter: Client, company: Company) -> None:
    where, hours = "/company/working-hours/", {"begins": "09:00", "ends": "17:30"}
    follow(recruiter, where, {**hours, "days": ["0", "4"], "zone": "Europe/Berlin"})
    company.refresh_from_db()
    kept = company.working_hours
    page = page_of(recruiter, where)
    follow(recruiter, where, {**hours, "zone": "UTC"})
    company.refresh_from_db()

    expected = {"days": [0, 4], "begins": 540, "ends": 1_050, "zone": "Europe/Berlin"}
    assert (kept, company.working_hours) == (expected, None)
    assert 'value="17:30"' in page


def test_working_hours_that_cannot_be_used_are_refused_in_words(recruiter: Client) -> None:
    given = {"days": ["0"], "begins": "17:00", "ends": "09:00", "zone": "UTC"}

    answer = recruiter.post("/company/working-hours/", given)

    assert answer.status_code == 422
    assert "End at least an hour after the beginning" in answer.content.decode()


def test_the_board_the_list_of_jobs_and_the_person_show_the_age_of_the_target(
    recruiter: Client, job: UUID, ana: Application
) -> None:
    set_target(job, 3 * DAY)
    age(ana, 2)
    pages = [f"/company/jobs/{job}/", "/company/", f"/company/applications/{ana.id}/"]

    shown = [page_of(recruiter, page) for page in pages]
    age(ana, 2)
    overdue = [page_of(recruiter, page) for page in pages]

    assert ["2 d" in page and "3 d" in page for page in shown] == [True] * 3
    assert [
        page.lower().count("chip bad") > 0 and "overdue" in page.lower() for page in overdue
    ] == [True] * 3


def test_where_only_working_time_counts_the_age_says_so(
    recruiter: Client, company: Company, job: UUID, ana: Application
) -> None:
    set_target(job, 3 * DAY)
    resting = (database_now().weekday() + 3) % 7  # a day that is neither now nor just over
    hours = {"days": [resting], "begins": 540, "ends": 1_020, "zone": "UTC"}
    Company.objects.filter(id=company.id).update(working_hours=hours)
    age(ana, 26 / 24)

    board = page_of(recruiter, f"/company/jobs/{job}/")
    person = page_of(recruiter, f"/company/applications/{ana.id}/")

    assert "working day 1 of 3" in board
    assert "New</span>" not in board
    assert "in review: working day 1 of 3" in person


def test_lists_of_jobs_and_people_are_filtered_by_overdue_reviews(
    recruiter: Client, job: UUID, ana: Application, company: Company
) -> None:
    other = factories.job(company_id=company.id)
    JobPosting.objects.filter(job_id=other).update(title="Other job")
    set_target(job, DAY)
    age(ana, 2)

    jobs = page_of(recruiter, "/company/?review=overdue")
    people = page_of(recruiter, f"/company/jobs/{job}/applications/?review=overdue")

    found = jobs.partition("<main")[2]  # all jobs are in the rail
    assert ("Engineer" in found, "Other job" in found) == (True, False)
    assert ("Ana Li" in people, "Bo Berg" in people) == (True, False)


def test_without_a_target_no_review_is_overdue(
    recruiter: Client, job: UUID, ana: Application
) -> None:
    age(ana, 300)

    people = page_of(recruiter, f"/company/jobs/{job}/applications/?review=overdue")

    assert "Nobody matches" in people
    assert "No jobs match" in page_of(recruiter, "/company/?review=overdue")


def test_colleagues_are_mentioned_by_their_ids_and_shown_with_the_note(
    recruiter: Client, ana: Application, company: Company
) -> None:
    where, colleague = f"/company/applications/{ana.id}/", member_of(company, email="c@example.org")
    stranger = member_of(factories.company())

    page = follow(
        recruiter,
        f"{where}annotate/",
        {"do": "add_note", "note": "Look.", "mention": [str(colleague.id)]},
    )
    refused = recruiter.post(
        f"{where}annotate/", {"do": "add_note", "note": "Look.", "mention": [str(stranger.id)]}
    )

    assert "@c@example.org" in page
    assert refused.status_code == 422
    assert "only members of the company" in refused.content.decode()
    assert NoteMention.objects.get().user == colleague


@pytest.fixture
def scored(company: Company, job: UUID, ana: Application) -> User:
    """Return a colleague who has given Ana four marks of four."""
    colleague = member_of(company, Role.RECRUITER, email="bo@example.org")
    set_criteria(job_id=job, wanted=[CriterionWords("Skill", "Can they?")])
    marks = {row.id: Mark(4, "Knows Zig.") for row in read_criteria(job)}
    give(application_id=ana.id, reviewer_id=colleague.id, marks=marks)
    return colleague


def test_the_page_hides_scores_from_an_owner_too_until_they_have_given_theirs(
    owner: Client, job: UUID, ana: Application, scored: User
) -> None:
    where = f"/company/applications/{ana.id}/"
    before = page_of(owner, where)
    [criterion] = read_criteria(job)
    sent = {f"{criterion.id}-mark": "2", f"{criterion.id}-text": "Not sure."}
    after = follow(owner, f"{where}scores/", sent)

    assert "1 reviewer has given scores." in before
    assert "Knows Zig." not in before
    assert "Knows Zig." in after
    assert "bo@example.org" in after
    assert "Not sure." in after


def test_scores_that_a_member_gave_are_shown_and_can_be_changed_without_opening_anything(
    ana: Application, scored: User
) -> None:
    page = page_of(browser_of(scored), f"/company/applications/{ana.id}/")
    own = page.split('id="scores"')[1].split("Save my scores")[0]

    assert re.search(r'type="radio"[^>]* checked', own)
    assert "Knows Zig." in own
    assert "<details" not in own
    [field] = re.findall(r'<textarea[^>]* id="([^"]+-text)"', own)
    assert f'<label for="{field}">Why (optional)</label>' in own


def test_the_decision_ends_with_its_buttons_of_which_one_is_filled(
    owner: Client, ana: Application
) -> None:
    page = page_of(owner, f"/company/applications/{ana.id}/")
    decision = page.split('id="decide-title"')[1].split("</form>")[0]

    assert decision.index('name="reason"') < decision.index('id="consequence"')
    assert decision.rindex("<details") < decision.index('value="HIRED"')
    assert len(re.findall(r'class="btn[^"]*\bprimary\b(?! plain)[^"]*"', decision)) == 1


def test_a_shared_fragment_never_shows_one_members_view_to_another(
    owner: Client, ana: Application, scored: User
) -> None:
    where = f"/company/applications/{ana.id}/?fragment=1"
    colleague = browser_of(scored)

    seen = colleague.get(where).content.decode()
    hidden = owner.get(where).content.decode()

    assert ("Knows Zig." in seen, "Knows Zig." in hidden) == (True, False)


def test_scores_that_are_not_whole_are_shown_again_with_what_was_typed(
    owner: Client, job: UUID, ana: Application, scored: User
) -> None:
    [criterion] = read_criteria(job)

    answer = owner.post(
        f"/company/applications/{ana.id}/scores/", {f"{criterion.id}-text": "A long thought."}
    )

    assert answer.status_code == 422
    assert "A long thought." in answer.content.decode()
    assert Score.objects.count() == 1


def test_after_the_decision_scores_are_shown_and_closed(
    owner: Client, ana: Application, scored: User
) -> None:
    remove(application_id=ana.id, outcome=Outcome.HIRED, actor=factories.RECRUITER)

    page = page_of(owner, f"/company/applications/{ana.id}/")

    assert "Knows Zig." in page
    assert "Save my scores" not in page


def test_viewers_give_no_scores(viewer: Client, ana: Application, scored: User) -> None:
    assert viewer.post(f"/company/applications/{ana.id}/scores/").status_code == 403
    assert "Knows Zig." not in page_of(viewer, f"/company/applications/{ana.id}/")


def test_a_member_chooses_emails_about_reviews_and_says_they_are_away(
    recruiter: Client, company: Company
) -> None:
    member = Membership.objects.get(company=company, role=Role.RECRUITER)
    sent: dict[str, Any] = {"membership": member.id, "reviews": "DIGEST"}
    follow(recruiter, "/account/emails/", sent | {"away_until": "2027-01-31"})
    member.refresh_from_db()

    assert (member.telling, str(member.away_until)) == (Telling.DIGEST, "2027-01-31")


def test_people_in_this_list_are_one_key_away(
    recruiter: Client, job: UUID, ana: Application
) -> None:
    page = page_of(recruiter, f"/company/applications/{ana.id}/")

    next_one = named(job, "Bo Berg")
    assert f'href="/company/applications/{next_one.id}/" rel="next" data-go="next"' in page
