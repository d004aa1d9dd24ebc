"""Positions and dates on pages: changed by owners, asked at the last one, said to everyone."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Company, Job, Role
from pipeline.domain.states import IfLast, Outcome
from pipeline.models import Application, JobTemplate
from pipeline.services.job_templates import keep_template
from pipeline.services.jobs import JobChanges, close_job, update_job
from pipeline.services.leaving import remove
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.applicants import applicant_browser, named
from tests.support.clock import database_now, let_time_pass
from tests.support.pages import follow, page_of, text_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def owner(company: Company) -> Client:
    return browser_of(member_of(company, Role.OWNER))


def _path(job: UUID) -> str:
    return f"/company/jobs/{job}/positions/"


def _set(job: UUID, **hiring: Any) -> None:
    update_job(job_id=job, changes=JobChanges(hiring=hiring), actor=factories.RECRUITER)


def _day(days: int) -> str:
    return (database_now() + timedelta(days=days)).date().isoformat()


def _hire(person: Application, if_last: IfLast) -> None:
    how: dict[str, Any] = {"outcome": Outcome.HIRED, "actor": factories.RECRUITER}
    remove(application_id=person.id, if_last=if_last, **how)


def _hidden(page: str) -> dict[str, str]:
    return dict(re.findall(r'type="hidden" name="(promised|decision)" value="([^"]*)"', page))


def test_an_owner_sets_positions_and_a_closing_date_and_takes_it_back(
    owner: Client, job: UUID
) -> None:
    given = {"positions_to_fill": "2", "closes_day": _day(30), "closes_time": "17:30"}

    saved = follow(owner, _path(job), given | {"zone": "Europe/Berlin"})
    row = Job.objects.get(id=job)
    again = follow(owner, _path(job), given | {"zone": "Europe/Berlin"})
    cleared = follow(owner, _path(job), {"positions_to_fill": "", "zone": "UTC"})

    assert "Positions and dates are saved." in saved
    assert "0 of 2 positions are filled." in saved
    assert row.closes_at
    assert row.closes_at.minute == 30
    assert "Positions and dates are saved." in again
    assert "0 people are hired so far." in cleared
    after = Job.objects.get(id=job)
    assert (after.positions_to_fill, after.closes_at) == (None, None)
    assert factories.event_names(job).count("DATES_CHANGED") == 2


def _undo(page: str) -> dict[str, str]:
    return dict(re.findall(r'name="(undo)" value="([^"]*)"', page))


def test_a_change_of_positions_and_dates_is_undone_in_one_click(owner: Client, job: UUID) -> None:
    at = database_now() + timedelta(days=3)
    _set(job, closes_at=at, positions_to_fill=4)
    given = {"positions_to_fill": "2", "closes_day": _day(30), "closes_time": "17:30"}
    saved = owner.post(_path(job), given | {"zone": "UTC"}, follow=True)

    undone = owner.post(_path(job), _undo(saved.content.decode()), follow=True)

    row = Job.objects.get(id=job)
    assert (row.positions_to_fill, row.closes_at) == (4, at)
    assert "Positions and dates are as they were before." in text_of(undone)
    assert not _undo(undone.content.decode())


def test_nothing_is_undone_after_another_change_or_for_another_job(
    owner: Client, job: UUID, company: Company
) -> None:
    other = factories.job(company_id=company.id)
    sent = {"positions_to_fill": "2", "zone": "UTC"}
    undo = _undo(owner.post(_path(job), sent, follow=True).content.decode())
    assert undo
    owner.post(_path(other), sent)
    _set(job, positions_to_fill=9)

    for where in (job, other):
        answer = owner.post(_path(where), undo, follow=True)
        assert "so nothing is undone" in text_of(answer)

    assert Job.objects.get(id=job).positions_to_fill == 9
    assert Job.objects.get(id=other).positions_to_fill == 2
    assert not _undo(owner.get(f"{_path(job)}?undo={undo['undo']}").content.decode())


def test_saving_the_same_again_offers_nothing_to_undo(owner: Client, job: UUID) -> None:
    sent = {"positions_to_fill": "2", "zone": "UTC"}
    owner.post(_path(job), sent)

    assert not _undo(owner.post(_path(job), sent, follow=True).content.decode())


def test_the_form_keeps_a_date_as_it_showed_it(owner: Client, job: UUID) -> None:
    at = database_now() + timedelta(days=3)
    _set(job, closes_at=at)
    form = owner.get(_path(job)).context["form"]
    given = {name: form[name].value() for name in form.fields}

    owner.post(_path(job), {name: value for name, value in given.items() if value is not None})

    assert Job.objects.get(id=job).closes_at == at


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"closes_day": "2020-01-01", "closes_time": "09:00"}, "must be in the future"),
        ({"closes_day": "2020-13-01", "closes_time": "09:00"}, "Enter a date"),
        ({"closes_day": "2027-01-31", "closes_time": ""}, "Enter a time"),
        ({"positions_to_fill": "0"}, "Enter 1 or more"),
        ({"positions_to_fill": "20000"}, "Enter 10000 or less"),
        ({"positions_to_fill": "many"}, "Enter a whole number"),
    ],
)
def test_what_cannot_be_kept_is_said_at_the_form(
    owner: Client, job: UUID, wrong: dict[str, str], says: str
) -> None:
    answer = owner.post(_path(job), {"zone": "UTC"} | wrong)

    assert answer.status_code == 422
    assert says in text_of(answer)


def test_fewer_positions_than_hired_are_refused_at_the_field(owner: Client, job: UUID) -> None:
    _hire(named(job, "Ana Li"), IfLast.ASK)
    _hire(named(job, "Bo Berg"), IfLast.ASK)

    answer = owner.post(_path(job), {"positions_to_fill": "1", "zone": "UTC"})

    assert answer.status_code == 422
    assert "has hired 2 already" in text_of(answer)


def test_only_owners_change_them_and_a_recruiter_reads_them(recruiter: Client, job: UUID) -> None:
    assert "Only an owner can change them." in page_of(recruiter, _path(job))
    assert recruiter.post(_path(job), {"positions_to_fill": "2"}).status_code == 403


def test_a_closed_job_can_still_get_positions_and_no_date(owner: Client, job: UUID) -> None:
    close_job(job_id=job, actor=factories.RECRUITER)

    page = page_of(owner, _path(job))
    saved = follow(owner, _path(job), {"positions_to_fill": "4"})

    assert 'name="closes_day"' not in page
    assert "0 of 4 positions are filled." in saved


def test_everyone_reads_when_the_job_closes_and_what_follows(owner: Client, job: UUID) -> None:
    _set(job, positions_to_fill=2, closes_at=database_now() + timedelta(days=3))
    waiting = named(job, "Dee Rao")

    public = page_of(Client(), f"/jobs/{job}/")
    board = page_of(owner, f"/company/jobs/{job}/")
    mine = page_of(applicant_browser(waiting.applicant), f"/me/applications/{waiting.id}/")

    for page in (public, board, mine):
        assert "This job closes on" in page
        assert "Everyone without a confirmed seat then leaves the line" in page
    facts = page_of(Client(), f"/jobs/{job}/facts/")
    assert re.search(r"<dt>Positions filled</dt> <dd> ?0 of 2 ?</dd>", facts)
    assert "0 of 2 hired" in " ".join(board.split())


def test_a_filled_job_says_so_everywhere(owner: Client, job: UUID) -> None:
    _set(job, positions_to_fill=1)
    _hire(named(job, "Ana Li"), IfLast.STAY)
    waiting = named(job, "Dee Rao")

    public = page_of(Client(), f"/jobs/{job}/")
    board = page_of(owner, f"/company/jobs/{job}/")
    mine = page_of(applicant_browser(waiting.applicant), f"/me/applications/{waiting.id}/")

    for page in (public, board, mine):
        assert "The position is filled." in page
    assert "You can join the line." in public
    assert "A seat is free now" not in public
    assert "1 of 1 hired" in " ".join(board.split())


def test_the_last_position_offers_to_close_or_to_go_on(owner: Client, job: UUID) -> None:
    _set(job, positions_to_fill=1)
    person = named(job, "Ana Li")
    path = f"/company/applications/{person.id}/decide/"

    page = page_of(owner, path)

    assert "This fills the last position." in page
    assert "unless the job closes or is filled" in page
    assert "Hire Ana Li and close the job" in re.sub("[\u2068\u2069]", "", page)
    assert "Hire Ana Li and go on" in re.sub("[\u2068\u2069]", "", page)
    assert "people without a confirmed seat are released" in page
    fields = dict(
        re.findall(r'<input type="hidden" name="(promised|decision)" value="([^"]*)"', page)
    )
    asked = owner.post(path, fields | {"outcome": "HIRED"})
    assert asked.status_code == 422
    assert "Decide whether the job closes" in text_of(asked)
    follow(owner, path, fields | {"outcome": "HIRED_AND_CLOSE"})
    assert factories.statuses(person) == ["HIRED"]
    assert Job.objects.get(id=job).status == "CLOSED"


def test_a_recruiter_can_close_with_the_last_position_and_not_add_one(
    recruiter: Client, job: UUID
) -> None:
    _set(job, positions_to_fill=1)
    path = f"/company/applications/{named(job, 'Ana Li').id}/decide/"
    page = page_of(recruiter, path)
    fields = dict(
        re.findall(r'<input type="hidden" name="(promised|decision)" value="([^"]*)"', page)
    )

    assert "and close the job" in page
    assert "and go on" not in page
    assert recruiter.post(path, fields | {"outcome": "HIRED_AND_GO_ON"}).status_code == 403


def test_several_people_who_are_more_than_the_positions_are_counted(
    owner: Client, job: UUID
) -> None:
    _set(job, positions_to_fill=1)
    who = {"who": [str(named(job, name).id) for name in ("Ana Li", "Bo Berg")]}

    page = follow(owner, f"/company/jobs/{job}/decide/", who)

    assert "1 position is left, fewer than the people chosen." in page
    assert "Hire 2 people and close" not in page
    assert "Hire 2 people and go on" in page


def test_a_new_job_hires_any_number_unless_told_otherwise_and_templates_keep_the_number(
    owner: Client, job: UUID
) -> None:
    assert owner.get("/company/jobs/new/").context["form"]["positions_to_fill"].value() is None
    _set(job, positions_to_fill=7)

    row = Job.objects.select_related("posting").get(id=job)
    template: JobTemplate = keep_template(job=row, name="Seven")

    for query in (f"like={job}", f"template={template.id}"):
        form = owner.get(f"/company/jobs/new/?{query}").context["form"]
        assert form["positions_to_fill"].value() == 7


def test_a_draft_opens_by_itself_at_the_day_of_the_form(owner: Client, company: Company) -> None:
    job = factories.job(company_id=company.id, open_now=False)
    given = {"opens_day": _day(2), "opens_time": "09:00", "zone": "UTC"}

    page = follow(owner, _path(job), given)
    settings = page_of(owner, f"/company/jobs/{job}/settings/")
    let_time_pass(job, 3 * 86_400)
    factories.settle_all()

    assert "Positions and dates are saved." in page
    assert "The draft opens at" in settings
    assert Job.objects.get(id=job).status == "OPEN"
