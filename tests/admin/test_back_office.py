"""The back office shows the line and its log, and changes neither."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.core.management import call_command
from django.test import Client

from applicants.models import Applicant
from jobs import keys
from jobs.models import ApiKey, Company, Job, Membership, Role, Scope, User
from pipeline.models import Application, Event
from tests.support import factories

SHOWN_ONLY = (
    *(Event, Application, Job, Applicant, ApiKey, Membership, Company),
    *(EmailAddress, Authenticator),
)

SECRET = "JBSWY3DPEHPK3PXP"


@pytest.fixture
def root(transactional_db: None) -> Client:
    """A browser in which someone of the back office has signed in."""
    client = Client()
    user = factories.UserFactory.create(password=None, is_staff=True, is_superuser=True)
    Authenticator.objects.create(user=user, type="totp", data={"secret": SECRET})
    client.force_login(user)
    return client


@pytest.fixture
def line(root: Client) -> Application:
    """An application, with all that belongs to it."""
    application = factories.application(factories.job())
    company = Company.objects.get()
    keys.create(company_id=company.id, name="K", scopes=[Scope.READ])
    user = User.objects.get()
    Membership.objects.create(company=company, user=user, role=Role.OWNER)
    EmailAddress.objects.get_or_create(user=user, email=user.email)
    return application


def address(model: type[Any], rest: str = "") -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/{rest}"


@pytest.mark.parametrize("model", SHOWN_ONLY)
def test_every_list_and_every_row_can_be_looked_at(
    root: Client, line: Application, model: type[Any]
) -> None:
    row = model.objects.first()

    assert root.get(address(model)).status_code == 200
    assert root.get(address(model, f"{row.pk}/change/")).status_code == 200
    assert root.get(address(model, "?q=nothing-like-it")).status_code == 200


@pytest.mark.parametrize("model", [Event, Application, Job, Applicant, ApiKey])
def test_nothing_can_be_changed(root: Client, line: Application, model: type[Any]) -> None:
    before = list(model.objects.values())
    pk = before[0]["id"]
    everything = {"action": "delete_selected", "_selected_action": [str(pk)], "post": "yes"}

    answers = [
        root.get(address(model, "add/")),
        root.post(address(model, "add/"), {"name": "x"}),
        root.post(address(model, f"{pk}/change/"), {"name": "x", "status": "CLOSED"}),
        root.post(address(model, f"{pk}/delete/"), {"post": "yes"}),
    ]
    root.post(address(model), everything)

    assert [answer.status_code for answer in answers] == [403] * 4
    assert list(model.objects.values()) == before


def test_an_id_or_the_beginning_of_an_address_finds_a_row(root: Client, line: Application) -> None:
    found = root.get(address(Application, f"?q={line.applicant.email[:8]}"))
    by_job = root.get(address(Event, f"?q={line.job_id}"))
    nothing = root.get(address(Application, "?q=zzz"))

    assert str(line.id) in found.content.decode()
    assert "APPLIED" in by_job.content.decode()
    assert str(line.id) not in nothing.content.decode()


def test_no_list_counts_or_sorts_a_whole_table() -> None:
    for model in (*SHOWN_ONLY, User):
        shown = admin.site._registry[model]

        assert shown.show_full_result_count is False
        assert shown.paginator.__name__ == "ReadonlyAdminPaginator"
        assert tuple(shown.sortable_by) == ()
        assert tuple(shown.list_filter) == ()


def test_a_long_log_takes_no_more_queries(
    root: Client, line: Application, django_assert_max_num_queries: Any
) -> None:
    factories.applications(line.job_id, 20)

    for model in (Event, Application, Job):
        with django_assert_max_num_queries(6):
            root.get(address(model))


def test_a_keys_digest_is_not_shown(root: Client, line: Application) -> None:
    key = ApiKey.objects.get()

    page = root.get(address(ApiKey, f"{key.id}/change/")).content.decode()

    assert bytes(key.digest).hex() not in page
    assert "digest" not in page


def test_who_is_not_of_the_back_office_is_refused(transactional_db: None) -> None:
    client = Client()
    signed_out = client.get("/admin/jobs/job/")
    client.force_login(factories.UserFactory.create(password=None))

    assert signed_out.status_code == 302
    assert client.get("/admin/jobs/job/", follow=True).status_code == 403


def test_an_account_of_the_back_office_is_made_by_the_command(
    root: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "correct horse")
    call_command("createsuperuser", email="New@Example.org", interactive=False, verbosity=0)

    form = {"login": "new@example.org", "password": "correct horse"}
    answer = Client().post("/account/login/", form)

    assert answer.url == "/admin/"


def test_an_account_is_made_in_the_back_office_and_never_deleted(root: Client) -> None:
    form = {
        "email": "New@example.org",
        "usable_password": "true",
        "password1": "a better horse",
        "password2": "a better horse",
    }

    root.post("/admin/jobs/user/add/", form)

    made = User.objects.get(email="new@example.org")
    page = f"/admin/jobs/user/{made.id}/"
    assert root.get(f"{page}change/").status_code == 200
    assert root.post(f"{page}delete/", {"post": "yes"}).status_code == 403


@pytest.mark.parametrize("model", [*SHOWN_ONLY, User])
def test_no_address_filters_by_what_is_not_shown(
    root: Client, line: Application, model: type[Any]
) -> None:
    """One letter after the other, such a filter would spell out a secret."""
    secrets = {Authenticator: "data__secret__startswith=J", ApiKey: "digest__gt=a"}

    answer = root.get(address(model, f"?{secrets.get(model, 'id__gt=0')}"))

    assert answer.status_code == 400


def test_a_second_steps_secret_is_not_shown(root: Client, line: Application) -> None:
    row = Authenticator.objects.get()

    for page in ("", f"{row.pk}/change/", f"{row.pk}/delete/", f"{row.pk}/history/"):
        assert SECRET not in root.get(address(Authenticator, page)).content.decode()


@pytest.mark.parametrize("model", [*SHOWN_ONLY, User])
def test_other_ways_into_a_row_show_and_change_nothing_more(
    root: Client, line: Application, model: type[Any]
) -> None:
    row = model.objects.first()
    before = list(model.objects.values())

    assert root.get(address(model, f"{row.pk}/history/")).status_code == 200
    assert root.get(address(model, "?q=%00")).status_code in (200, 302)
    assert root.get(address(model, "?q='%22<script>")).status_code == 200
    assert root.get(address(model, "no-such-id/change/")).status_code in (302, 404)
    looked_up = root.get(
        f"/admin/autocomplete/?app_label={model._meta.app_label}"
        f"&model_name={model._meta.model_name}&field_name=user"
    )
    assert looked_up.status_code in (200, 403, 404)
    assert SECRET not in looked_up.content.decode()
    root.post(address(model), {"form-0-id": str(row.pk), "_save": "Save", "form-TOTAL_FORMS": "1"})
    assert list(model.objects.values()) == before
