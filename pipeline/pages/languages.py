"""Choice of a language, which the browser keeps, and the site for those who are signed in."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from applicants.people import remember_language
from jobs.accounts import set_language
from pipeline.pages.access import current_applicant
from pipeline.pages.page_urls import safe_target
from pipeline.web.languages import PARAMETER, choose_by_browser, choose_for, offered

BY_BROWSER = "browser"  # chosen instead of a language


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def choose(request: HttpRequest) -> HttpResponse:
    """Show the languages, and keep the one that is chosen, or none."""
    target = safe_target(request, request.GET.get("next", request.POST.get("next", "")))
    language = request.POST.get("language", "")
    if request.method != "POST" or language not in (*offered(), BY_BROWSER):
        return render(request, "site/language.html", {"next": target})
    if language == BY_BROWSER:
        language = ""
        choose_by_browser(request)
    else:
        choose_for(request, language)
    if person := current_applicant(request):
        remember_language(person.id, language)
    if request.user.is_authenticated:
        set_language(user_id=request.user.pk, language=language)
    return redirect(_without_language(target) or "/")


def _without_language(target: str) -> str:
    """Return a path without the language that it names: the choice counts from now on."""
    path, _mark, query = target.partition("?")
    given = QueryDict(query, mutable=True)
    given.pop(PARAMETER, None)
    return f"{path}?{given.urlencode()}" if given else path
