"""Every address of the site, called by every kind of stranger: nothing leaks, nothing changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import islice
from typing import Any
from uuid import UUID

import pytest
from django.apps import apps
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.test import Client

from jobs import keys
from jobs.models import Company, Role, Scope
from pipeline.integrations import portal_tokens
from pipeline.pages import access
from tests.strangers.acme import MARKER, OF_COMPANY, OF_SITE, furnish, state_of
from tests.strangers.addresses import Address, addresses
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.applicants import applicant_browser
from tests.support.callers import signed_in

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.timeout(1200)]

# No worker runs here, so the site says that it is not ready.
NOT_READY = "/health/ready"
# A body that most forms and endpoints can read; each takes what it knows.
FORM = {
    "outcome": "REJECTED",
    "reason_code": "OTHER",
    "sure": "on",
    "confirm": "yes",
    "capacity": "5",
    "version": "1",
    "role": "OWNER",
    "remove": "1",
    "email": "new@example.org",
    "name": "New",
    "file": "log.csv",
    "required": "yes",
    "seq": "1",
    "title": "Mine",
}
BODIES: dict[str, dict[str, Any]] = {
    "remove": {"outcome": "REJECTED"},
    "reinstate": {"reason": "OUR_ERROR"},
    "move-ahead": {"reason": "OUR_ERROR"},
    "extend": {"acknowledge_by": "2126-01-01T00:00:00Z"},
    "applications": {"name": "New"},
    "import": {},
    "schedules": {"name": "Mine"},
    "jobs": {"capacity": 5},
}


def bearer(token: str) -> Client:
    return Client(raise_request_exception=False, headers={"Authorization": f"Bearer {token}"})


def _member(role: Role | None) -> Client:
    other = factories.company(name="Other")
    if role is None:
        return browser_of(factories.UserFactory.create(password=None))
    return browser_of(member_of(other, role))


def _key(*scopes: Scope) -> Client:
    other = factories.company(name="Other")
    return bearer(keys.create(company_id=other.id, name="theirs", scopes=scopes)[1])


def _portal() -> Client:
    other = factories.company(name="Other")
    theirs = factories.application(factories.job(company_id=other.id))
    key, _ = keys.create(company_id=other.id, name="site", scopes=[Scope.APPLICANT_TOKENS])
    return bearer(portal_tokens.grant(key_id=key.id, applicant_id=theirs.applicant_id).token)


STRANGERS: dict[str, Callable[[], Client]] = {
    "nobody": lambda: Client(raise_request_exception=False),
    "a forged key": lambda: bearer("nilk_" + "x" * 43),
    "a key": lambda: _key(*Scope),
    "a read key": lambda: _key(Scope.READ),
    "an owner": lambda: _member(Role.OWNER),
    "a viewer": lambda: _member(Role.VIEWER),
    "an account without company": lambda: _member(None),
    "another company's site": _portal,
    "an applicant's token": lambda: bearer(str(signed_in(factories.applicant()).token)),
    "an applicant": lambda: applicant_browser(factories.applicant()),
}
# Pages know no tokens, as the key shows, which goes everywhere. With --long, these go there too.
ONLY_IN_THE_API = ("a forged key", "a read key", "another company's site", "an applicant's token")


def _send(client: Client, method: str, path: str) -> HttpResponseBase:
    if method in ("GET", "HEAD"):
        return client.generic(method, path)
    if path.startswith("/api/"):
        last = [part for part in path.split("/") if part.isalpha()][-1]
        body = json.dumps(BODIES.get(last, {}))
        headers = {"If-Match": '"1"'}
        return client.generic(method, path, body, content_type="application/json", headers=headers)
    reason = {"reason": "OUR_ERROR"} if path.endswith(("/reinstate/", "/move-ahead/")) else {}
    return client.post(path, FORM | reason)


def _content(answer: HttpResponseBase) -> str:
    streamed = getattr(answer, "streaming_content", None)
    body = b"".join(streamed) if streamed is not None else answer.content  # type: ignore[attr-defined]
    return body.decode("utf-8", "replace").lower() + str(dict(answer.items())).lower()


def faults(
    make: Callable[[], Client], ids: dict[str, Any], below: str = "", *, one: int | None = None
) -> list[str]:
    """Return what goes wrong when someone calls every address, with every method it has.

    `one`: with one of the ids of each kind only, this one.
    """
    client, wrong = _fresh(make), []
    session = _session(client)
    for address in addresses():
        if not address.route.startswith(below):
            continue
        paths = [*address.paths(ids)]
        for path in paths if one is None else [paths[one % len(paths)]]:
            for method in address.methods:
                answer = _send(client, method, path)
                if answer.status_code >= 500 and path != NOT_READY:
                    wrong.append(f"{method} {path}: {answer.status_code}")
                if MARKER in _content(answer):
                    wrong.append(f"{method} {path}: shows what is Acme's")
                if _session(client) != session:  # it signed out, or was signed out
                    client = _fresh(make)
                    session = _session(client)
    return wrong


def one_of_today(number: int, long_seconds: int) -> int | None:
    """Say which of the ids the stranger with this number takes: each another, each day another."""
    return None if long_seconds else number + datetime.now(UTC).toordinal()


def _session(client: Client) -> str:
    cookie = client.cookies.get(settings.SESSION_COOKIE_NAME)
    return cookie.value if cookie else ""


def _fresh(make: Callable[[], Client]) -> Client:
    client = make()
    client.raise_request_exception = False
    return client


@pytest.mark.parametrize("who", STRANGERS)
@pytest.mark.in_turns(2)
@pytest.mark.long_with_option
def test_no_stranger_sees_or_changes_anything(
    who: str, settings: Any, mail_at_once: None, long_seconds: int
) -> None:
    settings.THROTTLE_RATES = dict.fromkeys(settings.THROTTLE_RATES)
    acme, ids = furnish()
    before = state_of(acme)
    below = "api/" if who in ONLY_IN_THE_API and not long_seconds else ""

    one = one_of_today([*STRANGERS].index(who), long_seconds)
    assert faults(STRANGERS[who], ids, below, one=one) == []

    assert state_of(acme) == before


def test_an_open_door_is_noticed(monkeypatch: pytest.MonkeyPatch, mail_at_once: None) -> None:
    """Check the check: with a guard that lets every member in, the walk sees and changes things."""
    acme, ids = furnish()
    before = state_of(acme)

    def let_in(request: HttpRequest, company_id: UUID) -> access.Member:
        return access.Member(request.user, Company.objects.get(id=company_id), Role.OWNER)  # type: ignore[arg-type]

    monkeypatch.setattr(access, "switch_current_member", let_in)
    found = faults(STRANGERS["a viewer"], ids, "company/", one=0)

    assert any("shows what is Acme's" in fault for fault in found)
    assert state_of(acme) != before


def test_the_company_itself_sees_its_own(settings: Any, mail_at_once: None) -> None:
    """Check the check: with the credentials of an owner, the marker shows on many pages."""
    acme, ids = furnish()
    client = browser_of(member_of(acme, Role.OWNER))
    client.raise_request_exception = False

    seen = (
        path
        for address in addresses()
        if "GET" in address.methods and address.route.startswith("company/")
        for path in address.paths(ids)
        if MARKER in _content(_send(client, "GET", path))
    )

    assert len(set(islice(seen, 20))) == 20


def test_every_table_is_either_somebodys_or_the_sites() -> None:
    labels = {model._meta.label for model in apps.get_models()}

    assert set(OF_COMPANY) | OF_SITE == labels
    assert not set(OF_COMPANY) & OF_SITE


def test_addresses_are_filled_in() -> None:
    simple = Address("jobs/<uuid:job_id>/^x/(?P<key>[-:\\w]+)/$", ("GET",))

    assert list(simple.paths({"job_id": [1, 2], "key": "k"})) == ["/jobs/1/x/k/", "/jobs/2/x/k/"]


def test_an_address_with_an_unknown_parameter_fails_by_name() -> None:
    with pytest.raises(KeyError, match="thing_id"):
        list(Address("x/<uuid:thing_id>", ("GET",)).paths({}))


def test_the_walk_finds_pages_api_and_back_office() -> None:
    routes = [address.route for address in addresses()]

    assert len(routes) > 200
    for start in ("api/v1/jobs", "company/", "me/", "admin/", "account/", "health/"):
        assert any(route.startswith(start) for route in routes)
