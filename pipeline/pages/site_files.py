"""Files that browsers and search engines request from every site, and icons of deadlines.

They belong to no page and read no session.
"""

from __future__ import annotations

import base64
import json
import re
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

from django.conf import settings
from django.core.cache import caches
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.templatetags.static import static
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from pipeline.audit.receipts import public_receipt_keys
from pipeline.careers.pages import read_site_map_pages
from pipeline.selectors.jobs import read_sitemap_entries

HOUR_SECONDS = 3_600
DAY_SECONDS = 86_400
# Open jobs are for search engines, and the styles and scripts of their pages. Everything else needs
# a sign-in or a secret link.
ROBOTS = """\
User-agent: *
Allow: /$
Allow: /?after=
Allow: /?lang=
Allow: /jobs/
Allow: /jobs.xml
Allow: /c/
Allow: /privacy/
Allow: /static/
Allow: /sitemap.xml
Disallow: /

Sitemap: {site}/sitemap.xml
"""
MOST_PAGES = 50_000  # in one file, by the protocol
SITE_MAP_SECONDS = 600  # how long a process keeps the file
# Time left, as short as an icon can show it: 14h.
_MARK = re.compile(r"[1-9]?[0-9][dhm]")
_ICON = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">\
<rect width="32" height="32" rx="7" fill="#8a4a00"/>\
<text x="16" y="22" text-anchor="middle" font-family="system-ui,sans-serif" font-weight="700"\
 font-size="{size}" fill="#fff">{mark}</text></svg>
"""


@require_safe
@cache_control(public=True, max_age=DAY_SECONDS)
def robots(request: HttpRequest) -> HttpResponse:
    """Tell search engines which pages they may index."""
    text = ROBOTS.format(site=settings.SITE_URL)
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


@require_safe
@cache_control(public=True, max_age=SITE_MAP_SECONDS)
def sitemap(request: HttpRequest) -> HttpResponse:
    """List the public pages for search engines: the list of jobs and every open job."""
    drawn = caches["local"].get_or_set("sitemap", _draw_sitemap, SITE_MAP_SECONDS)
    return HttpResponse(drawn, content_type="application/xml; charset=utf-8")


def _draw_sitemap() -> bytes:
    root = ElementTree.Element("urlset", xmlns="http://www.sitemaps.org/schemas/sitemap/0.9")
    pages: list[tuple[str, datetime | None]] = [
        (reverse("openings"), None),
        (reverse("privacy"), None),
    ]
    pages += [(reverse("careers", args=[slug]), at) for slug, at in read_site_map_pages()]
    jobs = read_sitemap_entries(limit=MOST_PAGES - len(pages))
    pages += [(reverse("opening", args=[job]), changed) for job, changed in jobs]
    for path, changed in pages:
        page = ElementTree.SubElement(root, "url")
        ElementTree.SubElement(page, "loc").text = settings.SITE_URL + path
        if changed:
            ElementTree.SubElement(page, "lastmod").text = changed.isoformat(timespec="seconds")
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


@require_safe
@cache_control(public=True, max_age=DAY_SECONDS)
def favicon(request: HttpRequest) -> HttpResponse:
    """Redirect to the icon, for programs that look for it only here."""
    return redirect(static("img/favicon.ico"))


@require_safe
@cache_control(public=True, max_age=HOUR_SECONDS)
def receipt_keys(request: HttpRequest) -> JsonResponse:
    """Return the public keys that verify receipts, the current one first."""
    keys = [
        {
            "id": key.id,
            "algorithm": "Ed25519",
            "public_key": base64.b64encode(key.raw).decode(),
            "status": "current" if key.is_current else "former",
        }
        for key in public_receipt_keys()
    ]
    return JsonResponse({"keys": keys}, json_dumps_params={"indent": 2})


@require_safe
@cache_control(public=True, max_age=DAY_SECONDS)
def manifest(request: HttpRequest) -> HttpResponse:
    """Describe the site to a phone that adds it to its home screen."""
    icons = [
        {"src": static(f"img/icon-{size}.png"), "sizes": f"{size}x{size}", "type": "image/png"}
        for size in (192, 512)
    ]
    described = {
        "name": "Next in Line",
        "short_name": "Next in Line",
        "start_url": reverse("dashboard"),
        "scope": "/",
        "display": "minimal-ui",
        "background_color": "#fbfbfc",
        "theme_color": "#fbfbfc",
        "icons": [*icons, {**icons[-1], "purpose": "maskable"}],
    }
    return JsonResponse(described, content_type="application/manifest+json")


@require_safe
@cache_control(public=True, no_cache=True)
def service_worker(request: HttpRequest) -> HttpResponse:
    """Return the script that shows notifications.

    It is at the root, so that it applies to all pages.
    """
    [folder] = settings.STATICFILES_DIRS
    script = Path(folder, "js", "service_worker.js").read_text()
    shown = script.replace("ICON_URL", static("img/icon-192.png"))
    shown = shown.replace("NEWS_TEXT", json.dumps(_("There is news about your application.")))
    response = HttpResponse(shown, content_type="text/javascript; charset=utf-8")
    patch_vary_headers(response, ["Accept-Language", "Cookie"])
    return response


@require_safe
@cache_control(public=True, max_age=DAY_SECONDS, immutable=True)
def countdown_icon(request: HttpRequest, mark: str) -> HttpResponse:
    """Draw the icon of a tab with a deadline: the time left."""
    if not _MARK.fullmatch(mark):
        raise Http404
    drawn = _ICON.format(mark=mark, size=19 if len(mark) < 3 else 15)
    return HttpResponse(drawn, content_type="image/svg+xml")
