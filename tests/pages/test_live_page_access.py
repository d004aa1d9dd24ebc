"""A briefly cached page is never shown to someone who may see less, or other things."""

from __future__ import annotations

import pytest
from django.contrib.messages import constants, get_messages
from django.contrib.messages.storage.session import SessionStorage
from django.http import HttpResponse
from django.test import Client, RequestFactory

from jobs.models import Company, Membership, Role
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.applicants import applicant_browser

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def board(company: Company) -> str:
    """The address of the fragment of a board on which there is something to do."""
    job = factories.job(company_id=company.id)
    factories.applications(job, 2)
    return f"/company/jobs/{job}/?fragment=1"


def again(client: Client, path: str, before: HttpResponse) -> HttpResponse:
    """The answer to a browser that has what it was answered before."""
    return client.get(path, headers={"If-None-Match": before["ETag"]})


def test_a_viewer_is_not_shown_what_was_made_for_an_owner(company: Company, board: str) -> None:
    owner = browser_of(member_of(company, Role.OWNER))
    viewer = browser_of(member_of(company, Role.VIEWER))
    made = owner.get(board)

    answer, asked_with_its_tag = viewer.get(board), again(viewer, board, made)

    assert b"job_close" in made.content or b"Close" in made.content
    assert b"Close" not in answer.content
    assert asked_with_its_tag.status_code == 200


def test_who_loses_a_role_loses_its_fragment_at_once(company: Company, board: str) -> None:
    user = member_of(company)
    client = browser_of(user)
    before = client.get(board)
    assert again(client, board, before).status_code == 304

    Membership.objects.filter(user=user).update(role=Role.VIEWER)
    lower = again(client, board, before)
    Membership.objects.filter(user=user).delete()
    gone = again(client, board, before)

    assert lower.status_code == 200
    assert b"Close" not in lower.content
    assert gone.status_code == 403


def test_who_signs_out_gets_neither_304_nor_what_is_kept(company: Company, board: str) -> None:
    client = browser_of(member_of(company))
    before = client.get(board)

    client.logout()

    assert again(client, board, before).status_code == 302
    assert Client().get(board).status_code == 302


def test_another_company_gets_neither_304_nor_what_is_kept(company: Company, board: str) -> None:
    before = browser_of(member_of(company, Role.OWNER)).get(board)
    stranger = browser_of(member_of(factories.company(name="Other")))

    assert again(stranger, board, before).status_code == 404


def test_two_companies_of_one_account_are_kept_apart(company: Company, board: str) -> None:
    user = member_of(company)
    client = browser_of(user)
    other = factories.company(name="Zeta")
    Membership.objects.create(company=other, user=user, role=Role.OWNER)
    client.get(board)
    mine = client.get("/company/?fragment=1")

    client.get(f"/company/jobs/{factories.job(company_id=other.id)}/")
    others = again(client, "/company/?fragment=1", mine)

    assert others.status_code == 200
    assert others["ETag"] != mine["ETag"]
    assert others.content != mine.content


def test_readers_in_two_time_zones_get_their_own_times(company: Company, board: str) -> None:
    client = browser_of(member_of(company))
    before = client.get(board)

    client.cookies["time_zone"] = "Asia/Tokyo"
    answer = again(client, board, before)

    assert answer.status_code == 200
    assert answer["ETag"] != before["ETag"]


def test_what_is_said_once_is_neither_used_up_nor_kept(company: Company, board: str) -> None:
    client = browser_of(member_of(company))
    request = RequestFactory().get("/")
    request.session = client.session
    said = SessionStorage(request)
    said.add(constants.SUCCESS, "for my eyes only")
    said.update(HttpResponse())
    request.session.save()

    fragment = client.get(board)
    page = client.get(board.partition("?")[0])

    assert b"my eyes" not in fragment.content
    assert list(get_messages(page.wsgi_request)) == [] or b"my eyes" in page.content
    assert b"my eyes" in page.content
    assert b"my eyes" not in browser_of(member_of(company, Role.OWNER)).get(board).content


def test_of_two_people_each_is_shown_only_their_own_applications() -> None:
    job = factories.job()
    people = [factories.applicant(name="Ana"), factories.applicant(name="Bo")]
    mine = [factories.application(job, person) for person in people]
    ana, bo = (applicant_browser(person) for person in people)
    address = f"/me/applications/{mine[0].id}/?fragment=1"
    before = ana.get(address)

    assert before.status_code == 200
    assert again(bo, address, before).status_code == 404
    assert again(Client(), address, before).status_code == 302
    nothing = [
        applicant_browser(factories.applicant(name=name)).get("/me/?fragment=1")["ETag"]
        for name in ("Cy", "Dee")
    ]
    assert nothing[0] != nothing[1]
