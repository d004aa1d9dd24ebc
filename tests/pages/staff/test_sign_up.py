"""A company begins by an emailed code, asks the operator, or is told whom to ask."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import partial
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Permission
from django.core import mail
from django.test import Client
from pytest_django.asserts import assertContains, assertNotContains
from uuid_utils.compat import uuid7

from jobs import sign_up
from jobs.models import Company, CompanyRequest, Membership, Role, User
from tests.support import factories
from tests.support.accounts import browser_of, is_signed_in, member_of
from tests.support.environment import ROOT, process_environment
from tests.support.task_runs import run_due_tasks
from tests.support.together import kinds, together

BEGIN, CODE_PAGE = "/for-companies/sign-up/", "/for-companies/sign-up/code/"
CODE = re.compile(r"^[B-Z]{4}-[B-Z]{4}$", re.M)
OPERATOR = "operator@example.org"


def begin(client: Client, email: str = "mara@harbour.example", company: str = "Harbour") -> Any:
    return client.post(BEGIN, {"company": company, "email": email})


def code_to(email: str) -> str:
    text = str([message for message in mail.outbox if message.to == [email]][-1].body)
    found = CODE.search(text)
    assert found
    return found[0]


def confirm(client: Client, code: str) -> Any:
    return client.post(CODE_PAGE, {"code": code})


def asked() -> CompanyRequest:
    return CompanyRequest.objects.create(company_name="Harbour", email="mara@harbour.example")


@pytest.fixture(autouse=True)
def _open(settings: Any) -> None:
    settings.SIGN_UP = "open"


@pytest.fixture
def asks(_open: None, settings: Any) -> None:
    settings.SIGN_UP, settings.SIGN_UP_CONTACT = "ask", OPERATOR


def test_a_company_begins_with_its_first_job(client: Client) -> None:
    begin(client)

    answer = confirm(client, code_to("mara@harbour.example").lower())

    owner = Membership.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, "/company/jobs/new/")
    assert (owner.company.name, owner.role) == ("Harbour", Role.OWNER)
    assert owner.user.email == "mara@harbour.example"
    assert client.get("/company/jobs/new/").status_code == 200


def test_nothing_is_stored_before_the_address_is_proved(client: Client) -> None:
    begin(client)
    confirm(client, "BBBB-BBBB")

    assert not User.objects.exists()
    assert not Company.objects.exists()
    assert not is_signed_in(client)


def test_a_known_address_gets_the_same_answers_and_another_company(company: Company) -> None:
    known = member_of(company, Role.VIEWER, email="known@harbour.example")
    ours, theirs = Client(), Client()

    answers = [begin(ours, known.email), begin(theirs, "new@harbour.example")]
    pages = [each.get(CODE_PAGE).content.decode() for each in (ours, theirs)]
    confirm(ours, code_to(known.email))

    assert {(each.status_code, each["Location"]) for each in answers} == {(302, CODE_PAGE)}
    texts = [str(message.body) for message in mail.outbox]
    assert len({CODE.sub("", each) for each in texts}) == 1
    assert len({_without_tokens(each) for each in pages}) == 1
    roles = dict(known.memberships.values_list("company__name", "role"))
    assert roles == {company.name: Role.VIEWER, "Harbour": Role.OWNER}
    assertContains(ours.get("/company/"), "Harbour")


def _without_tokens(page: str) -> str:
    page = re.sub(r"[\w.+-]+@harbour\.example", "", page)
    return re.sub(r'(value|content|name="submission")="[^"]*"', "", page)


def test_a_closed_account_begins_nothing(client: Client) -> None:
    factories.UserFactory.create(email="out@harbour.example", is_active=False)
    begin(client, "out@harbour.example")

    confirm(client, code_to("out@harbour.example"))

    assert not Company.objects.exists()
    assert not is_signed_in(client)


@pytest.mark.parametrize("email", ["a@mailinator.com", "a@eu.mailinator.com", "a@Refused.example"])
def test_a_disposable_address_is_refused(client: Client, settings: Any, email: str) -> None:
    settings.SIGN_UP_REFUSED_DOMAINS = {"refused.example"}

    answer = begin(client, email)

    assertContains(answer, "Enter the address you use at work.", status_code=422)
    assert not mail.outbox


def test_codes_to_one_address_are_limited() -> None:
    answers = [begin(Client()).status_code for _ in range(7)]

    assert answers == [302] * 5 + [422] * 2
    assert len(mail.outbox) == 5


def test_codes_for_one_network_are_limited(settings: Any) -> None:
    settings.THROTTLE_RATES = settings.THROTTLE_RATES | {"code_request": (3, 3_600)}

    answers = [begin(Client(), f"a{n}@harbour.example").status_code for n in range(4)]

    assert answers == [302] * 3 + [422]


def test_a_code_is_guessed_three_times_at_most(client: Client) -> None:
    begin(client)
    code = code_to("mara@harbour.example")

    answers = [confirm(client, "BBBB-BBBB").status_code for _ in range(3)]
    last = confirm(client, code)

    assert answers == [422, 422, 302]
    assert last["Location"] == BEGIN
    assert not Company.objects.exists()


def test_a_code_sent_twice_at_once_begins_one_company(client: Client) -> None:
    begin(client)
    code, session = code_to("mara@harbour.example"), client.cookies
    twins = [Client(), Client()]
    for each in twins:
        each.cookies = session.copy()  # type: ignore[assignment]

    together([partial(confirm, each, code) for each in twins])

    assert Company.objects.count() == 1
    assert Membership.objects.count() == 1


def test_a_new_address_proved_twice_at_once_has_one_account() -> None:
    acts = [
        partial(
            sign_up.create_own_company,
            company_id=uuid7(),
            name=f"Harbour {number}",
            email="mara@harbour.example",
        )
        for number in range(2)
    ]

    answers = together(acts)

    assert kinds(answers) == ["User", "User"]
    assert User.objects.count() == 1
    assert Company.objects.count() == 2


@pytest.mark.usefixtures("asks")
def test_the_operator_is_asked_once_and_nothing_is_created(client: Client) -> None:
    begin(client)

    answer = confirm(client, code_to("mara@harbour.example"))

    assert answer["Location"] == "/for-companies/sign-up/asked/"
    assert CompanyRequest.objects.get().email == "mara@harbour.example"
    assert not Company.objects.exists()
    assert not is_signed_in(client)
    assert len(_requests_sent()) == 1


def _requests_sent() -> list[str]:
    run_due_tasks(sign_up.REQUEST_EMAIL)
    return [str(each.body) for each in mail.outbox if each.to == [OPERATOR]]


@pytest.mark.usefixtures("asks")
def test_a_request_that_is_sent_twice_is_one() -> None:
    request_id = uuid7()

    together(
        [partial(sign_up.ask_for_company, request_id=request_id, name="H", email="m@h.example")] * 2
    )

    assert CompanyRequest.objects.count() == 1
    assert len(_requests_sent()) == 1


def decide(request: CompanyRequest, *, approve: bool) -> CompanyRequest:
    return sign_up.decide_request(request_id=request.id, approve=approve)


def decisions_sent(request: CompanyRequest) -> list[str]:
    run_due_tasks(sign_up.REQUEST_EMAIL)
    return [str(each.subject) for each in mail.outbox if each.to == [request.email]]


@pytest.mark.usefixtures("asks")
def test_an_approved_request_is_a_company_and_its_owner_is_told_once() -> None:
    request = asked()

    together([partial(decide, request, approve=True)] * 3)

    owner = Membership.objects.get()
    assert (owner.company.id, owner.company.name) == (request.id, "Harbour")
    assert (owner.user.email, owner.role) == (request.email, Role.OWNER)
    assert decisions_sent(request) == ["Harbour can start on Next in Line"]


@pytest.mark.usefixtures("asks")
def test_a_refused_request_creates_nothing_and_the_person_is_told() -> None:
    request = asked()

    decide(request, approve=False)

    assert not Company.objects.exists()
    assert decisions_sent(request) == ["Your request for Harbour"]
    assert OPERATOR in str(mail.outbox[-1].body)


@pytest.mark.usefixtures("asks")
def test_of_two_opposite_decisions_the_first_counts() -> None:
    request = asked()

    answers = together([partial(decide, request, approve=each) for each in (True, False)])

    request.refresh_from_db()
    assert kinds(answers) == ["CompanyRequest", "RequestDecided"]
    assert Company.objects.exists() == request.is_approved
    assert len(decisions_sent(request)) == 1


@pytest.mark.usefixtures("asks")
def test_the_operator_is_not_asked_about_what_is_decided(client: Client) -> None:
    begin(client)
    confirm(client, code_to("mara@harbour.example"))
    decide(CompanyRequest.objects.get(), approve=True)

    assert _requests_sent() == []


@pytest.mark.usefixtures("asks")
def test_an_operator_decides_in_the_back_office() -> None:
    operator = factories.UserFactory.create(password=None, is_staff=True, is_superuser=True)
    Authenticator.objects.create(user=operator, type="totp", data={"secret": "JBSWY3DPEHPK3PXP"})
    office, request = browser_of(operator), asked()
    page = "/admin/jobs/companyrequest/"

    for action in ("approve", "approve", "refuse"):
        form = {"action": action, "_selected_action": [str(request.id)]}
        said = office.post(page, form, follow=True).content.decode()

    assert "was decided otherwise before" in said
    assert Company.objects.get().id == request.id


def test_only_operators_with_the_permission_decide() -> None:
    reader = factories.UserFactory.create(password=None, is_staff=True)
    reader.user_permissions.add(Permission.objects.get(codename="view_companyrequest"))
    Authenticator.objects.create(user=reader, type="totp", data={"secret": "JBSWY3DPEHPK3PXP"})
    office, request = browser_of(reader), asked()

    form = {"action": "approve", "_selected_action": [str(request.id)]}
    office.post("/admin/jobs/companyrequest/", form)

    request.refresh_from_db()
    assert request.is_approved is None


@pytest.mark.parametrize("contact", ["", OPERATOR])
def test_a_closed_site_says_whom_to_ask(client: Client, settings: Any, contact: str) -> None:
    settings.SIGN_UP, settings.SIGN_UP_CONTACT = "closed", contact

    page = client.get("/for-companies/")

    assertContains(page, contact or "ask the people who run this site")
    assertNotContains(page, BEGIN)
    assert begin(client)["Location"] == "/for-companies/"
    assert client.get(CODE_PAGE)["Location"] == BEGIN
    assert not mail.outbox


@pytest.mark.parametrize(
    ("state", "words"), [("open", "Create your company"), ("ask", "Ask for access")]
)
def test_the_page_for_companies_has_one_first_step(
    client: Client, settings: Any, state: str, words: str
) -> None:
    settings.SIGN_UP = state

    page = client.get("/for-companies/").content.decode()

    assert page.count("btn primary") == 1
    assert re.search(rf'<a class="btn primary" href="{BEGIN}">{words}</a>', page)


SHOWN = "import pipeline.config.env as env; print(env.SIGN_UP)"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"SIGN_UP": "", "DATABASE_URL": ""}, "open"),
        ({"SIGN_UP": ""}, "closed"),
        ({"SIGN_UP": "ask", "SIGN_UP_CONTACT": "op@example.org"}, "ask"),
        ({"SIGN_UP": "ask"}, "SIGN_UP=ask needs SIGN_UP_CONTACT, an email address."),
        ({"SIGN_UP": "maybe"}, "SIGN_UP must be one of open, ask, closed"),
    ],
)
def test_the_setting_is_read_from_the_environment(given: dict[str, str], shown: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", SHOWN],
        cwd=ROOT,
        env=process_environment(**given),
        capture_output=True,
        text=True,
        check=False,
    )

    assert shown in run.stdout + run.stderr
