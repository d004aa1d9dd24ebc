"""The commands that people and scripts call: what they print, and how they refuse."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.management import CommandError, call_command

from applicants.models import Applicant
from jobs import keys
from jobs.models import ApiKey, Company, Job, Membership, Role, User
from pipeline.config.demo_addresses import OWNER
from pipeline.management.demo import seed as demo
from pipeline.models import Application, Event
from tests.support import factories
from tests.support.applicants import find_token

LONG = f"{'a' * 60}@{'b' * 60}.{'c' * 60}.{'d' * 60}.{'e' * 11}.example"
"""An address that is one by its form, of 262 characters."""

pytestmark = pytest.mark.django_db(transaction=True)


def said_by(*command: Any) -> str:
    """Return what a command prints to standard output."""
    out = io.StringIO()
    call_command(*command, stdout=out)
    return out.getvalue()


def test_a_new_companys_id_stands_alone() -> None:
    said = said_by("create_company", "Acme", "--owner", "Boss@Example.org")

    company = Company.objects.get()
    assert said == f"{company.id}\n"
    membership = Membership.objects.get(company=company)
    assert (membership.user.email, membership.role) == ("boss@example.org", "OWNER")
    assert not membership.user.has_usable_password()


def test_the_owners_password_comes_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse battery\nignored\n"))

    said_by("create_company", "Acme", "--owner", "boss@example.org", "--password-stdin")

    assert User.objects.get().check_password("correct horse battery")


def test_a_second_company_leaves_the_owners_password_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    err = io.StringIO()
    for password in ("correct horse battery", "another long password"):
        monkeypatch.setattr("sys.stdin", io.StringIO(password))
        options = ("--owner", "Boss@example.org", "--password-stdin")
        call_command("create_company", "Acme", *options, stdout=io.StringIO(), stderr=err)

    assert User.objects.get().check_password("correct horse battery")
    assert err.getvalue().count("its password was not changed") == 1


def test_a_poor_password_is_refused_and_nothing_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("12345\n"))

    with pytest.raises(CommandError, match="too short"):
        call_command("create_company", "Acme", "--owner", "a@example.org", "--password-stdin")

    assert not Company.objects.exists()


@pytest.mark.parametrize(
    ("name", "owner"),
    [("", "a@example.org"), ("x" * 201, "a@example.org"), ("Acme", "nobody"), ("Acme", LONG)],
)
def test_a_company_without_name_or_address_is_refused(name: str, owner: str) -> None:
    with pytest.raises(CommandError):
        call_command("create_company", name, "--owner", owner)

    assert not Company.objects.exists()


def test_a_new_key_stands_alone_and_works() -> None:
    company = factories.company()

    key = said_by("create_api_key", str(company.id), "--name", "ci", "--scopes", "read").strip()

    row = keys.find(key)
    assert row is not None
    assert (row.company_id, row.scopes) == (company.id, ["read"])
    assert key not in str(ApiKey.objects.values().get())


@pytest.mark.parametrize("options", [["--scopes", "admin"], ["--scopes", ""], []])
def test_a_key_that_cannot_be_is_refused(options: list[str]) -> None:
    company_id = str(factories.company().id) if options else str(uuid4())

    with pytest.raises(CommandError):
        call_command("create_api_key", company_id, "--name", "ci", *options)

    assert not ApiKey.objects.exists()


def test_a_scope_that_is_none_is_answered_with_those_that_are() -> None:
    with pytest.raises(CommandError, match="read, write, applicant-tokens"):
        call_command("create_api_key", str(uuid4()), "--name", "ci", "--scopes", "admin")


def test_an_applicants_token_stands_alone_and_works() -> None:
    token = said_by("create_applicant_token", "Ann@Example.org").strip()

    row = find_token(token)
    assert row is not None
    assert row.applicant_id == Applicant.objects.get(email="ann@example.org").id


@pytest.mark.parametrize("address", ["nobody", LONG])
def test_a_token_for_no_address_is_refused(address: str) -> None:
    with pytest.raises(CommandError, match="not an email address"):
        call_command("create_applicant_token", address)


@pytest.fixture
def demo_files(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo without its past, which takes a while: one company, and the jobs that start now."""
    monkeypatch.setattr(demo, "STATE_DIR", tmp_path)
    monkeypatch.setattr(demo, "COMPANIES", [replace(demo.COMPANIES[0], jobs=())])


@pytest.mark.usefixtures("demo_files")
def test_the_demo_seeded_twice_is_the_demo_seeded_once() -> None:
    first = said_by("seed_demo")
    counts = [model.objects.count() for model in (Company, Job, Application, Event, ApiKey)]

    second = said_by("seed_demo")

    assert second == first
    again = [model.objects.count() for model in (Company, Job, Application, Event, ApiKey)]
    assert again == counts
    assert set(Job.objects.values_list("status", flat=True)) == {"OPEN"}


@pytest.mark.usefixtures("demo_files")
def test_a_lost_demo_key_is_replaced_and_the_old_one_is_gone() -> None:
    lost = demo.create_missing().api_key
    next(demo.STATE_DIR.glob("demo_api_key.*")).unlink()

    found = demo.create_missing().api_key

    assert found != lost
    assert keys.find(lost) is None
    assert keys.find(found) is not None


@pytest.mark.usefixtures("demo_files")
def test_the_demos_password_is_kept_for_its_owner_alone_and_never_overwrites_another() -> None:
    first = demo.create_missing().password
    file = next(demo.STATE_DIR.glob("demo_password.*"))
    owner = User.objects.get(email=OWNER)
    was_right = owner.check_password(first)
    owner.set_password("chosen by someone")
    owner.save()

    second = demo.create_missing().password

    assert was_right
    assert file.stat().st_mode & 0o777 == 0o600
    assert second == ""
    assert User.objects.get(email=demo.OWNER).check_password("chosen by someone")


@pytest.mark.usefixtures("demo_files")
def test_who_was_removed_from_the_demos_team_does_not_come_back() -> None:
    demo.create_missing()
    Membership.objects.exclude(role=Role.OWNER).delete()

    demo.create_missing()

    assert Membership.objects.count() == 1


def test_sound_logs_are_said_to_be_so() -> None:
    job_id = factories.job()

    said = said_by("verify_log")

    assert f"{job_id}: ok, 2 events" in said
    assert "All is well: 1 log verified." in said


def test_the_first_bad_row_is_named_and_the_other_jobs_are_still_checked() -> None:
    bad, good = factories.job(), factories.job()
    factories.applications(bad, 3)
    Application.objects.filter(job_id=bad, status="WAITLIST").update(decay_count=7)
    out = io.StringIO()

    with pytest.raises(CommandError, match=r"1 of 2 logs are not sound"):
        call_command("verify_log", stdout=out)

    assert f"{good}: ok" in out.getvalue()
    assert "decay_count is 7, the log says 0" in out.getvalue()


def test_a_job_that_is_not_there_is_not_verified() -> None:
    with pytest.raises(CommandError, match="There is no job"):
        call_command("verify_log", str(UUID(int=0)))
