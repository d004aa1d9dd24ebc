"""Invitation links: one role, an end, a number of uses, and nobody gives more than they have."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from django.test import Client

from jobs import invitations
from jobs.errors import InvitationNotFound
from jobs.models import Activity, Company, Invitation, JobRole, Membership, Role
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.together import kinds, together

pytestmark = pytest.mark.django_db(transaction=True)


def made(company: Company, role: Role = Role.RECRUITER, uses: int = 1, **how: Any) -> str:
    how = {"by": member_of(company).id, "role": role, "days": 7} | how
    return invitations.create(company_id=company.id, uses=uses, **how)[1]


def someone() -> Any:
    return factories.UserFactory.create(password=None)


def roles_of(user: Any) -> list[str]:
    return list(Membership.objects.filter(user=user).values_list("role", flat=True))


def test_a_link_gives_its_role_once(company: Company) -> None:
    secret, first, second = made(company), someone(), someone()

    invitations.accept(secret=secret, user_id=first.id)
    with pytest.raises(InvitationNotFound):
        invitations.accept(secret=secret, user_id=second.id)

    assert (roles_of(first), roles_of(second)) == (["RECRUITER"], [])
    assert secret.encode() not in bytes(Invitation.objects.get().digest)


def test_a_link_to_a_job_gives_that_job_alone(company: Company) -> None:
    job, user = factories.job(company_id=company.id), someone()
    secret = made(company, role=None, job_id=job, job_role=JobRole.INTERVIEWER)  # type: ignore[arg-type]

    member = invitations.accept(secret=secret, user_id=user.id)

    assert (member.role, member.job_members.get().role) == ("", "INTERVIEWER")


@pytest.mark.parametrize("end", ["too late", "withdrawn", "maker demoted", "maker removed"])
def test_a_link_ends(company: Company, end: str) -> None:
    secret, other = made(company), member_of(company)
    row = Invitation.objects.get()
    if end == "too late":
        Invitation.objects.update(ends_at="2020-01-01T00:00:00Z")
    elif end == "withdrawn":
        invitations.withdraw(company_id=company.id, invitation_id=row.id, by=other.id)
    elif end == "maker demoted":
        Membership.objects.filter(user=row.made_by).update(role=Role.RECRUITER)
    else:
        Membership.objects.filter(user=row.made_by).delete()

    with pytest.raises(InvitationNotFound):
        invitations.accept(secret=secret, user_id=someone().id)


def test_a_link_lowers_no_role_and_is_not_used_up_by_it(company: Company) -> None:
    secret, owner = made(company, Role.VIEWER), member_of(company, Role.OWNER)

    invitations.accept(secret=secret, user_id=owner.id)

    assert roles_of(owner) == ["OWNER"]
    assert Invitation.objects.get().uses == 0


def test_of_two_who_come_for_the_last_use_one_joins(company: Company) -> None:
    secret, users = made(company), [someone(), someone()]

    acts = [partial(invitations.accept, secret=secret, user_id=user.id) for user in users]
    results = together(acts)

    assert kinds(results) == ["InvitationNotFound", "Membership"]
    assert Invitation.objects.get().uses == 1


def test_only_an_owner_makes_a_link_and_it_is_shown_once(company: Company) -> None:
    form = {"role": "RECRUITER", "days": 7, "uses": 2}
    owner, recruiter = (browser_of(member_of(company, r)) for r in (Role.OWNER, Role.RECRUITER))

    refused = recruiter.post("/company/team/links/", form)
    shown = owner.post("/company/team/links/", form)

    assert (refused.status_code, shown.status_code) == (403, 201)
    assert b"/join/nili_" in shown.content
    assert b"nili_" not in owner.get("/company/team/links/").content


def test_someone_new_joins_by_a_link_with_an_emailed_code(
    company: Company, mail_at_once: None, mailoutbox: list[Any]
) -> None:
    path, client = f"/join/{made(company)}/", Client()

    asked = client.post(path, {"email": "new@example.org"})
    code = next(word for word in mailoutbox[-1].body.split() if word.isupper() and len(word) >= 6)
    signed_in = client.post(asked["Location"], {"code": code, "next": path})
    client.post(path)

    assert signed_in["Location"] == path
    assert Membership.objects.get(user__email="new@example.org").role == "RECRUITER"
    assert Activity.objects.filter(kind="invitation.used").exists()


def test_a_link_that_has_ended_says_so(client: Client) -> None:
    assert client.get("/join/forged/").status_code == 404
