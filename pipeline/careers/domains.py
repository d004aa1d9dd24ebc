"""Own domains of careers pages: proof by a TXT record, looked up again every day.

A page is served at a domain only while the record is there. If it goes, somebody else may have the
domain, so the page leaves it at once. If the name servers do not answer, it stays for a week.
"""

from __future__ import annotations

import ipaddress
import logging
import secrets
from datetime import timedelta
from enum import StrEnum
from urllib.parse import urlsplit
from uuid import UUID

import dns.exception
import dns.nameserver
import dns.resolver
from django.conf import settings
from django.core.cache import caches
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from applicants.addresses import ascii_domain
from jobs import activity
from pipeline.careers.pages import REDIRECTED, PageRefused
from pipeline.models import DOMAIN_LENGTH, CareersPage, CareersSlug
from tasks.context import Context
from tasks.registry import task_type
from tasks.scheduling import schedules

DOMAIN_CHANGED = activity.declare(
    "careers.domain_changed",
    activity.Group.RULES,
    gettext_lazy("Changed the domain of the careers page"),
)
security = logging.getLogger("security")

LABEL, PREFIX = "_next-in-line", "next-in-line="
QUERY_SECONDS, LOOK_UP_SECONDS = 2.0, 5.0
MOST_RECORDS = 50
PATIENCE = timedelta(days=7)  # with name servers that do not answer
KNOWN_SECONDS = 60  # how long a process keeps the served domains
_KNOWN = "careers.domains"
# Names of machines inside a network.
_INSIDE = ("localhost", "local", "internal", "lan", "home.arpa", "invalid", "test", "onion")


class Problem(StrEnum):
    """Reason why a domain is not proved."""

    NO_RECORD = "NO_RECORD"
    OTHER_RECORD = "OTHER_RECORD"
    NO_ANSWER = "NO_ANSWER"
    TAKEN = "TAKEN"


class NameServersSilent(Exception):
    """No name server answered in time, or none would."""


def checked_domain(text: str) -> str:
    """Return a domain as browsers ask for it. Raises PageRefused for one that no page can have."""
    refused = PageRefused("domain", _("Enter a domain of your company, like jobs.example.org."))
    try:
        domain = ascii_domain(text.strip().rstrip(".").lower())
    except UnicodeError:
        raise refused from None
    labels = domain.split(".")
    if len(domain) > DOMAIN_LENGTH or len(labels) < 2 or not all(map(_is_label, labels)):
        raise refused
    if labels[-1].isdigit() or any(f".{domain}".endswith(f".{end}") for end in _INSIDE):
        raise refused
    if _is_of_site(domain):
        raise PageRefused("domain", _("This is an address of the site. Enter your own domain."))
    return domain


def _is_label(label: str) -> bool:
    plain = label.replace("-", "")
    return 0 < len(label) < 64 and plain.isalnum() and plain.isascii() and label.strip("-") == label


def _is_of_site(domain: str) -> bool:
    """Tell whether a domain is one of the site's hosts, above or below one."""
    hosts = {(urlsplit(settings.SITE_URL).hostname or "").rstrip(".")}
    hosts |= {host.strip(".*[]").lower() for host in settings.ALLOWED_HOSTS}
    for host in hosts - {""}:
        if _is_address(host):
            continue
        if domain == host or domain.endswith(f".{host}") or host.endswith(f".{domain}"):
            return True
    return False


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def set_domain(*, company_id: UUID, domain: str, by: UUID) -> None:
    """Set the domain of a company's page, to be proved anew, or remove it if it is empty.

    Raises PageRefused.
    """
    domain = checked_domain(domain) if domain else ""
    changed = (
        CareersPage.objects.filter(company_id=company_id)
        .exclude(domain=domain)
        .update(
            domain=domain,
            domain_token=secrets.token_urlsafe(24) if domain else "",
            domain_proved_at=None,
            domain_checked_at=None,
            domain_problem="",
            updated_at=Now(),
        )
    )
    if changed:
        activity.note(DOMAIN_CHANGED, company_id=company_id, by=by)
    caches["local"].delete(_KNOWN)
    security.info("careers.domain_set", extra={"company": str(company_id), "by": str(by)})


def record_of(page: CareersPage) -> tuple[str, str]:
    """Return the name and the text of the record that proves a page's domain."""
    return f"{LABEL}.{page.domain}", f"{PREFIX}{page.domain_token}"


def check(page: CareersPage) -> None:
    """Look up the record of a page's domain and note the result. Takes LOOK_UP_SECONDS at most.

    A change of the domain in the meantime counts, not the result.
    """
    name, wanted = record_of(page)
    try:
        texts = look_up(name)
    except NameServersSilent:
        problem: Problem | None = Problem.NO_ANSWER
    else:
        problem = None if wanted in texts else Problem.NO_RECORD
        if problem and any(text.startswith(PREFIX) for text in texts):
            problem = Problem.OTHER_RECORD
    same = CareersPage.objects.filter(
        company_id=page.company_id, domain=page.domain, domain_token=page.domain_token
    )
    if problem is None:
        try:
            with transaction.atomic():
                same.update(domain_proved_at=Now(), domain_checked_at=Now(), domain_problem="")
        except IntegrityError:
            problem = Problem.TAKEN
    if problem:
        _note_problem(same, problem)
    caches["local"].delete(_KNOWN)


def _note_problem(same: QuerySet[CareersPage], problem: Problem) -> None:
    same.update(domain_checked_at=Now(), domain_problem=problem)
    lost = same.filter(domain_proved_at__isnull=False)
    if problem is Problem.NO_ANSWER:
        lost = lost.filter(domain_proved_at__lte=Now() - PATIENCE)
    for company_id in list(lost.values_list("company_id", flat=True)):
        lost.update(domain_proved_at=None)
        about = {"company": str(company_id), "why": problem.value}
        security.warning("careers.domain_lost", extra=about)


def look_up(name: str) -> set[str]:
    """Return the texts of a name's TXT records; none if the name has none.

    Raises NameServersSilent.
    """
    servers = settings.CAREERS_NAME_SERVERS
    try:
        resolver = dns.resolver.Resolver(configure=not servers)
        if servers:
            resolver.nameservers = [dns.nameserver.Do53Nameserver(*each) for each in servers]
        resolver.timeout, resolver.lifetime = QUERY_SECONDS, LOOK_UP_SECONDS
        answer = resolver.resolve(f"{name}.", "TXT", search=False)
    except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
        return set()
    except (dns.exception.DNSException, OSError):
        raise NameServersSilent from None
    return {b"".join(each.strings).decode("ascii", "replace") for each in [*answer][:MOST_RECORDS]}


def served_domains() -> dict[str, UUID]:
    """Return the company of each proved domain, as of a minute ago at most."""
    return caches["local"].get_or_set(_KNOWN, _read_served, KNOWN_SECONDS) or {}


def _read_served() -> dict[str, UUID]:
    rows = CareersPage.objects.filter(domain_proved_at__isnull=False, company__sandbox_of=None)
    return dict(rows.values_list("domain", "company_id"))


# Task that looks up proved domains again, each once a day, and forgets former names of pages.


KEY = "careers.domains"
EVERY_HOUR = "7 * * * *"
PAUSE = timedelta(hours=20)


@task_type(key=KEY, owner="site", queue="upkeep", timeout_seconds=1_800, max_attempts=3, cap=1)
def recheck_domains(context: Context) -> dict[str, int]:
    """Look up the domains whose last check is a day old, the oldest first. Returns their number."""
    CareersSlug.objects.filter(retired_at__lte=Now() - REDIRECTED).delete()
    due = CareersPage.objects.filter(domain_proved_at__isnull=False).filter(
        Q(domain_checked_at=None) | Q(domain_checked_at__lte=Now() - PAUSE)
    )
    checked = 0
    for page in due.order_by(F("domain_checked_at").asc(nulls_first=True)):
        if context.cancelled:
            break
        check(page)
        checked += 1
        context.progress(checked, checked, "domains looked up")
    return {"domains": checked}


def ensure_rechecks() -> None:
    """Create the schedule. Safe to call at every start and from many processes at once."""
    schedules.ensure("Domains of careers pages", EVERY_HOUR, KEY)
