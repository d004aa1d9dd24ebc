"""A sandbox and live data: neither exists for the other, at any address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from applicants.models import Applicant
from jobs import keys
from jobs.models import Company, JobPosting, Role, Scope
from jobs.sandboxes import find_or_create_sandbox
from pipeline.integrations import portal_tokens
from tests.strangers.acme import MARKER, furnish, state_of
from tests.strangers.test_every_address import bearer, faults, one_of_today
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.applicants import applicant_browser
from tests.support.callers import signed_in

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.timeout(1200)]


def _key(company: Company) -> Client:
    return bearer(keys.create(company_id=company.id, name="theirs", scopes=[*Scope])[1])


def _known_on_both_sides() -> Applicant:
    """One of the people on the other side, whose own name and address are no secret to them."""
    person = Applicant.objects.get(email=f"{MARKER}0@example.org")
    Applicant.objects.filter(id=person.id).update(email="ann@example.org", name="Ann")
    person.refresh_from_db()
    return person


def _portal(company: Company) -> Client:
    """A company's site, for the very person who stands on the other side, too."""
    person = _known_on_both_sides()
    factories.application(factories.job(company_id=company.id), person)
    key, _ = keys.create(company_id=company.id, name="site", scopes=[Scope.APPLICANT_TOKENS])
    return bearer(portal_tokens.grant(key_id=key.id, applicant_id=person.id).token)


# Whoever is not a member of the company, the nearest ones first.
OUTSIDERS: dict[str, Callable[[Company], Client]] = {
    "the live company's key": _key,
    "the live company's site": _portal,
    "an owner of another company": lambda _: browser_of(member_of(factories.company(), Role.OWNER)),
    "nobody": lambda _: Client(raise_request_exception=False),
}
WITH_TOKEN = ("the live company's key", "the live company's site")  # for pages, they are nobody
# The person whose address the company has typed into its sandbox.
PERSONS: dict[str, Callable[[Applicant], Client]] = {
    "the person's token": lambda person: bearer(str(signed_in(person).token)),
    "the person": applicant_browser,
}
INSIDERS: dict[str, Callable[[Company], Client]] = {
    "a test key": _key,
    "the sandbox's site": _portal,
}


@pytest.fixture
def live(settings: Any, mail_at_once: None) -> Company:
    """Return a company that has a sandbox."""
    settings.THROTTLE_RATES = dict.fromkeys(settings.THROTTLE_RATES)
    company = factories.company(name="Acme")
    find_or_create_sandbox(company.id)
    return company


def _furnish_with_marked_titles(company: Company) -> dict[str, Any]:
    _, ids = furnish(company)
    JobPosting.objects.filter(job__company=company).update(title=f"{MARKER} job")
    return ids


@pytest.mark.parametrize("who", OUTSIDERS)
@pytest.mark.in_turns(2)
@pytest.mark.long_with_option
def test_nobody_outside_sees_or_changes_a_sandbox(
    who: str, live: Company, long_seconds: int
) -> None:
    ids = _furnish_with_marked_titles(live.sandbox)
    client = OUTSIDERS[who](live)
    before = state_of(live.sandbox)

    below = "api/" if who in WITH_TOKEN and not long_seconds else ""
    one = one_of_today([*OUTSIDERS].index(who), long_seconds)
    assert faults(lambda: client, ids, below, one=one) == []

    assert state_of(live.sandbox) == before


@pytest.mark.parametrize("who", PERSONS)
def test_a_person_sees_nothing_of_a_sandbox_but_in_their_own_data(who: str, live: Company) -> None:
    ids = _furnish_with_marked_titles(live.sandbox)
    person = _known_on_both_sides()

    wrong = faults(lambda: PERSONS[who](person), ids, "me/applications")
    wrong += faults(lambda: PERSONS[who](person), ids, "api/")
    wrong += faults(lambda: PERSONS[who](person), ids, "jobs/")

    assert wrong == []


@pytest.mark.parametrize("who", INSIDERS)
def test_from_a_sandbox_nothing_live_is_seen_or_changed(who: str, live: Company) -> None:
    ids = _furnish_with_marked_titles(live)
    client = INSIDERS[who](live.sandbox)
    before = state_of(live)

    assert faults(lambda: client, ids, "api/") == []  # pages know no keys

    assert state_of(live) == before


def test_the_walk_would_see_a_sandbox_that_is_open(live: Company) -> None:
    """Check the check: its own key sees the marker."""
    ids = _furnish_with_marked_titles(live.sandbox)
    client = _key(live.sandbox)

    assert len(faults(lambda: client, ids, "api/v1/jobs")) >= 5
