"""Groups of a job's form: folded with what is set, open if that is unusual or wrong."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client

from jobs.models import Company, Job, Role
from jobs.policies import Policy
from pipeline.domain.errors import StaleVersion
from pipeline.pages.company.rule_groups import deadline_example
from pipeline.pages.error_messages import explain_refusal
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.clock import database_now
from tests.support.lottery import lottery
from tests.support.pages import page_of

WEDNESDAY = datetime(2026, 11, 25, 9, 0, tzinfo=UTC)
PLAIN = [
    "first come, first served",
    "none",
    "1 place lost, 3 misses allowed, cool-down of 1 hour, 1 pass",
]
RULES: dict[str, Any] = {
    "title": "Night watch",
    "capacity": 2,
    "window": 1,
    "window_unit": "days",
    "penalty_places": 1,
    "max_decays": 3,
    "cooldown": 1,
    "cooldown_unit": "hours",
    "max_passes": "1",
    "start": "DRAFT",
}


@pytest.fixture
def owner(company: Company) -> Client:
    return browser_of(member_of(company, Role.OWNER))


def groups_of(page: str) -> tuple[list[str], list[str]]:
    """Return what the groups say is set, and the names of those that are open."""
    shown = re.findall(r'<details class="group"( open)?>\s*<summary><h3>([^<]+)</h3>', page)
    values = re.findall(r'<span id="\w+-set" data-follows>([^<]*)</span>', page)
    return values, [name for is_open, name in shown if is_open]


def draw_fields_of(page: str) -> dict[str, str]:
    """Return the fields of the draw as the form shows them."""
    return dict(re.findall(r'name="(draw_day|draw_time)" value="([^"]*)"', page))


def drawn_draft(company: Company) -> Job:
    in_nine_days = 9 * 86_400
    job_id = lottery(company_id=company.id, open_now=False, seconds=in_nine_days)
    return factories.row_of(job_id)


def test_a_usual_job_has_them_all_folded(owner: Client, company: Company) -> None:
    job_id = factories.job(company_id=company.id, cooldown_seconds=3_600)

    assert groups_of(page_of(owner, "/company/jobs/new/")) == (PLAIN, [])
    assert groups_of(page_of(owner, f"/company/jobs/{job_id}/settings/")) == (PLAIN[1:], [])


def test_what_is_set_is_open_and_said(owner: Client, company: Company) -> None:
    quiet: dict[str, Any] = {"quiet_from": "22:00", "quiet_to": "08:00", "quiet_weekends": True}
    job_id = factories.job(company_id=company.id, **quiet, penalty_places=0, max_decays=None)

    page = page_of(owner, f"/company/jobs/{job_id}/settings/")

    values, opened = groups_of(page)
    assert values[0] == "from 22:00 to 08:00 or at weekends"
    assert values[1].startswith("back of the line, any number of misses allowed, cool-down of")
    assert opened == ["Quiet hours", "After a miss"]
    assert "For example, a seat that is offered at 18:00 on Friday" in page


@pytest.mark.parametrize(
    ("wrong", "group"),
    [
        ({"opening": "lottery"}, "Order"),
        ({"quiet_from": "22:00"}, "Quiet hours"),
        ({"quiet_time_zone": "Nowhere"}, "Quiet hours"),
        ({"cooldown": "0"}, "After a miss"),
        ({"penalty_places": ""}, "After a miss"),
    ],
)
def test_a_mistake_opens_its_group_alone(
    owner: Client, company: Company, wrong: dict[str, str], group: str
) -> None:
    answer = owner.post("/company/jobs/new/", RULES | {"company_id": company.id} | wrong)

    values, opened = groups_of(answer.content.decode())
    assert answer.status_code == 422
    assert opened == [group]
    assert values.count("correct the fields below") == 1


@pytest.mark.parametrize("preview", ["1", "quiet"])
def test_a_preview_says_what_the_form_has(owner: Client, company: Company, preview: str) -> None:
    day = (database_now() + timedelta(days=30)).date().isoformat()
    form = RULES | {"company_id": company.id, "preview": preview, "opening": "lottery"}
    form |= {"draw_time": "12:00", "draw_zone": "UTC", "quiet_weekends": "on"}

    page = owner.post("/company/jobs/new/", form | {"draw_day": day}).content.decode()
    blank = owner.post("/company/jobs/new/", form).content.decode()

    assert groups_of(page)[0][0].startswith("drawn by lot at 12:00 UTC on")
    assert groups_of(page)[0][1] == "at weekends"
    assert groups_of(page)[1] == ["Order", "Quiet hours"]
    assert "Everyone who applies before 12:00 UTC on" in page
    assert "Everyone who applies before [day and time of the draw] has the same chance" in blank
    assert draw_fields_of(page) == {"draw_day": day, "draw_time": "12:00"}


def test_a_job_like_a_drawn_one_is_drawn_on_a_day_to_be_entered(
    owner: Client, company: Company
) -> None:
    job = drawn_draft(company)

    page = page_of(owner, f"/company/jobs/new/?like={job.id}")

    assert re.search(r'value="lottery"[^>]* checked', page)
    assert [*draw_fields_of(page)] == ["draw_time"]
    assert groups_of(page)[1][0] == "Order"
    assert "Everyone who applies before [day and time of the draw]" in page


def test_a_template_of_a_drawn_job_keeps_that_it_is_drawn(owner: Client, company: Company) -> None:
    for job in (drawn_draft(company), factories.row_of(factories.job(company_id=company.id))):
        name = "drawn" if job.draw_at else "plain"
        owner.post(f"/company/jobs/{job.id}/keep-template/", {"name": name})
    plain, drawn = company.job_templates.order_by("-name")

    pages = [page_of(owner, f"/company/jobs/new/?template={row.id}") for row in (plain, drawn)]

    assert [groups_of(page)[0][0] for page in pages] == [
        "first come, first served",
        "drawn by lot at a time that you enter",
    ]
    assert "drawn by lot" in page_of(owner, f"/company/job-templates/{drawn.id}/")


def test_the_draw_of_a_draft_can_get_another_time(owner: Client, company: Company) -> None:
    job = drawn_draft(company)
    path = f"/company/jobs/{job.id}/settings/"
    before = draw_fields_of(page_of(owner, path))
    seen = {"seen_posting": job.posting.version, "seen_policy": job.policy_version}
    form = RULES | seen | before | {"draw_zone": "UTC"}

    owner.post(path, form)
    unchanged = factories.row_of(job.id)
    later = (database_now() + timedelta(days=20)).date().isoformat()
    shown = owner.post(path, form | {"draw_day": later, "preview": "1"}).content.decode()
    form |= {"seen_posting": unchanged.posting.version, "seen_policy": unchanged.policy_version}
    owner.post(path, form | {"draw_day": later})

    moved = factories.row_of(job.id)
    assert unchanged.draw_at == job.draw_at
    assert moved.draw_at
    assert moved.draw_at.date().isoformat() == later
    assert moved.policy_version == unchanged.policy_version + 1
    assert groups_of(shown)[0][0].startswith("drawn by lot at")
    assert f"{int(later[-2:])} " in groups_of(shown)[0][0]


def test_a_draft_cannot_be_drawn_in_the_past_and_an_open_job_has_no_fields_for_it(
    owner: Client, company: Company
) -> None:
    job = drawn_draft(company)
    path = f"/company/jobs/{job.id}/settings/"
    seen = {"seen_posting": job.posting.version, "seen_policy": job.policy_version}
    past = {"draw_day": "2020-01-01", "draw_time": "12:00", "draw_zone": "UTC"}

    answer = owner.post(path, RULES | seen | past)
    owner.post(f"/company/jobs/{job.id}/open/")

    assert answer.status_code == 422
    assert "The draw must be in the future" in answer.content.decode()
    assert factories.row_of(job.id).draw_at == job.draw_at
    assert draw_fields_of(page_of(owner, path)) == {}


def test_the_time_of_a_draw_is_not_dropped_because_a_colleague_opened_the_job(
    owner: Client, company: Company
) -> None:
    job = drawn_draft(company)
    path = f"/company/jobs/{job.id}/settings/"
    before = draw_fields_of(page_of(owner, path))
    seen = {"seen_posting": job.posting.version, "seen_policy": job.policy_version}
    later = (database_now() + timedelta(days=20)).date().isoformat()
    form = RULES | seen | before | {"draw_zone": "UTC", "draw_day": later, "title": "Day watch"}
    owner.post(f"/company/jobs/{job.id}/open/")

    answer = owner.post(path, form)

    after = factories.row_of(job.id)
    assert answer.status_code == 409
    assert explain_refusal(StaleVersion()) in unescape(answer.content.decode())
    assert (after.draw_at, after.posting.version) == (job.draw_at, job.posting.version)


@pytest.mark.parametrize(
    ("policy", "ends"),
    [
        ({"quiet_weekends": True}, "18:00 on Monday 30 November"),
        ({"quiet_from": "22:00", "quiet_to": "08:00"}, "14:00 on Sunday 29 November"),
    ],
)
def test_the_example_counts_as_a_deadline_does(policy: dict[str, Any], ends: str) -> None:
    rules = Policy(quiet_time_zone="Europe/Berlin", **policy)

    assert deadline_example(rules, WEDNESDAY) == (
        "For example, a seat that is offered at 18:00 on Friday 27 November must be confirmed by"
        f" {ends}. Without quiet hours, it would be by 18:00 on Saturday 28 November."
    )
    assert deadline_example(Policy(), WEDNESDAY) == ""


@pytest.mark.parametrize(
    ("month", "day", "plainly"),
    [(3, 23, "19:00 on Sunday 29 March"), (10, 19, "17:00 on Sunday 25 October")],
)
def test_the_example_is_right_when_the_clocks_change(month: int, day: int, plainly: str) -> None:
    rules = Policy(
        quiet_time_zone="Europe/Berlin",
        quiet_from="22:00",
        quiet_to="08:00",
        acknowledgment_window_seconds=48 * 3_600,
    )

    example = deadline_example(rules, datetime(2026, month, day, 12, tzinfo=UTC))

    assert example.endswith(f"Without quiet hours, it would be by {plainly}.")
