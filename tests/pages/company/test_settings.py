"""Creating jobs and changing what they say and ask, on their pages."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Company, Job
from tests.support import factories
from tests.support.applicants import named
from tests.support.pages import page_of

RULES = {
    "window": 2,
    "window_unit": "days",
    "penalty_places": 2,
    "max_decays": "",
    "cooldown": 90,
    "cooldown_unit": "minutes",
    "max_passes": "1",
}
NEW = {"title": "Sailmaker", "location": "Loft", "capacity": 4, "start": "OPEN", **RULES}


def text_of(answer: Any) -> str:
    return re.sub(r"\s+", " ", answer.content.decode())


def seen(client: Client, job: UUID, section: str) -> str:
    page = text_of(client.get(f"/company/jobs/{job}/settings/"))
    found = re.search(rf'name="seen_{section}" value="(\d+)"', page)
    assert found
    return found[1]


def test_a_job_is_created_open_under_its_rules(recruiter: Client, company: Company) -> None:
    answer = recruiter.post("/company/jobs/new/", NEW, follow=True)

    job = Job.objects.get(company=company)
    assert answer.redirect_chain == [(f"/company/jobs/{job.id}/", 302)]
    assert "“Sailmaker” was created. It is open" in text_of(answer)
    assert (job.status, job.capacity, job.max_decays, job.penalty_places) == ("OPEN", 4, None, 2)
    assert (job.acknowledgment_window_seconds, job.cooldown_seconds) == (172_800, 5_400)


def test_a_draft_is_opened_by_its_button(recruiter: Client, company: Company) -> None:
    answer = recruiter.post("/company/jobs/new/", NEW | {"start": "DRAFT"}, follow=True)
    job = Job.objects.get(company=company)

    assert ">Draft</span>" in answer.content.decode()
    assert "Open job" in text_of(answer)
    recruiter.post(f"/company/jobs/{job.id}/open/")
    assert Job.objects.get(company=company).status == "OPEN"


def test_rules_are_shown_as_applicants_will_read_them_and_nothing_is_made(
    recruiter: Client,
) -> None:
    answer = recruiter.post("/company/jobs/new/", NEW | {"preview": "1", "title": ""})

    assert answer.status_code == 200
    assert "have 2 days to confirm" in text_of(answer)
    assert 'value="Loft"' in text_of(answer)
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"title": " "}, "Fill in this field."),
        ({"title": "A\nB"}, "Remove line breaks and other invisible characters."),
        ({"window": 31}, "Enter a time from 1 minute to 30 days."),
        ({"window": 59, "window_unit": "seconds"}, "Enter a time from 1 minute to 30 days."),
        ({"window": "x"}, "Enter a whole number, in digits."),
        ({"cooldown": 10**9, "cooldown_unit": "days"}, "Enter 9999999 or less."),
        ({"capacity": 10_001}, "Enter 10000 or less."),
        ({"penalty_places": -1}, "Enter 0 or more."),
        ({"window_unit": "years"}, "Choose one of the options."),
    ],
)
def test_what_is_filled_in_wrong_is_said_at_its_field_and_kept(
    recruiter: Client, wrong: dict[str, Any], says: str
) -> None:
    answer = recruiter.post("/company/jobs/new/", NEW | wrong | {"location": "Pier 4"})

    assert answer.status_code == 422
    assert says in text_of(answer)
    assert "Pier 4" in text_of(answer)
    assert not Job.objects.exists()


def test_too_little_time_to_confirm_is_warned_of_but_allowed(
    recruiter: Client, company: Company
) -> None:
    short = NEW | {"window": 3, "window_unit": "hours"}

    assert "WCAG 2.2.1" in text_of(recruiter.post("/company/jobs/new/", short, follow=True))
    assert Job.objects.get(company=company).acknowledgment_window_seconds == 10_800


def typed(client: Client, job: UUID, **differing: Any) -> dict[str, Any]:
    """Return the data of an owner's form in which only this was changed."""
    versions = {f"seen_{of}": seen(client, job, of) for of in ("posting", "policy")}
    return {"section": "all", "title": "Engineer", **RULES, **versions} | differing


def test_a_recruiter_edits_the_posting_but_not_the_rules(recruiter: Client, job: UUID) -> None:
    path = f"/company/jobs/{job}/settings/"
    page = text_of(recruiter.get(path))

    assert "Only an owner of Acme can change the rules" in page
    version = seen(recruiter, job, "posting")
    given = {"section": "posting", "title": "New title", "seen_posting": version}
    assert "The posting is saved." in text_of(recruiter.post(path, given, follow=True))
    assert Job.objects.get(id=job).posting.title == "New title"
    assert recruiter.post(path, {"section": "all", "title": "x"} | RULES).status_code == 403


def test_an_owner_changes_the_rules_and_running_deadlines_stay(owner: Client, job: UUID) -> None:
    path = f"/company/jobs/{job}/settings/"
    factories.application(job)

    page = text_of(owner.post(path, typed(owner, job), follow=True))

    assert "The rules are saved." in page
    assert "running deadlines, places in line and cool-downs stay" in page
    assert Job.objects.get(id=job).policy_version == 2


def test_an_owner_saves_posting_and_rules_together(owner: Client, job: UUID) -> None:
    path = f"/company/jobs/{job}/settings/"

    page = text_of(owner.post(path, typed(owner, job, title="New title"), follow=True))

    assert "The posting and rules are saved." in page
    now = Job.objects.select_related("posting").get(id=job)
    assert (now.posting.title, now.penalty_places) == ("New title", 2)
    again = text_of(owner.post(path, typed(owner, job, title="New title"), follow=True))
    assert "There were no changes to save." in again


def test_what_is_typed_into_one_part_stays_when_the_other_is_wrong(
    owner: Client, job: UUID
) -> None:
    given = typed(owner, job, title="Half typed", penalty_places="x")

    answer = owner.post(f"/company/jobs/{job}/settings/", given)

    assert answer.status_code == 422
    assert 'value="Half typed"' in text_of(answer)
    assert "Enter a whole number, in digits." in text_of(answer)


def test_a_form_is_not_stale_only_because_somebody_applied(owner: Client, job: UUID) -> None:
    given = typed(owner, job)
    factories.application(job)

    assert owner.post(f"/company/jobs/{job}/settings/", given).status_code == 302


def test_a_stale_form_says_what_changed_and_keeps_what_was_typed(owner: Client, job: UUID) -> None:
    path = f"/company/jobs/{job}/settings/"
    given = typed(owner, job, title="Mine")
    factories.alter(job, posting={"title": "Theirs"}, policy={"penalty_places": 7})

    stale = owner.post(path, given)

    assert stale.status_code == 409
    assert "Someone else changed this job" in text_of(stale)
    assert 'value="Mine"' in text_of(stale)
    assert "<dd>Theirs</dd>" in text_of(stale)
    assert "<dt>Places lost after a miss</dt><dd>7</dd>" in text_of(stale)
    assert Job.objects.get(id=job).penalty_places == 7
    assert owner.post(path, typed(owner, job, title="Mine")).status_code == 302


@pytest.mark.parametrize(("places", "misses"), [(1, 0), (0, 1)])
def test_a_stale_form_shows_one_and_none_as_numbers(
    owner: Client, job: UUID, places: int, misses: int
) -> None:
    given = typed(owner, job, penalty_places=5, max_decays=5)
    factories.alter(job, policy={"penalty_places": places, "max_decays": misses})

    stale = text_of(owner.post(f"/company/jobs/{job}/settings/", given))

    assert f"<dt>Places lost after a miss</dt><dd>{places}</dd>" in stale
    assert f"<dt>Misses allowed</dt><dd>{misses}</dd>" in stale


def test_the_settings_show_how_the_api_and_the_exports_are_reached(
    viewer: Client, job: UUID
) -> None:
    page = text_of(viewer.get(f"/company/jobs/{job}/settings/"))

    assert f"/api/v1/jobs/{job}/pipeline" in page
    for what in ("applications", "log"):
        for form in ("csv", "jsonl"):
            assert f"/company/jobs/{job}/export/{what}.{form}" in page


def test_the_first_visit_says_what_to_do(recruiter: Client, viewer: Client) -> None:
    assert "Create your first job" in text_of(recruiter.get("/company/"))
    assert "Ask a recruiter or an owner of your company to create" in text_of(
        viewer.get("/company/")
    )


def test_jobs_are_found_by_title_and_state(viewer: Client, job: UUID, company: Company) -> None:
    draft = factories.job(company_id=company.id, open_now=False)
    factories.alter(draft, posting={"title": "Translator"})

    assert "Translator" in text_of(viewer.get("/company/"))
    assert "Translator" not in text_of(viewer.get("/company/?status=OPEN"))
    found = text_of(viewer.get("/company/?q=transl"))
    assert "Engineer" not in found.partition("<main")[2]  # as in the rail
    assert "No jobs match your search" in text_of(viewer.get("/company/?q=nothing"))


def test_a_page_of_jobs_costs_the_same_however_many_there_are(
    viewer: Client, company: Company, django_assert_num_queries: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("pipeline.pages.company.jobs.JOBS_SHOWN", 4)
    for _ in range(6):
        factories.applications(factories.job(company_id=company.id), 2)

    with django_assert_num_queries(9):  # one of them for the rail
        page = text_of(viewer.get("/company/"))

    assert page.count("job-row") == 4
    further = re.search(r'href="(/company/\?after=[^"]+)" rel="next"', page)
    assert further
    assert text_of(viewer.get(further[1])).count("job-row") == 2


def test_an_application_shows_its_facts_and_its_timeline(viewer: Client, job: UUID) -> None:
    dee = named(job, "Dee Rao")

    page = text_of(viewer.get(f"/company/applications/{dee.id}/"))

    assert "2 of 3" in page
    assert "joined the line" in page
    assert "Decide…" not in page


def test_the_preview_of_changed_rules_saves_nothing(owner: Client, job: UUID) -> None:
    versions = {f"seen_{of}": seen(owner, job, of) for of in ("posting", "policy")}
    form = NEW | versions | {"section": "all", "preview": "1", "window": 3}

    answer = owner.post(f"/company/jobs/{job}/settings/", form)

    assert answer.status_code == 200
    assert "have 3 days to confirm" in text_of(answer)
    assert "not saved yet" in text_of(answer)
    assert factories.row_of(job).acknowledgment_window_seconds == factories.WINDOW


@pytest.mark.parametrize(("preview", "status"), [("1", 422), ("quiet", 200)])
def test_a_preview_while_somebody_types_is_no_error(
    recruiter: Client, preview: str, status: int
) -> None:
    answer = recruiter.post("/company/jobs/new/", NEW | {"preview": preview, "window": ""})

    assert answer.status_code == status
    assert "Correct the rules to see a preview." in text_of(answer)
    assert not Job.objects.exists()


def test_a_new_job_can_start_as_a_copy(recruiter: Client, stranger: Client, job: UUID) -> None:
    factories.alter(job, posting={"title": "Rigger"}, policy={"penalty_places": 7})

    page = text_of(recruiter.get(f"/company/jobs/new/?like={job}"))

    assert 'value="Rigger"' in page
    assert re.search(
        r'name="penalty_places"[^>]* value="7"|value="7"[^>]* name="penalty_places"', page
    )
    assert stranger.get(f"/company/jobs/new/?like={job}").status_code == 404


def test_a_new_job_can_start_from_other_rules(recruiter: Client, job: UUID) -> None:
    page = page_of(recruiter, "/company/jobs/new/?rules=quick")

    assert 'name="window" value="4"' in page
    assert f"/company/jobs/new/?like={job}" in page
    assert 'name="window" value="1"' in page_of(recruiter, "/company/jobs/new/?rules=none")
