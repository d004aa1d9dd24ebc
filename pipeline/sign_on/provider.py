"""The conversation with an identity provider: OpenID Connect Core 1.0, spoken by Authlib.

Authlib makes and checks state, nonce, PKCE and the tokens' signatures. What is checked here beyond
that: the issuer is the one that was set up and the only one who may answer (RFC 9207), its
addresses are HTTPS, and its algorithms are public-key ones.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import requests
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.django_client import DjangoIntegration, DjangoOAuth2App
from authlib.integrations.requests_client import OAuth2Session
from django.conf import settings
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry
from joserfc.jwt import JWTClaimsRegistry

from pipeline.models import SUBJECT_LENGTH, IdentityProvider
from pipeline.outgoing.sealed import Seal, SecretUnreadable
from pipeline.outgoing.session import guard

SEAL = Seal("identity provider secrets")
SCOPE = "openid email profile"
DISCOVERY = "/.well-known/openid-configuration"
# Of JWS: with a public key. HMAC would make every holder of the client's secret an issuer.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
LEEWAY_SECONDS = 60
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
LOGOUT_SECONDS = 180  # the age up to which a logout token counts, so that an old one does nothing
NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")
MOST_GROUPS, LONGEST_CLAIM = 1_000, 300


class ProviderFailed(Exception):
    """The provider does not answer, or not as the standard says; `why` is a name of the reason."""

    def __init__(self, why: str, detail: str = "") -> None:
        super().__init__(f"{why}: {detail}" if detail else why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Claims:
    """Claims of a provider about a person who has just signed in there.

    `groups` is None where the provider does not speak of groups at all.
    """

    subject: str
    email: str
    is_email_verified: bool
    name: str
    groups: frozenset[str] | None


def callback_url(provider: IdentityProvider) -> str:
    """Return the address to which the provider sends people back."""
    return settings.SITE_URL + reverse("sign_on_callback", args=[provider.id])


def logout_url(provider: IdentityProvider) -> str:
    """Return the address at which the provider says that a person has signed out."""
    return settings.SITE_URL + reverse("sign_on_logout", args=[provider.id])


def discover(issuer: str, *, inside: bool = False) -> dict[str, Any]:
    """Read and check the discovery document of an issuer. Raises ProviderFailed."""
    with requests.Session() as session:
        guard(session, inside=inside)
        try:
            response = session.get(issuer.rstrip("/") + DISCOVERY)
            response.raise_for_status()
            found = response.json()
        except (requests.RequestException, ValueError) as error:
            raise ProviderFailed("UNREACHABLE", type(error).__name__) from None
    return _checked(found, issuer, inside=inside)


def _checked(found: Any, issuer: str, *, inside: bool) -> dict[str, Any]:
    if not isinstance(found, dict) or found.get("issuer") != issuer:
        said = str(found.get("issuer", ""))[:100] if isinstance(found, dict) else ""
        raise ProviderFailed("OTHER_ISSUER", said)
    schemes = ("https", "http") if inside or settings.WEBHOOK_ALLOW_PRIVATE else ("https",)
    for name in NEEDED:
        if urlsplit(str(found.get(name, ""))).scheme not in schemes:
            raise ProviderFailed("INCOMPLETE", name)
    offered = found.get("id_token_signing_alg_values_supported") or ["RS256"]
    algorithms = [each for each in ALGORITHMS if each in offered]
    if not algorithms:
        raise ProviderFailed("NO_PUBLIC_KEY_SIGNATURES")
    return found | {"id_token_signing_alg_values_supported": algorithms}


def begin(
    request: HttpRequest, provider: IdentityProvider, *, login_hint: str = ""
) -> HttpResponseRedirect:
    """Send the browser to the provider. Raises ProviderFailed."""
    more = {"login_hint": login_hint} if login_hint else {}
    try:
        return _client(provider).authorize_redirect(request, callback_url(provider), **more)
    except (requests.RequestException, AuthlibBaseError, RuntimeError, ValueError) as error:
        raise ProviderFailed("UNREACHABLE", type(error).__name__) from None


def finish(request: HttpRequest, provider: IdentityProvider) -> Claims:
    """Return what the provider says of the person who comes back. Raises ProviderFailed.

    The state is used up, whatever comes of it.
    """
    client = _client(provider)
    if request.GET.get("error"):
        client.framework.clear_state_data(request.session, request.GET.get("state"))
        cancelled = request.GET["error"] in ("access_denied", "user_cancelled_login")
        raise ProviderFailed("CANCELLED" if cancelled else "REFUSED", request.GET["error"][:60])
    answered = request.GET.get("iss")
    if answered is not None and answered != provider.issuer:
        raise ProviderFailed("OTHER_ISSUER", answered[:100])
    options = {"iss": {"essential": True, "value": provider.issuer}}
    try:
        token = client.authorize_access_token(
            request, claims_options=options, leeway=LEEWAY_SECONDS
        )
        said = dict(token.get("userinfo") or {})
        if not said:
            raise ProviderFailed("NO_ID_TOKEN")
        said = _with_userinfo(client, token, said)
    except (requests.RequestException, AuthlibBaseError, JoseError) as error:
        raise ProviderFailed("BAD_ANSWER", type(error).__name__) from None
    except (RuntimeError, ValueError, KeyError, TypeError) as error:
        raise ProviderFailed("BAD_ANSWER", type(error).__name__) from None
    return _read_claims(provider, said)


def _with_userinfo(
    client: DjangoOAuth2App, token: Mapping[str, Any], said: dict[str, Any]
) -> dict[str, Any]:
    """Add what only the userinfo endpoint says; it must be about the same person."""
    if "userinfo_endpoint" not in client.server_metadata:
        return said
    more = dict(client.userinfo(token=token))
    if not constant_time_compare(str(more.get("sub", "")), str(said.get("sub", ""))):
        raise ProviderFailed("OTHER_SUBJECT")
    return more | said


def _read_claims(provider: IdentityProvider, said: Mapping[str, Any]) -> Claims:
    subject = said.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= SUBJECT_LENGTH:
        raise ProviderFailed("NO_SUBJECT")
    groups = said.get(provider.groups_claim) if provider.groups_claim else None
    elsewhere = said.get("_claim_names")
    if groups is None and isinstance(elsewhere, dict) and provider.groups_claim in elsewhere:
        # So does Entra beyond 200 groups (OpenID Connect Core 1.0, section 5.6.2). That they are
        # left out must take no role away.
        raise ProviderFailed("TOO_MANY_GROUPS")
    groups = [groups] if isinstance(groups, str) else groups
    named = [str(each) for each in groups][:MOST_GROUPS] if isinstance(groups, list) else None
    # Entra names no `email_verified`, and its own boolean for domains that it has verified.
    verified = said.get("email_verified", said.get("xms_edov"))
    return Claims(
        subject=subject,
        email=str(said.get("email") or "")[:LONGEST_CLAIM],
        is_email_verified=verified in (True, "true", "1", 1),
        name=str(said.get("name") or "")[:LONGEST_CLAIM],
        groups=None if named is None else frozenset(named),
    )


def read_logout(provider: IdentityProvider, token: str) -> str:
    """Return the subject whom a provider signs out everywhere. Raises ProviderFailed.

    A logout token of OpenID Connect Back-Channel Logout 1.0 (section 2.6). One that names a session
    only is refused: our set-up page asks for none.
    """
    client = _client(provider)
    try:
        keys = KeySet.import_key_set(client.fetch_jwk_set(force=True))
        # Header fields of a provider's own are no fault.
        registry = JWSRegistry(algorithms=list(ALGORITHMS), strict_check_header=False)
        claims = jwt.decode(token, keys, registry=registry).claims
        JWTClaimsRegistry(
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": provider.issuer},
            aud={"essential": True, "value": provider.client_id},
            iat={"essential": True},
            jti={"essential": True},
            sub={"essential": True},
        ).validate(claims)
    except (requests.RequestException, AuthlibBaseError, JoseError) as error:
        raise ProviderFailed("BAD_LOGOUT", type(error).__name__) from None
    except (RuntimeError, ValueError, KeyError, TypeError) as error:
        raise ProviderFailed("BAD_LOGOUT", type(error).__name__) from None
    events = claims.get("events")
    is_logout = isinstance(events, dict) and isinstance(events.get(LOGOUT_EVENT), dict)
    # With a nonce it would be an ID token, which others may hold.
    if not is_logout or "nonce" in claims or time.time() - claims["iat"] > LOGOUT_SECONDS:
        raise ProviderFailed("BAD_LOGOUT", "not a logout token of this minute")
    return str(claims["sub"])


def sign_out_url(provider: IdentityProvider) -> str | None:
    """Return the address that ends the session at a provider, if it has one."""
    back = settings.SITE_URL + reverse("account_login")
    try:
        made = _client(provider).create_logout_url(back, client_id=provider.client_id)
    except (ProviderFailed, RuntimeError):
        return None
    return str(made["url"])


def _client(provider: IdentityProvider) -> DjangoOAuth2App:
    inside = provider.is_inside

    class Session(OAuth2Session):
        """A session that connects to checked addresses only."""

        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            guard(self, inside=inside)

    class Client(DjangoOAuth2App):
        client_cls = Session

    try:
        secret = SEAL.open(provider.secret, provider.id)
    except SecretUnreadable:
        raise ProviderFailed("SECRET_UNREADABLE") from None
    client = Client(
        DjangoIntegration(str(provider.id)),
        client_id=provider.client_id,
        client_secret=secret,
        client_kwargs={"scope": SCOPE, "code_challenge_method": "S256"},
    )
    client.server_metadata = discover(provider.issuer, inside=inside) | {"_loaded_at": 0}
    return client
