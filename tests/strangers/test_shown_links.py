"""Every link that a page shows can be followed: a member is led to nothing that refuses them."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import Resolver404, resolve

from jobs.models import Company, JobRole, Role
from pipeline.models import Application
from pipeline.pages.navigation import Place
from tests.files.imports.files import as_csv, people
from tests.strangers.acme import furnish
from tests.support import factories
from tests.support.accounts import browser_of, job_member_of, member_of
from tests.support.task_runs import run_due_tasks

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.timeout(600)]

LINK = re.compile(r"""<a\s[^>]*?href="([^"]+)\"""")
# Pages of one kind that are opened, and pages in all.
OF_ONE_KIND, MOST_PAGES = 2, 300
# They end the session, or another test looks at the files that they send.
NOT_FOLLOWED = {"account_logout"}


def links_in(page: str, address: str) -> set[str]:
    """Return the paths, with their queries, to which a page leads on this site."""
    found = set()
    for link in map(unescape, LINK.findall(page)):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or link.startswith("#"):
            continue
        path = parts.path or urlsplit(address).path
        found.add(f"{path}?{parts.query}" if parts.query else path)
    return found


def furnished() -> Company:
    """Create a company with everything, an open line among it, and a file that was imported."""
    acme, _ = furnish()
    job = factories.job(company_id=acme.id, capacity=1)
    factories.applications(job, 3)
    file = SimpleUploadedFile("people.csv", as_csv(people(2)), content_type="text/csv")
    browser_of(member_of(acme, Role.OWNER)).post(f"/company/jobs/{job}/import/", {"file": file})
    run_due_tasks("applications.import")
    return acme


def refused_links(client: Client, start: str, *, least: int = 40) -> list[str]:
    """Follow the links from a page, some of each kind, and return those that are refused."""
    opened: Counter[str] = Counter()
    waiting, seen, refused = [(start, "the address bar")], {start}, []
    while waiting and opened.total() < MOST_PAGES:
        address, source = waiting.pop(0)
        try:
            name = resolve(urlsplit(address).path).view_name
        except Resolver404:
            refused.append(f"{address} of {source}: no such address")
            continue
        if name in NOT_FOLLOWED or opened[name] >= OF_ONE_KIND:
            continue
        opened[name] += 1
        answer = client.get(address)
        if answer.status_code >= 400:
            refused.append(f"{address} of {source}: {answer.status_code}")
        elif answer.status_code < 300 and "text/html" in answer.get("Content-Type", ""):
            new = links_in(answer.content.decode(), address) - seen
            seen |= new
            waiting += [(each, address) for each in sorted(new)]
        elif 300 <= answer.status_code < 400 and answer["Location"] not in seen:
            seen.add(answer["Location"])
            waiting.append((answer["Location"], address))
    assert opened.total() > least
    return refused


@pytest.mark.parametrize("role", list(JobRole))
def test_no_page_shows_a_member_of_one_job_a_link_that_is_refused(
    role: JobRole, settings: Any, mail_at_once: None
) -> None:
    settings.THROTTLE_RATES = dict.fromkeys(settings.THROTTLE_RATES)
    acme = furnished()
    job = Application.objects.filter(job__company=acme, status="ACTIVE").earliest("id").job_id

    client = browser_of(job_member_of(acme, job, role))
    assert refused_links(client, "/company/", least=10) == []


@pytest.mark.parametrize("role", list(Role))
def test_no_page_shows_a_member_a_link_that_is_refused(
    role: Role, settings: Any, mail_at_once: None
) -> None:
    settings.THROTTLE_RATES = dict.fromkeys(settings.THROTTLE_RATES)
    acme = furnished()

    assert refused_links(browser_of(member_of(acme, role)), "/company/") == []


def test_a_link_that_is_refused_would_be_noticed(
    settings: Any, mail_at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.THROTTLE_RATES = dict.fromkeys(settings.THROTTLE_RATES)
    acme = furnished()
    monkeypatch.setattr(Place, "is_open_to", lambda place, member: True)

    found = refused_links(browser_of(member_of(acme, Role.VIEWER)), "/company/settings/")

    assert any(each.startswith("/company/keys/ of /company/settings/: 403") for each in found)
