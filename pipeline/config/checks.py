"""System checks of the settings: sites exposed by accident, and emails that go nowhere."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from applicants.mail import NOWHERE
from pipeline.config import catalogues

_HINT = "Set DATABASE_URL, and EMAIL_URL or EMAIL_BACKEND."


@register(Tags.security)
def warn_public_site(**_: Any) -> list[CheckMessage]:
    """Warn at every start if the site looks public but DATABASE_URL is not set."""
    if settings.EMBEDDED_POSTGRES is None or not is_public_site():
        return []
    text = "SITE_URL or ALLOWED_HOSTS name a public site, but DATABASE_URL is not set."
    what = " So it runs as a site for one machine: its database is embedded, its cookies are not"
    what += " secure and its emails, with their sign-in codes, are kept on this machine."
    return [Warning(text + what, hint=_HINT, id="pipeline.W001")]


@register(Tags.security, deploy=True)
def refuse_development_features(**_: Any) -> list[CheckMessage]:
    """Fail if a deployed site would use features meant for one machine only."""
    found: list[CheckMessage] = []
    if settings.EMBEDDED_POSTGRES is not None:
        found.append(Error("The embedded database would be used.", hint=_HINT, id="pipeline.E001"))
    if settings.DEV_MAIL:
        text = "Emails, with their sign-in codes, would be kept on this machine."
        found.append(Error(text, hint=_HINT, id="pipeline.E002"))
    if not is_public_site():
        hint = "Set SITE_URL to the public address, which links in emails use."
        found.append(Error("SITE_URL names this machine only.", hint=hint, id="pipeline.E003"))
    return found


def is_public_site() -> bool:
    """Tell whether SITE_URL or ALLOWED_HOSTS name more than this machine."""
    names = [urlsplit(settings.SITE_URL).hostname or "", *settings.ALLOWED_HOSTS]
    return not all(_is_loopback_site_name(name.strip("[]")) for name in names)


def _is_loopback_site_name(name: str) -> bool:
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


@register("environment")
def warn_uncompiled_catalogues(**_: Any) -> list[CheckMessage]:
    """Warn if languages are shown in English, because their catalogues cannot be compiled."""
    names = ", ".join(catalogues.find_stale(settings.LOCALE_PATHS[0]))
    if not names:
        return []
    hint = "Start the site once as a user who may write to the folder, before it is deployed."
    text = f"The catalogues in {settings.LOCALE_PATHS[0]} are not compiled: {names}."
    return [Warning(text, hint=hint, id="pipeline.W002")]


@register("environment")
def warn_discarded_emails(**_: Any) -> list[CheckMessage]:
    """Warn if emails are discarded, because no applicant can then sign in."""
    if settings.EMAIL_BACKEND != NOWHERE:
        return []
    hint = "Set EMAIL_URL, for example to smtp+tls://user:password@mail.example.com:587"
    return [Warning("No email is sent: applicants get no codes.", hint=hint, id="applicants.W001")]
