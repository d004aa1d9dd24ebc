"""Careers pages: their names, look and logo, and the jobs on them."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import IO, Any, NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from applicants.addresses import ascii_domain
from jobs import activity
from jobs.models import Company, Job, JobStatus
from jobs.postings import EmploymentType, Workplace
from pipeline.careers import logos
from pipeline.models import MOST_ORIGINS, SLUG_LENGTH, CareersLogo, CareersPage, CareersSlug

PAGE_CHANGED = activity.declare(
    "careers.changed", activity.Group.RULES, gettext_lazy("Changed the careers page")
)
LOGO_CHANGED = activity.declare(
    "careers.logo_changed", activity.Group.RULES, gettext_lazy("Changed the logo")
)
security = logging.getLogger("security")

SHORTEST_SLUG = 3
_SLUG = re.compile("[a-z0-9]+(-[a-z0-9]+)*")
# Names that a visitor could take for the site's own, or that it may need.
RESERVED = frozenset(
    "about admin api apply assets blog careers colours companies company contact demo dev docs"
    " embed facts feed help home icons index jobs legal login logos logout media new next-in-line"
    " nextinline null official postmaster privacy robots root search security settings sign-in"
    " sign-out sign-up site sitemap static status support system team terms test undefined"
    " webmaster www".split()
)
REDIRECTED = timedelta(days=365)
MOST_FORMER = 5  # names of one company that still redirect
MOST_CHOICES = 100  # of one filter
MOST_IN_SITE_MAP = 10_000


class PageRefused(ValueError):
    """A value of the page cannot be saved. `field` names it; the text says what to do."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(why)
        self.field = field


def read_page(company_id: UUID) -> CareersPage | None:
    """Return a company's page with the company, if it has one."""
    return CareersPage.objects.select_related("company").filter(company_id=company_id).first()


def find_page(slug: str) -> CareersPage | None:
    """Return the page with a name, with its company; after a change also by its former name."""
    pages = CareersPage.objects.select_related("company").filter(company__sandbox_of=None)
    if found := pages.filter(slug=slug).first():
        return found
    former = CareersSlug.objects.filter(slug=slug, retired_at__gt=Now() - REDIRECTED)
    return pages.filter(company_id__in=former.values("company_id")).first()


def read_site_map_pages() -> list[tuple[str, datetime]]:
    """Return the name of each page that has no domain of its own, and when it changed."""
    pages = CareersPage.objects.filter(domain_proved_at=None, company__sandbox_of=None)
    return list(pages.order_by("slug").values_list("slug", "updated_at")[:MOST_IN_SITE_MAP])


@transaction.atomic
def save_page(*, company_id: UUID, slug: str, values: Mapping[str, Any], by: UUID) -> None:
    """Save a company's page under a name, with some of its other columns.

    The former name redirects for a year, and nobody else can take it. Raises PageRefused.
    """
    company = Company.objects.select_for_update(no_key=True).get(id=company_id)
    if company.is_test:
        raise PageRefused("slug", _("Test mode has no careers page. Leave test mode first."))
    _claim(company_id, checked_slug(slug))
    CareersPage.objects.update_or_create(
        company_id=company_id, defaults={"slug": slug, **values, "updated_at": Now()}
    )
    security.info("careers.changed", extra={"company": str(company_id), "by": str(by)})
    activity.note(PAGE_CHANGED, company_id=company_id, by=by)


def checked_slug(slug: str) -> str:
    """Return a name for a page's address. Raises PageRefused."""
    if not SHORTEST_SLUG <= len(slug) <= SLUG_LENGTH or not _SLUG.fullmatch(slug):
        why = _("Enter 3 to 40 small letters and digits, with single hyphens between them.")
        raise PageRefused("slug", why)
    if slug in RESERVED:
        raise PageRefused("slug", _("This name is kept for the site. Enter another one."))
    return slug


def _claim(company_id: UUID, slug: str) -> None:
    """Make a name the company's present one; the one before it redirects from now on."""
    over = Now() - REDIRECTED
    CareersSlug.objects.filter(slug=slug, retired_at__lte=over).delete()
    row, _made = CareersSlug.objects.get_or_create(slug=slug, defaults={"company_id": company_id})
    if row.company_id != company_id:
        raise PageRefused("slug", _("Another company has this name. Enter another one."))
    others = CareersSlug.objects.filter(company_id=company_id).exclude(slug=slug)
    others.filter(retired_at__lte=over).delete()
    if others.count() > MOST_FORMER:
        why = _("Too many former names of your page still redirect. Choose one of them.")
        raise PageRefused("slug", why)
    others.filter(retired_at=None).update(retired_at=Now())
    CareersSlug.objects.filter(slug=slug).update(retired_at=None)


def checked_origins(lines: Iterable[str]) -> list[str]:
    """Return the origins of other sites, each once, as browsers write them. Raises PageRefused."""
    origins = list(dict.fromkeys(_checked_origin(line.strip()) for line in lines if line.strip()))
    if len(origins) > MOST_ORIGINS:
        raise PageRefused("embed_origins", _("Enter at most 10 sites."))
    return origins


def _checked_origin(text: str) -> str:
    refused = PageRefused("embed_origins", _("Enter sites like https://www.example.org."))
    try:
        url = urlsplit(text)
        host, port = ascii_domain(url.hostname or ""), url.port
    except ValueError:
        raise refused from None
    if url.scheme != "https" or not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", host):
        raise refused
    if url.username is not None or url.path.strip("/") or url.query or url.fragment:
        raise refused
    return f"https://{host}" + (f":{port}" if port else "")


# The logo.


def set_logo(*, company_id: UUID, file: IO[bytes], size: int, by: UUID) -> None:
    """Encode a file as the logo of a company that has a page. Raises PictureRefused."""
    logo = logos.encode(file, size)
    values = {
        "digest": logo.digest,
        "data": logo.data,
        "width": logo.width,
        "height": logo.height,
    }
    with transaction.atomic():
        CareersLogo.objects.update_or_create(company_id=company_id, defaults=values)
        _point_to_logo(company_id, logo.digest)
        activity.note(LOGO_CHANGED, company_id=company_id, by=by)
    security.info("careers.logo_set", extra={"company": str(company_id), "by": str(by)})


@transaction.atomic
def remove_logo(*, company_id: UUID, by: UUID) -> None:
    """Remove a company's logo, if it has one."""
    removed = CareersLogo.objects.filter(company_id=company_id).delete()[0]
    _point_to_logo(company_id, "")
    if removed:
        activity.note(LOGO_CHANGED, company_id=company_id, by=by)


def _point_to_logo(company_id: UUID, digest: str) -> None:
    CareersPage.objects.filter(company_id=company_id).update(logo_digest=digest, updated_at=Now())


def read_logo(company_id: UUID, digest: str = "") -> CareersLogo | None:
    """Return a company's logo; with a digest only if it still is this one."""
    found = CareersLogo.objects.filter(company_id=company_id)
    return (found.filter(digest=digest) if digest else found).first()


# What visitors can choose from.


class Filters(NamedTuple):
    """Chosen or possible values of the facts by which visitors find jobs."""

    location: Any
    workplace: Any
    employment_type: Any
    department: Any


def read_filters(company_id: UUID) -> Filters:
    """Return, for each fact, the values of a company's open jobs with their words, in one query."""
    names = [f"posting__{name}" for name in Filters._fields]
    jobs = Job.objects.filter(company_id=company_id, status=JobStatus.OPEN, posting__isnull=False)
    rows = jobs.order_by().values_list(*names).distinct()[: MOST_CHOICES * len(names)]
    columns: list[list[str]] = [sorted(set(column) - {""}) for column in zip(*rows, strict=True)]
    places, workplaces, kinds, departments = columns or [[], [], [], []]
    return Filters(
        [(place, place) for place in places[:MOST_CHOICES]],
        [(code, Workplace(code).label) for code in workplaces],
        [(code, EmploymentType(code).label) for code in kinds],
        [(name, name) for name in departments[:MOST_CHOICES]],
    )
