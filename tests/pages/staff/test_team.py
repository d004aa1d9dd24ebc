"""A company's owners decide who is in its team, and there is always an owner."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from pytest_django.asserts import assertContains, assertNotContains

from jobs.errors import LastOwner
from jobs.models import Company, Membership, Role, User
from jobs.team import change_role, remove_member
from pipeline.attachments import uploads
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.together import kinds, together

TEAM = "/company/team/"


def role_of(user: User) -> str | None:
    row = Membership.objects.filter(user=user).first()
    return row.role if row else None


def page_of(user: User) -> str:
    return f"{TEAM}{Membership.objects.get(user=user).id}/"


def test_an_owner_adds_somebody_new_who_is_told_how_to_sign_in(ada: User) -> None:
    form = {"email": "New@Example.org", "role": "VIEWER"}

    answer = browser_of(ada).post(TEAM, form)

    added = User.objects.get(email="new@example.org")
    assert answer.status_code == 302
    assert role_of(added) == Role.VIEWER
    assert not added.has_usable_password()
    assert mail.outbox[-1].to == ["new@example.org"]
    assert "/account/login/code/" in str(mail.outbox[-1].body)


def test_somebody_of_the_team_is_not_added_twice(ada: User) -> None:
    answer = browser_of(ada).post(TEAM, {"email": ada.email, "role": "VIEWER"})

    assert answer.status_code == 422
    assert role_of(ada) == Role.OWNER
    assert not mail.outbox


@pytest.mark.parametrize("role", [Role.VIEWER, Role.RECRUITER])
def test_others_read_the_team_and_change_nothing(company: Company, ada: User, role: Role) -> None:
    client = browser_of(member_of(company, role))

    answers = [
        client.post(TEAM, {"email": "x@example.org", "role": "OWNER"}),
        client.get(page_of(ada)),
        client.post(page_of(ada), {"remove": ""}),
    ]

    assert client.get(TEAM).status_code == 200
    assert [answer.status_code for answer in answers] == [403, 403, 403]
    assert role_of(ada) == Role.OWNER


def test_an_owner_changes_a_role_and_removes_somebody(company: Company, ada: User) -> None:
    colleague, client = member_of(company, Role.VIEWER), browser_of(ada)
    theirs = browser_of(colleague)
    page = page_of(colleague)

    client.post(page, {"role": "RECRUITER", "change": ""})
    changed = role_of(colleague)
    client.post(page, {"remove": ""})

    assert changed == Role.RECRUITER
    assert role_of(colleague) is None
    assert theirs.get(TEAM).status_code == 403


def test_looking_at_a_member_changes_nothing(company: Company, ada: User) -> None:
    colleague = member_of(company, Role.VIEWER)

    page = browser_of(ada).get(page_of(colleague) + "?remove=").content.decode()

    assert "will lose access" in page
    assert role_of(colleague) == Role.VIEWER


@pytest.mark.parametrize("form", [{"remove": ""}, {"role": "VIEWER", "change": ""}])
def test_the_last_owner_stays(ada: User, form: dict[str, str]) -> None:
    answer = browser_of(ada).post(page_of(ada), form, follow=True)

    assert "last owner" in answer.content.decode()
    assert role_of(ada) == Role.OWNER


@pytest.mark.parametrize("round_number", range(5))
def test_of_two_owners_who_leave_at_once_one_stays(
    company: Company, ada: User, round_number: int
) -> None:
    member_of(company, Role.OWNER)
    first, second = Membership.objects.filter(company=company).values_list("id", flat=True)
    acts = [
        partial(remove_member, company_id=company.id, membership_id=first),
        partial(change_role, company_id=company.id, membership_id=second, role=Role.VIEWER),
    ]

    answers = together(acts)

    assert kinds(answers) == [LastOwner.__name__, Membership.__name__]
    assert Membership.objects.filter(company=company, role=Role.OWNER).count() == 1


def test_the_room_for_files_is_shown_before_it_is_used_up(
    company: Company, ada: User, settings: Any
) -> None:
    job = factories.job(company_id=company.id)
    content = b"three hundred bytes of a CV   " * 10
    holder = uploads.holder_of("company", company.id)
    uploads.add(
        company_id=company.id,
        job_id=job,
        holder=holder,
        name="cv.txt",
        size_bytes=300,
        content=[content],
    )

    page = browser_of(ada).get(TEAM)
    settings.ATTACHMENT_BYTES_PER_COMPANY = 330
    nearly_full = browser_of(ada).get(TEAM)

    assertContains(page, "300\xa0bytes of 10.0\xa0GB used")
    assertNotContains(page, "no more files")
    assertContains(nearly_full, "applicants can send no more files")


def test_another_companys_team_is_not_there(ada: User) -> None:
    stranger = member_of(factories.company(), Role.OWNER)

    assert browser_of(ada).get(page_of(stranger)).status_code == 404
    assert browser_of(ada).post(page_of(stranger), {"remove": ""}).status_code == 404


def test_a_member_of_two_companies_switches_by_a_button(company: Company, ada: User) -> None:
    other = factories.company(name="Zeta")
    Membership.objects.create(company=other, user=ada, role=Role.VIEWER)
    client = browser_of(ada)
    before = client.get(TEAM).content.decode()

    client.post("/company/switch/", {"company": str(other.id)})

    assert "People who can act for Acme" in before
    assert "People who can act for Zeta" in client.get(TEAM).content.decode()
    assert client.get("/company/switch/").url == "/company/"


@pytest.mark.parametrize("company_id", ["", "nonsense", "00000000-0000-7000-8000-000000000000"])
def test_nobody_switches_to_a_company_that_is_not_theirs(ada: User, company_id: str) -> None:
    answer = browser_of(ada).post("/company/switch/", {"company": company_id})

    assert answer.status_code == 404


def test_a_long_team_takes_no_more_queries(
    company: Company, ada: User, django_assert_max_num_queries: object
) -> None:
    for _ in range(20):
        member_of(company, Role.VIEWER)
    client: Client = browser_of(ada)

    with django_assert_max_num_queries(6):  # type: ignore[operator]  # one of them for the rail
        client.get(TEAM)


def test_the_email_says_who_added_somebody_and_can_be_sent_again(ada: User) -> None:
    owner = browser_of(ada)
    owner.post(TEAM, {"email": "new@example.org", "role": "VIEWER"})
    added = User.objects.get(email="new@example.org")
    mail.outbox.clear()

    page = owner.post(page_of(added), {"again": "1"}, follow=True).content.decode()

    assert "We have emailed new@example.org again" in page
    assert mail.outbox[-1].to == ["new@example.org"]
    assert f"{ada.email} added you to the team of" in str(mail.outbox[-1].body)
    assert role_of(added) == Role.VIEWER
