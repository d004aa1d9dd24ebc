"""The way to an identity provider and back: signed in, or told why not."""

from __future__ import annotations

import logging
from http import HTTPStatus
from uuid import UUID

from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.models import Login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from applicants.forms import AddressField
from jobs.models import User
from pipeline.domain.permissions import Action
from pipeline.models import IdentityProvider
from pipeline.pages.access import current_member
from pipeline.pages.forms import PlainForm
from pipeline.sign_on import people, provider, providers
from pipeline.sign_on.people import Refusal, SignOnRefused
from pipeline.sign_on.provider import Claims, ProviderFailed
from pipeline.web import rate_limit
from pipeline.web.addresses import client_site
from pipeline.web.rate_limit import Rate

security = logging.getLogger("security")

# Sign-ins that a client may begin, because each makes requests to the provider.
BEGINNINGS = Rate(30, 300)
LOGOUTS = Rate(600, 60)  # of one provider: it may end a whole company's sessions
# The session keys of where to go after signing in, of an owner's trial, and of the provider that
# began the session, with the account.
NEXT, TRIAL, BEGUN_BY = "sign_on_next", "sign_on_trial", "account_sign_on"

FAILED = {
    "CANCELLED": gettext_lazy("You cancelled at the provider. Nothing was changed."),
    "UNREACHABLE": gettext_lazy("The provider does not answer. Try again in a few minutes."),
    "SECRET_UNREADABLE": gettext_lazy(
        "The site cannot read the provider’s secret any more. An owner has to enter it again."
    ),
    "TOO_MANY_GROUPS": gettext_lazy(
        "The provider left your groups out, because they are too many. Whoever runs it has to send"
        " only those that have a role here."
    ),
    "REFUSED": gettext_lazy("The provider refused. Ask whoever runs it whether you may use this."),
}
OTHER_FAILURE = gettext_lazy(
    "The provider’s answer was not valid, or too old. Begin again. If it fails again, tell whoever"
    " runs the provider."
)
REFUSED = {
    Refusal.NO_ADDRESS: gettext_lazy(
        "The provider did not tell us your email address. Whoever runs it has to release it."
    ),
    Refusal.UNVERIFIED: gettext_lazy(
        "The provider does not say that your email address is verified. Whoever runs it can mend"
        " that."
    ),
    Refusal.OTHER_DOMAIN: gettext_lazy(
        "Your address is at a domain that your company has not proved here. Ask an owner to add it."
    ),
    Refusal.OTHER_ACCOUNT: gettext_lazy(
        "The account here belongs to another person at the provider, or has another address by now."
        " Ask an owner of your company."
    ),
    Refusal.BACK_OFFICE: gettext_lazy(
        "This account runs the site. It signs in with its own second step, never by a company’s"
        " provider."
    ),
    Refusal.INACTIVE: gettext_lazy("This account is switched off."),
    Refusal.NO_ROLE: gettext_lazy(
        "You are not in the team yet, and none of your groups has a role. Ask an owner to add you."
    ),
    Refusal.NO_GROUPS: gettext_lazy(
        "The provider did not say which groups you are in. Whoever runs it has to send them; your"
        " place in the team is kept."
    ),
    Refusal.REMOVED: gettext_lazy(
        "You were removed from the team. If that was a mistake, ask an owner to add you again."
    ),
}


class WorkAddressForm(PlainForm):
    """Form for the address whose domain leads to a provider."""

    email = AddressField(label=gettext_lazy("Work email"))


@never_cache
@require_http_methods(["GET", "POST"])
def ask_address(request: HttpRequest) -> HttpResponse:
    """Ask for an address, and go on to the provider that vouches for its domain."""
    _keep_next(request)
    form = WorkAddressForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        address = form.cleaned_data["email"]
        found = people.provider_for(address) or _site_provider()
        if found:
            answer = _begin(request, found, login_hint=address)
            if isinstance(answer, HttpResponseRedirect):
                return go_to(request, found, answer.url)
            return answer
        form.add_error(
            "email", _("No company here uses single sign-on for this address. Sign in with a code.")
        )
    return render(request, "sign_on/ask.html", {"form": form}, status=422 if form.errors else 200)


@never_cache
@require_GET
def begin(request: HttpRequest, provider_id: UUID) -> HttpResponse:
    """Go to a provider; its own page of apps links here."""
    _keep_next(request)
    return _begin(request, _read(provider_id))


def _begin(request: HttpRequest, row: IdentityProvider, *, login_hint: str = "") -> HttpResponse:
    if not rate_limit.count("sign_on", client_site(request), BEGINNINGS).allowed:
        text = _("Too many attempts. Try again in a few minutes.")
        return _refuse(request, row, text, HTTPStatus.TOO_MANY_REQUESTS)
    try:
        return provider.begin(request, row, login_hint=login_hint)
    except ProviderFailed as failed:
        return _tell_failure(request, row, failed)


@never_cache
@require_GET
def finish(request: HttpRequest, provider_id: UUID) -> HttpResponse:
    """Sign in the person who comes back from a provider."""
    row = _read(provider_id)
    is_trial = request.session.pop(TRIAL, None) == str(row.id)
    try:
        claims = provider.finish(request, row)
    except ProviderFailed as failed:
        return _tell_failure(request, row, failed)
    if is_trial:
        return _show_trial(request, row, claims)
    try:
        user = people.admit(row, claims)
    except SignOnRefused as refused:
        about = {"provider": str(row.id), "why": refused.why.value}
        security.warning("sign_on.refused", extra=about)
        return _refuse(request, row, str(REFUSED[refused.why]), HTTPStatus.FORBIDDEN)
    return _sign_in(request, row, user)


def _sign_in(request: HttpRequest, row: IdentityProvider, user: User) -> HttpResponse:
    """Sign in as allauth does after a password: with the account's own second step, if it has one.

    The session keys begin as those that allauth's adapter keeps at sign-in.
    """
    destination = request.session.pop(NEXT, "")
    record_authentication(request, user, method="sign_on", provider=str(row.id))
    request.session[BEGUN_BY] = [str(row.id), str(user.id)]
    login = Login(
        user=user,
        redirect_url=destination or None,
        signal_kwargs={"sign_on": str(row.id)},
    )
    return perform_login(request, login)


def _show_trial(request: HttpRequest, row: IdentityProvider, claims: Claims) -> HttpResponse:
    """Show an owner what the provider said, and what it would mean; nobody is signed in by it."""
    member = current_member(request)
    if member is None or member.company.id != row.company_id or not member.may(Action.MANAGE_TEAM):
        raise Http404
    why, roles = "", None
    try:
        people.proved_address(row, claims)
        providers.note_trial(row)
        roles = people.roles_of(row, claims.groups or ())
    except SignOnRefused as refused:
        why = str(REFUSED[refused.why])
    jobs = roles.jobs.values() if roles else ()
    context = {
        "provider": row,
        "claims": claims,
        "groups": sorted(claims.groups or ()),
        "role": roles.role.label if roles and roles.role else "",
        "job_roles": len(jobs),
        "why": why,
    }
    return render(request, "sign_on/trial.html", context)


def _tell_failure(
    request: HttpRequest, row: IdentityProvider, failed: ProviderFailed
) -> HttpResponse:
    security.warning("sign_on.failed", extra={"provider": str(row.id), "why": str(failed)[:200]})
    text = str(FAILED.get(failed.why, OTHER_FAILURE))
    # No 502: what a company's own provider does is no alarm for whoever runs the site.
    status = HTTPStatus.OK if failed.why == "CANCELLED" else HTTPStatus.BAD_REQUEST
    return _refuse(request, row, text, status)


def _refuse(
    request: HttpRequest, row: IdentityProvider, text: str, status: HTTPStatus
) -> HttpResponse:
    context = {"provider": row, "text": text}
    return render(request, "sign_on/refused.html", context, status=status)


def _read(provider_id: UUID) -> IdentityProvider:
    found = IdentityProvider.objects.select_related("company").filter(id=provider_id).first()
    if found is None:
        raise Http404
    return found


def _site_provider() -> IdentityProvider | None:
    return IdentityProvider.objects.filter(company=None).first()


def _keep_next(request: HttpRequest) -> None:
    """Keep where to go afterwards, if it is a page of this site."""
    wanted = request.GET.get("next", "")
    if wanted and url_has_allowed_host_and_scheme(wanted, None):
        request.session[NEXT] = wanted


def go_to(request: HttpRequest, row: IdentityProvider, url: str) -> HttpResponse:
    """Show a page that goes on to a provider by itself.

    After a form, a redirect to another site would be refused by our policy for forms.
    """
    return render(request, "sign_on/go.html", {"provider": row, "url": url})


@csrf_exempt  # called by the provider; its signature is what counts
@never_cache
@require_POST
def sign_out_by_provider(request: HttpRequest, provider_id: UUID) -> HttpResponse:
    """End the sessions of somebody who has signed out, or was signed out, at the provider."""
    row = _read(provider_id)
    token = request.POST.get("logout_token", "")
    if not rate_limit.count("sign_on.logout", str(row.id), LOGOUTS).allowed:
        return HttpResponse(status=HTTPStatus.TOO_MANY_REQUESTS)
    try:
        people.sign_out(row, provider.read_logout(row, token))
    except ProviderFailed as failed:
        about = {"provider": str(row.id), "why": str(failed)[:200]}
        security.warning("sign_on.logout_refused", extra=about)
        error = {"error": "invalid_request", "error_description": "The logout token is not valid."}
        return JsonResponse(error, status=HTTPStatus.BAD_REQUEST)
    return HttpResponse()


def signed_out_page(request: HttpRequest) -> str | None:
    """Return the page after signing out of a session that a provider began; None for others."""
    begun_by = request.session.get(BEGUN_BY)
    return reverse("sign_on_out", args=[begun_by[0]]) if begun_by else None


@never_cache
@require_GET
def tell_signed_out(request: HttpRequest, provider_id: UUID) -> HttpResponse:
    """Say that the person is signed out here, with the way to sign out at the provider, too."""
    row = _read(provider_id)
    return render(request, "sign_on/out.html", {"provider": row, "url": provider.sign_out_url(row)})


def required_elsewhere(request: HttpRequest, user: User) -> HttpResponse | None:
    """Return the page that sends an account to its provider, if it may sign in only there."""
    row = people.required_provider(user)
    if row is None or request.session.get(BEGUN_BY) == [str(row.id), str(user.id)]:
        return None
    security.info("sign_on.sent", extra={"provider": str(row.id), "member": str(user.id)})
    return redirect("begin_sign_on", row.id)
