"""Own domains of companies: routing by host, and the answer to a proxy that wants a certificate.

At a company's own domain there is nothing but its careers page and its jobs: no sign-in, no form
that changes anything, no cookie, no API. Any other host goes on to Django's check of ALLOWED_HOSTS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID
from xml.etree import ElementTree

from django.conf import settings
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.http.request import split_domain_port
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.urls import Resolver404, URLResolver, path
from django.urls.resolvers import RegexPattern
from django.utils.translation import get_language
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from pipeline.careers.domains import served_domains
from pipeline.careers.pages import read_page
from pipeline.domain.errors import JobNotFound
from pipeline.models import CareersPage
from pipeline.pages.careers import public
from pipeline.pages.careers.public import Site
from pipeline.selectors.jobs import read_open_jobs
from pipeline.web.languages import asked_language, name_language

Respond = Callable[[HttpRequest], HttpResponse]
MOST_IN_SITE_MAP = 5_000
ROBOTS = "User-agent: *\nAllow: /\n\nSitemap: https://{domain}/sitemap.xml\n"


def own_domains(get_response: Respond) -> Respond:
    """Answer requests for a company's own domain. A middleware.

    It comes before sessions and forms, so that none is read or set there.
    """

    def own_domains_middleware(request: HttpRequest) -> HttpResponse:
        host = asked_host(request)
        site = urlsplit(settings.SITE_URL).hostname
        if not host or host == site or host in settings.ALLOWED_HOSTS:
            return get_response(request)
        company_id = served_domains().get(host)
        if company_id is None:
            return get_response(request)
        response = respond(request, company_id, host)
        response["Content-Length"] = str(len(response.content))  # as for the site's own pages
        name_language(response, get_language() or settings.LANGUAGE_CODE, by_cookie=False)
        return response

    return own_domains_middleware


def asked_host(request: HttpRequest) -> str:
    """Return the host that a request names, without port and final dot; not yet checked."""
    host, _port = split_domain_port(request.META.get("HTTP_HOST", ""))
    return host.rstrip(".")


def respond(request: HttpRequest, company_id: UUID, host: str) -> HttpResponse:
    """Answer a request for a company's own domain."""
    if request.method not in ("GET", "HEAD"):
        return HttpResponseNotAllowed(["GET", "HEAD"])
    page = read_page(company_id)
    if page is None or page.proved_domain != host:  # changed within the last minute
        return HttpResponse(status=421)
    try:
        found = _RESOLVER.resolve(request.path_info)
        request.resolver_match = found
        return found.func(request, page, *found.args, **found.kwargs)
    except (Http404, Resolver404, JobNotFound):
        words = {"site": Site(page, is_own_domain=True), "page": page}
        return HttpResponse(render_to_string("careers/missing.html", words), status=404)


def _list(request: HttpRequest, page: CareersPage) -> HttpResponse:
    return public.render_list(request, _site(request, page))


def _site(request: HttpRequest, page: CareersPage) -> Site:
    return Site(page, is_own_domain=True, language=asked_language(request))


def _job(request: HttpRequest, page: CareersPage, job_id: UUID) -> HttpResponse:
    job = public.public_job_of(page, job_id)
    return public.render_job(_site(request, page), job)


def _logo(request: HttpRequest, page: CareersPage, company_id: UUID, digest: str) -> HttpResponse:
    if company_id != page.company_id:
        raise Http404
    return public.show_logo(request, company_id, digest)


def _colours(request: HttpRequest, page: CareersPage, colour: str) -> HttpResponse:
    return public.show_colours(request, colour)


def _feed(request: HttpRequest, page: CareersPage) -> HttpResponse:
    return public.render_feed(page)


def _robots(request: HttpRequest, page: CareersPage) -> HttpResponse:
    text = ROBOTS.format(domain=page.domain)
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


def _site_map(request: HttpRequest, page: CareersPage) -> HttpResponse:
    found = read_open_jobs(
        search="", after=None, limit=MOST_IN_SITE_MAP, company_id=page.company_id
    )
    root = ElementTree.Element("urlset", xmlns="http://www.sitemaps.org/schemas/sitemap/0.9")
    for each in ("", *(f"jobs/{job.id}/" for job in found.rows)):
        node = ElementTree.SubElement(root, "url")
        ElementTree.SubElement(node, "loc").text = f"https://{page.domain}/{each}"
    drawn = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return HttpResponse(drawn, content_type="application/xml; charset=utf-8")


def _icon(request: HttpRequest, page: CareersPage) -> HttpResponse:
    return HttpResponseRedirect(static("img/favicon.ico"))


_PATTERNS: list[Any] = [
    path("", _list),
    path("jobs/<uuid:job_id>/", _job),
    path("jobs.xml", _feed),
    path("c/logos/<uuid:company_id>/<slug:digest>.png", _logo),
    path("c/colours/<slug:colour>.css", _colours),
    path("robots.txt", _robots),
    path("sitemap.xml", _site_map),
    path("favicon.ico", _icon),
]
_RESOLVER = URLResolver(RegexPattern(r"^/"), _PATTERNS)


@never_cache
@require_safe
def allow_certificate(request: HttpRequest) -> HttpResponse:
    """Tell a proxy whether to get a certificate for `?domain=`: 200 for a served one, else 404.

    The site's own host is one: a proxy that asks for every name asks for it, too.
    """
    domain = request.GET.get("domain", "").lower().rstrip(".")
    is_served = domain == urlsplit(settings.SITE_URL).hostname or domain in served_domains()
    return HttpResponse(status=200 if is_served else 404)
