"""Signing in at an identity provider: who gets in, with which role, and the way out."""

from __future__ import annotations

import pytest
from django.test import Client

from jobs import team
from jobs.models import Activity, Company, JobMember, JobRole, Membership, Role, User
from pipeline.models import IdentityProvider, SignOnIdentity
from pipeline.sign_on import providers
from tests.sign_on.conftest import DOMAIN, begin, come_back, set_up, sign_on
from tests.sign_on.provider import Provider
from tests.support import factories
from tests.support.accounts import PASSWORD, browser_of, is_signed_in, member_of, sign_in

pytestmark = pytest.mark.django_db(transaction=True)
ADA = f"ada@{DOMAIN}"


def test_a_member_signs_in_with_state_nonce_and_proof_of_the_code(
    company: Company, row: IdentityProvider, idp: Provider
) -> None:
    user = member_of(company, Role.RECRUITER, email=ADA)
    client = Client()

    sent = begin(client, row, idp)
    answer = come_back(client, row, sent["state"])

    assert (answer.status_code, answer.url) == (302, "/company/")
    assert is_signed_in(client)
    assert sent["code_challenge_method"] == "S256"
    assert idp.token_requests[0]["code_verifier"]
    assert sent["redirect_uri"].endswith(f"/account/sign-on/{row.id}/callback/")
    identity = SignOnIdentity.objects.get()
    assert (identity.subject, identity.user_id) == ("s-1", user.id)
    assert Membership.objects.get(user=user).role == Role.RECRUITER, "no group gives another"


def test_the_page_for_an_address_leads_to_the_provider_of_its_domain(
    row: IdentityProvider, idp: Provider
) -> None:
    client = Client()

    there = client.post("/account/sign-on/", {"email": f"Bo@{DOMAIN.upper()}"})
    nowhere = client.post("/account/sign-on/", {"email": "bo@elsewhere.example"})

    # Not a redirect: the policy for forms would stop it in a browser.
    assert there.status_code == 200
    assert f'content="0; url={idp.issuer}/authorize?'.encode() in there.content
    assert b"login_hint=bo%40acme.example" in there.content
    assert nowhere.status_code == 422
    assert b"No company here uses single sign-on for this address." in nowhere.content


def test_groups_give_roles_and_take_them(
    company: Company, row: IdentityProvider, idp: Provider
) -> None:
    owner = member_of(company, Role.OWNER)
    job = factories.job(company_id=company.id)
    providers.set_group_role(row, group="hr", role=Role.RECRUITER, by=owner.id)
    providers.set_group_role(row, group="all", role=Role.VIEWER, by=owner.id)
    providers.set_group_role(
        row, group="boat", job_id=job, job_role=JobRole.HIRING_MANAGER, by=owner.id
    )

    def signed_in_with(*groups: str) -> tuple[int, str | None, list[str]]:
        idp.claims["groups"] = list(groups)
        status = sign_on(Client(), row, idp).status_code
        member = Membership.objects.filter(user__email=ADA).first()
        on_jobs = JobMember.objects.filter(membership=member) if member else ()
        return status, member and member.role, [each.role for each in on_jobs]

    assert signed_in_with("other") == (403, None, [])
    assert signed_in_with("all", "hr") == (302, "RECRUITER", [])
    assert User.objects.get(email=ADA).name == "Ada"
    assert signed_in_with("all", "boat") == (302, "VIEWER", ["HIRING_MANAGER"])
    assert signed_in_with("boat") == (302, "", ["HIRING_MANAGER"])
    assert signed_in_with("hr") == (302, "RECRUITER", [])
    assert signed_in_with() == (403, None, []), "without any role, they leave the team"
    kinds = Activity.objects.filter(company=company).values_list("kind", flat=True)
    assert {"member.added", "role.changed", "job_role.taken"} <= set(kinds)


def test_groups_that_are_left_out_because_they_are_many_take_no_role(
    company: Company, row: IdentityProvider, idp: Provider
) -> None:
    owner = member_of(company, Role.OWNER)
    providers.set_group_role(row, group="hr", role=Role.RECRUITER, by=owner.id)
    idp.claims["groups"] = ["hr"]
    assert sign_on(Client(), row, idp).status_code == 302

    del idp.claims["groups"]
    idp.claims["_claim_names"] = {"groups": "src1"}
    answer = sign_on(Client(), row, idp)

    assert "too many" in answer.content.decode()
    assert Membership.objects.get(user__email=ADA).role == Role.RECRUITER


def test_a_provider_that_stops_naming_groups_takes_no_place_in_the_team(
    company: Company, row: IdentityProvider, idp: Provider
) -> None:
    owner = member_of(company, Role.OWNER)
    providers.set_group_role(row, group="hr", role=Role.RECRUITER, by=owner.id)
    idp.claims["groups"] = ["hr"]
    assert sign_on(Client(), row, idp).status_code == 302

    del idp.claims["groups"]
    answer = sign_on(Client(), row, idp)

    assert answer.status_code == 403
    assert "did not say which groups" in answer.content.decode()
    assert Membership.objects.get(user__email=ADA).role == Role.RECRUITER
    idp.claims["groups"] = []
    assert sign_on(Client(), row, idp).status_code == 403
    assert not Membership.objects.filter(user__email=ADA).exists(), "an empty list is an answer"


def test_the_last_owner_stays_one_whatever_the_groups_say(
    company: Company, row: IdentityProvider, idp: Provider
) -> None:
    owner = member_of(company, Role.OWNER, email=ADA)
    providers.set_group_role(row, group="all", role=Role.VIEWER, by=owner.id)
    idp.claims["groups"] = "all"  # a single group may come as a text

    assert sign_on(Client(), row, idp).status_code == 302
    assert Membership.objects.get(user=owner).role == Role.OWNER


def test_who_was_removed_comes_back_only_if_an_owner_adds_them(
    company: Company, row: IdentityProvider, idp: Provider
) -> None:
    owner = member_of(company, Role.OWNER)
    providers.set_usual_role(row, Role.VIEWER, by=owner.id)
    row.refresh_from_db()
    assert sign_on(Client(), row, idp).status_code == 302
    member = Membership.objects.get(user__email=ADA)

    team.remove_member(company_id=company.id, membership_id=member.id, by=owner.id)
    removed = sign_on(Client(), row, idp)
    team.add_member(company_id=company.id, email=ADA, role=Role.VIEWER, by=owner.id)
    added = sign_on(Client(), row, idp)

    assert removed.status_code == 403
    assert b"You were removed from the team." in removed.content
    assert added.status_code == 302


def test_a_second_step_of_ones_own_is_still_asked_for(
    company: Company, row: IdentityProvider, idp: Provider
) -> None:
    from allauth.mfa.totp.internal.auth import TOTP

    user = member_of(company, Role.OWNER, email=ADA)
    TOTP.activate(user, "A" * 32)
    client = Client()

    answer = sign_on(client, row, idp)

    assert answer.url == "/account/2fa/authenticate/"
    assert not is_signed_in(client)


def test_only_by_single_sign_on(company: Company, row: IdentityProvider, idp: Provider) -> None:
    member_of(company, Role.OWNER, email=ADA, password=PASSWORD)
    guest = member_of(company, Role.VIEWER, email="guest@elsewhere.example", password=PASSWORD)
    providers.set_required(row, required=True, by=None)
    client = Client()

    sent_away = sign_in(ADA, client=client)
    by_guest = sign_in(guest.email)

    assert sent_away.url == f"/account/sign-on/{row.id}/"
    assert not is_signed_in(client)
    assert by_guest.url == "/company/"
    assert sign_on(client, row, idp).url == "/company/"
    assert is_signed_in(client)

    providers.set_required(row, required=False, by=None)
    again = Client()
    sign_in(ADA, client=again)
    assert is_signed_in(again), "the control"


def test_an_unfinished_sign_on_does_not_open_a_colleagues_password(
    company: Company, row: IdentityProvider, idp: Provider
) -> None:
    """The session notes who began it, so it vouches for nobody else."""
    from allauth.mfa.totp.internal.auth import TOTP

    TOTP.activate(member_of(company, Role.VIEWER, email=ADA), "A" * 32)
    member_of(company, Role.OWNER, email=f"bo@{DOMAIN}", password=PASSWORD)
    providers.set_required(row, required=True, by=None)
    client = Client()
    sign_on(client, row, idp)  # waits for the second step

    sign_in(f"bo@{DOMAIN}", client=client)

    assert not is_signed_in(client)


def test_signing_out_offers_to_sign_out_there(
    company: Company, row: IdentityProvider, idp: Provider
) -> None:
    member_of(company, Role.OWNER, email=ADA)
    client = Client()
    sign_on(client, row, idp)

    answer = client.post("/account/logout/", follow=True)

    assert answer.request["PATH_INFO"] == f"/account/sign-on/{row.id}/out/"
    assert f"{idp.issuer}/out?".encode() in answer.content
    assert not is_signed_in(client)


def test_the_next_page_is_one_of_ours(
    company: Company, row: IdentityProvider, idp: Provider
) -> None:
    member_of(company, Role.OWNER, email=ADA)
    found = []
    for wanted in ("/company/team/", "https://evil.example/", "//evil.example/"):
        client = Client()
        client.get("/account/sign-on/", {"next": wanted})
        found.append(sign_on(client, row, idp).url)

    assert found == ["/company/team/", "/company/", "/company/"]


def test_the_sites_provider_signs_in_whom_a_company_has_added(
    company: Company, idp: Provider
) -> None:
    row = set_up(None, idp)
    nobody = sign_on(Client(), row, idp)
    member_of(company, Role.VIEWER, email=ADA)
    client = Client()

    sign_on(client, row, idp)

    assert nobody.status_code == 403
    assert is_signed_in(client)
    assert not User.objects.filter(email=ADA, is_staff=True).exists()


def test_the_trial_shows_what_the_provider_says_and_changes_nothing(
    company: Company, row: IdentityProvider, idp: Provider
) -> None:
    owner = member_of(company, Role.OWNER, email="boss@elsewhere.example")
    client = browser_of(owner)
    idp.claims["groups"] = ["hr"]

    there = client.post("/company/sign-on/try/")
    state = there.content.decode().split("state=")[1].split("&amp;")[0]
    idp.nonce = there.content.decode().split("nonce=")[1].split("&amp;")[0].split('"')[0]
    shown = come_back(client, row, state)

    assert shown.status_code == 200, shown.content
    assert b"It works" in shown.content
    assert b"hr" in shown.content
    assert client.get("/account/").context["user"].id == owner.id
    assert not User.objects.filter(email=ADA).exists()
    row.refresh_from_db()
    assert row.tried_at


def test_an_owner_requires_it_only_after_a_trial(
    company: Company, row: IdentityProvider, owner: Client
) -> None:
    first = owner.post("/company/sign-on/require/", {"required": "yes"}, follow=True)
    providers.note_trial(row)
    second = owner.post("/company/sign-on/require/", {"required": "yes"}, follow=True)

    assert b"Try it first" in first.content
    assert b"Single sign-on is now the only way in." in second.content
    row.refresh_from_db()
    assert row.is_required


def test_another_issuer_forgets_who_signed_in_at_the_former_one(
    company: Company, row: IdentityProvider, idp: Provider
) -> None:
    member_of(company, Role.OWNER, email=ADA)
    sign_on(Client(), row, idp)
    assert row.identities.exists()

    changed = {"name": "x", "issuer": idp.issuer, "client_id": "another", "secret": ""}
    providers.save(company_id=company.id, by=None, **changed)

    assert not row.identities.exists()
