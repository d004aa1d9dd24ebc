"""Which pages and buttons each role has, and that another company has none."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Company, Membership, Role
from pipeline.maintenance import name_index
from pipeline.models import Application, Event
from tests.support import factories
from tests.support.applicants import named

READ = [
    "/company/",
    "/company/jobs/{job}/",
    "/company/jobs/{job}/settings/",
    "/company/applications/{application}/",
    "/company/people/",
    "/company/people/?q=ana",
    "/company/people/{applicant}/",
]
RECRUIT = [
    "/company/jobs/new/",
    "/company/jobs/{job}/add/",
    "/company/applications/{application}/decide/",
]
OWN = ["/company/jobs/{job}/close/", "/company/jobs/{job}/capacity/"]
POSTED = ["/company/jobs/{job}/open/", "/company/jobs/{job}/pause/"]
WITHOUT_A_JOB = ("/company/", "/company/people/", "/company/people/?q=ana", "/company/jobs/new/")


@pytest.fixture
def ids(job: UUID) -> dict[str, object]:
    ana = named(job, "Ana Li")
    return {"job": job, "application": ana.id, "applicant": ana.applicant_id}


def codes(client: Client, paths: list[str], ids: dict[str, object]) -> set[int]:
    return {client.get(path.format(**ids)).status_code for path in paths}


def test_a_viewer_reads_everything_and_changes_nothing(
    viewer: Client, ids: dict[str, object]
) -> None:
    assert codes(viewer, READ, ids) == {200}
    assert codes(viewer, RECRUIT + OWN, ids) == {403}
    for path in RECRUIT + OWN + POSTED + ["/company/jobs/{job}/settings/"]:
        assert viewer.post(path.format(**ids)).status_code == 403


def test_a_recruiter_runs_jobs_but_an_owner_rules_them(
    recruiter: Client, owner: Client, ids: dict[str, object]
) -> None:
    assert codes(recruiter, READ + RECRUIT, ids) == {200}
    assert codes(recruiter, OWN, ids) == {403}
    assert codes(owner, READ + RECRUIT + OWN, ids) == {200}


def test_another_companys_things_do_not_exist(stranger: Client, ids: dict[str, object]) -> None:
    theirs = [p for p in READ + RECRUIT + OWN if p not in WITHOUT_A_JOB]

    assert codes(stranger, theirs, ids) == {404}
    for path in [*theirs, *POSTED]:
        assert stranger.post(path.format(**ids)).status_code in (404, 405)
    assert "Cy Okafor" not in stranger.get("/company/people/?q=cy").content.decode()


def test_who_is_not_signed_in_signs_in_first(client: Client, ids: dict[str, object]) -> None:
    assert codes(client, READ + RECRUIT + OWN, ids) == {302}


def test_opening_a_page_changes_nothing(owner: Client, ids: dict[str, object]) -> None:
    before = (Event.objects.count(), list(Application.objects.order_by("id").values()))

    codes(owner, READ + RECRUIT + OWN, ids)
    codes(owner, ["/company/jobs/{job}/capacity/?capacity=5"], ids)
    refused = codes(owner, POSTED, ids)

    assert refused == {302}  # to the page with the button
    assert (Event.objects.count(), list(Application.objects.order_by("id").values())) == before


def test_a_button_without_a_token_does_nothing(company: Company, ids: dict[str, object]) -> None:
    user = factories.UserFactory.create(password=None)
    Membership.objects.create(company=company, user=user, role=Role.OWNER)
    forged = Client(enforce_csrf_checks=True)
    forged.force_login(user)

    for path in RECRUIT + OWN + POSTED:
        assert forged.post(path.format(**ids)).status_code == 403
    assert Application.objects.filter(outcome=None).count() == 5


BUTTONS = {
    "add": "/add/",
    "capacity": "/capacity/",
    "pause": "/pause/",
    "close": "/close/",
    "decide": "/decide/",
}


def test_each_role_has_its_buttons_on_the_board(
    viewer: Client, recruiter: Client, owner: Client, job: UUID
) -> None:
    def buttons(client: Client) -> set[str]:
        page = client.get(f"/company/jobs/{job}/").content.decode()
        assert "Ana Li" in page
        return {name for name, path in BUTTONS.items() if path in page}

    assert buttons(viewer) == set()
    assert buttons(recruiter) == {"add", "pause", "decide"}
    assert buttons(owner) == set(BUTTONS)


def test_names_are_escaped_however_they_are_written(owner: Client, company: Company) -> None:
    job = factories.job(company_id=company.id)
    evil, long = "<script>alert(1)</script>", "W" * 200
    one = factories.application(job, factories.applicant(name=evil))
    factories.application(job, factories.applicant(name=long))
    name_index.update()

    for path in (
        f"/company/jobs/{job}/",
        f"/company/applications/{one.id}/",
        f"/company/applications/{one.id}/decide/",
        f"/company/people/{one.applicant_id}/",
        "/company/people/?q=%3Cscr",
    ):
        page = owner.get(path).content.decode()
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)" in page
    assert long in owner.get(f"/company/jobs/{job}/").content.decode()
