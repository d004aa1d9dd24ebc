"""Careers pages as visitors see them, and their files. They read no session and set no cookie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from csp.constants import NONE, SELF
from django.conf import settings
from django.core.cache import caches
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.cache import patch_cache_control
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from jobs.models import Job, JobStatus
from pipeline.careers import colours, feeds, job_posting, markdown, pictures, share
from pipeline.careers.pages import Filters, find_page, read_filters, read_logo
from pipeline.domain.errors import JobNotFound
from pipeline.models import CareersPage
from pipeline.selectors.jobs import read_job, read_open_jobs
from pipeline.sources.origin import Origin
from pipeline.templatetags.language import link_alternates
from pipeline.web.languages import PARAMETER, asked_language, in_language_of
from pipeline.wording.openings import describe_numbers
from pipeline.wording.postings import Fact, describe_facts, describe_pay

ON_ONE_PAGE = 24
LONGEST_VALUE = 200  # of the search and of a filter
MINUTE_SECONDS, HOUR_SECONDS, YEAR_SECONDS = 60, 3_600, 365 * 86_400
FEED_SECONDS = 600
KEPT_FEED_BYTES = 2**18  # of one company
# The files that a page has, and no scripts.
_OF_A_PAGE = (
    f"default-src {NONE}; style-src {SELF}; font-src {SELF}; img-src {SELF}; base-uri {NONE}"
)
# Nothing but a picture: not even if a browser shows it as a page.
_OF_A_PICTURE = f"sandbox; default-src {NONE}; frame-ancestors {NONE}"


@dataclass(frozen=True, slots=True)
class Site:
    """Careers page as it is shown on this site, or at the company's own domain."""

    page: CareersPage
    is_own_domain: bool = False
    language: str = ""  # that its address names

    @property
    def query(self) -> str:
        """Return the query by which links keep the language that the address names."""
        return f"?{PARAMETER}={self.language}" if self.language else ""

    @property
    def home(self) -> str:
        """Return the address of the list of jobs."""
        path = "/" if self.is_own_domain else reverse("careers", args=[self.page.slug])
        return path + self.query

    @property
    def url(self) -> str:
        """Return the public address of the page, which search engines keep."""
        return job_posting.page_url(self.page)

    @property
    def logo(self) -> str:
        """Return the path of the logo, if there is one."""
        digest = self.page.logo_digest
        return reverse("careers_logo", args=[self.page.company_id, digest]) if digest else ""

    @property
    def colours(self) -> str:
        """Return the path of the stylesheet with the company's colour, if it has one."""
        colour = self.page.colour
        return reverse("careers_colours", args=[colour]) if colour else ""

    @property
    def main(self) -> str:
        """Return the address of this site, where people apply and sign in."""
        return settings.SITE_URL if self.is_own_domain else ""


@dataclass(frozen=True, slots=True)
class Listed:
    """Open job as a careers page lists it."""

    job: Job

    @property
    def numbers(self) -> str:
        """Return its seats and the people who wait, in words."""
        return describe_numbers(self.job)

    @property
    def facts(self) -> list[Fact]:
        """Return what the posting says of the work, in words."""
        return describe_facts(self.job.posting)


@require_safe
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a company's page; after a change of its name, redirect for a year."""
    page = _public_page(slug)
    if page.slug != slug:
        return redirect(f"{reverse('careers', args=[page.slug])}{_query(request)}", permanent=True)
    return render_list(request, Site(page, language=asked_language(request)))


def render_list(
    request: HttpRequest,
    site: Site,
    template: str = "careers/page.html",
    *,
    framed_by: str = NONE,
) -> HttpResponse:
    """Render the jobs of a company that the visitor looks for. `framed_by`: who may frame it."""
    context = {"site": site, "page": site.page, **list_context(request, site)}
    context |= {"alternates": link_alternates(site.url), "query": request.META["QUERY_STRING"]}
    response = HttpResponse(render_to_string(template, context))
    response["Content-Security-Policy"] = (
        f"{_OF_A_PAGE}; form-action {SELF}; frame-ancestors {framed_by}"
    )
    patch_cache_control(response, public=True, max_age=MINUTE_SECONDS)
    return response


def list_context(request: HttpRequest, site: Site) -> dict[str, Any]:
    """Return the jobs that the visitor looks for, and what else can be looked for."""
    search = _value(request, "q")
    possible = read_filters(site.page.company_id)
    chosen = {
        name: value
        for name, options in zip(Filters._fields, possible, strict=True)
        if (value := _value(request, name)) in {code for code, _words in options}
    }
    try:
        after = UUID(request.GET.get("after", ""))
    except ValueError:
        after = None
    found = read_open_jobs(
        search=search,
        after=after,
        limit=ON_ONE_PAGE,
        company_id=site.page.company_id,
        facts=chosen,
    )
    query = {"q": search, **chosen} if search else chosen
    origin = Origin.read(request.GET)
    onward = origin.values | ({PARAMETER: site.language} if site.language else {})
    carried = query | onward
    return {
        "introduction": markdown.to_html(site.page.introduction),
        "listed": [Listed(job) for job in found.rows],
        "search": search,
        "choices": [
            (name, options, chosen.get(name, ""))
            for name, options in zip(Filters._fields, possible, strict=True)
            if len(options) > 1
        ],
        "is_filtered": bool(query),
        "origin": origin,
        "carried": onward,
        "onward": f"?{urlencode(onward)}" if onward else "",
        "first_url": f"?{urlencode(carried)}" if after else "",
        "next_url": f"?{urlencode(carried | {'after': found.rows[-1].id})}" if found.more else "",
        "summary": share.summary(site.page.introduction),
    }


def _value(request: HttpRequest, name: str) -> str:
    return request.GET.get(name, "").replace("\0", "").strip()[:LONGEST_VALUE]


def _query(request: HttpRequest) -> str:
    query = request.META.get("QUERY_STRING", "")
    return f"?{query}" if query else ""


def _public_page(slug: str) -> CareersPage:
    page = find_page(slug)
    if page is None:
        raise Http404
    return page


def public_job_of(page: CareersPage, job_id: UUID) -> Job:
    """Return one of the company's public jobs. Raises JobNotFound."""
    job = read_job(job_id)
    if job.company_id != page.company_id or job.status == JobStatus.DRAFT or job.is_test:
        raise JobNotFound
    return job


def render_job(site: Site, job: Job) -> HttpResponse:
    """Render one job as a company's own domain shows it: people apply on this site."""
    posting = job.posting
    said = job_posting.describe(job)
    context = {
        "site": site,
        "page": site.page,
        "job": job,
        "facts": describe_facts(posting),
        "numbers": describe_numbers(job),
        "description": markdown.to_html(posting.description),
        "apply_url": f"{settings.SITE_URL}{reverse('opening', args=[job.id])}{site.query}",
        "alternates": link_alternates(f"{site.url}jobs/{job.id}/"),
        "structured": job_posting.script(said) if said else "",
        **share.describe(job),
    }
    response = HttpResponse(render_to_string("careers/job.html", context))
    policy = f"{_OF_A_PAGE}; form-action {NONE}; frame-ancestors {NONE}"
    response["Content-Security-Policy"] = policy
    patch_cache_control(response, public=True, max_age=MINUTE_SECONDS)
    return response


# In frames on other sites: only for the sites that the company names.


@require_safe
def show_embedded_list(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the list of jobs for a frame on another site."""
    page = _public_page(slug)
    framed_by = " ".join(page.embed_origins) or NONE
    response = render_list(request, Site(page), "careers/embedded_list.html", framed_by=framed_by)
    response["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response


@require_safe
def show_embedded_form(request: HttpRequest, slug: str, job_id: UUID) -> HttpResponse:
    """Show the form to apply for a frame on another site. It is sent to a tab of its own.

    There, this site's cookies are those of the page, so no browser refuses them.
    """
    page = _public_page(slug)
    job = public_job_of(page, job_id)
    context = {
        "site": Site(page),
        "page": page,
        "job": job,
        "numbers": describe_numbers(job),
        "origin": Origin.read(request.GET),
        # What people must read or may agree to is on the job's page.
        "is_on_page": bool(job.form_version or job.company.shown_consents),
    }
    response = HttpResponse(render_to_string("careers/embedded_form.html", context))
    framed_by = " ".join(page.embed_origins) or NONE
    response["Content-Security-Policy"] = (
        f"{_OF_A_PAGE}; form-action {SELF}; frame-ancestors {framed_by}"
    )
    response["Cross-Origin-Resource-Policy"] = "cross-origin"
    patch_cache_control(response, public=True, max_age=MINUTE_SECONDS)
    return response


# Files: logo, colours, picture of a job, feeds.


@require_safe
@cache_control(public=True, max_age=YEAR_SECONDS, immutable=True)
def show_logo(request: HttpRequest, company_id: UUID, digest: str) -> HttpResponse:
    """Return a company's logo."""
    logo = read_logo(company_id, digest)
    if logo is None:
        raise Http404
    return _picture_response(bytes(logo.data))


def _picture_response(data: bytes) -> HttpResponse:
    response = HttpResponse(data, content_type="image/png")
    response["Content-Security-Policy"] = _OF_A_PICTURE
    response["X-Content-Type-Options"] = "nosniff"
    response["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response


@require_safe
@cache_control(public=True, max_age=YEAR_SECONDS, immutable=True)
def show_colours(request: HttpRequest, colour: str) -> HttpResponse:
    """Return the stylesheet that puts a company's colour in the place of the site's accent."""
    if not colours.HEX.fullmatch(colour):
        raise Http404
    return HttpResponse(colours.stylesheet(colour), content_type="text/css; charset=utf-8")


@require_safe
def show_picture(request: HttpRequest, job_id: UUID, version: str) -> HttpResponse:
    """Return the picture that other sites show with a link to a public job."""
    job = read_job(job_id)
    if job.status == JobStatus.DRAFT or job.is_test:
        raise JobNotFound
    if version != (present := share.picture_version(job)):
        return redirect("job_picture", job_id, present)
    response = _picture_response(_drawn(job, version))
    patch_cache_control(response, public=True, max_age=YEAR_SECONDS, immutable=True)
    return response


def _drawn(job: Job, version: str) -> bytes:
    """Return a job's picture, which a process keeps for an hour."""
    name = f"careers.picture.{job.id}.{version}"
    drawn: bytes | None = caches["local"].get(name)
    if drawn is None:
        drawn = _draw(job)
        caches["local"].set(name, drawn, HOUR_SECONDS)
    return drawn


def _draw(job: Job) -> bytes:
    page = job_posting.careers_of(job.company)
    logo = read_logo(job.company_id) if page and page.logo_digest else None
    with in_language_of(job.posting.language):  # one picture for everyone
        parts = [job.posting.location, describe_pay(job.posting)]
    return pictures.draw(
        title=job.posting.title,
        company=job.company.name,
        facts=" · ".join(part for part in parts if part),
        colour=page.colour if page else "",
        logo=bytes(logo.data) if logo else None,
    )


@require_safe
@cache_control(public=True, max_age=FEED_SECONDS)
def show_feed(request: HttpRequest, slug: str = "") -> HttpResponse:
    """Return the feed for job boards: of one company, or of all that the site lists."""
    if not slug:
        return render_feed(None)
    return render_feed(_public_page(slug))


def render_feed(page: CareersPage | None) -> HttpResponse:
    """Render the feed of a company's jobs, or of all that the site lists; kept for ten minutes."""
    if page is None and not settings.SITE_JOB_LIST:
        raise Http404
    name = f"careers.feed.{page.company_id if page else 'site'}"
    drawn: bytes | None = caches["local"].get(name)
    if drawn is None:
        drawn = _build_feed(page)
        if page is None or len(drawn) <= KEPT_FEED_BYTES:  # or many would fill the memory
            caches["local"].set(name, drawn, FEED_SECONDS)
    return HttpResponse(drawn, content_type="application/xml; charset=utf-8")


def _build_feed(page: CareersPage | None) -> bytes:
    company_id = page.company_id if page else None
    found = read_open_jobs(search="", after=None, limit=feeds.MOST_JOBS, company_id=company_id)
    if page:
        return feeds.build(page.company.name, job_posting.page_url(page), found.rows)
    return feeds.build(urlsplit(settings.SITE_URL).hostname or "", settings.SITE_URL, found.rows)
