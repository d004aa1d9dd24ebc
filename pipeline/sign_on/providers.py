"""Set-up of a company's identity provider: its domains, groups, and whether it is required.

The operator sets up that of the site by `manage.py identity_provider`.
"""

from __future__ import annotations

import logging
import secrets
from contextlib import suppress
from datetime import timedelta
from urllib.parse import urlsplit
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from uuid_utils.compat import uuid7

from jobs import activity
from jobs.models import JobRole, Role
from pipeline.careers.domains import NameServersSilent, checked_domain, look_up
from pipeline.careers.pages import PageRefused
from pipeline.domain.errors import WebhookUrlRefused
from pipeline.models import GroupRole, IdentityProvider, SignOnDomain
from pipeline.outgoing.addresses import checked_webhook_url
from pipeline.outgoing.sealed import TAG_BYTES, SecretUnreadable
from pipeline.sign_on.provider import SEAL, ProviderFailed, discover
from tasks.context import Context
from tasks.registry import task_type
from tasks.scheduling import schedules

security = logging.getLogger("security")

LABEL, PREFIX = "_next-in-line-sign-on", "next-in-line-sign-on="
MOST_DOMAINS, MOST_GROUPS = 20, 200
PATIENCE = timedelta(days=7)  # with name servers that do not answer
TRIED_FOR = timedelta(hours=1)  # how long a successful trial lets an owner require sign-on

CHANGED = activity.declare(
    "sign_on.changed", activity.Group.TEAM, gettext_lazy("Changed single sign-on: %(name)s")
)
REMOVED = activity.declare(
    "sign_on.removed", activity.Group.TEAM, gettext_lazy("Removed single sign-on: %(name)s")
)
REQUIRED = activity.declare(
    "sign_on.required", activity.Group.TEAM, gettext_lazy("Required single sign-on of all members")
)
OPTIONAL = activity.declare(
    "sign_on.optional", activity.Group.TEAM, gettext_lazy("Made single sign-on optional")
)
DOMAIN_PROVED = activity.declare(
    "sign_on.domain_proved",
    activity.Group.TEAM,
    gettext_lazy("Proved the domain %(domain)s for single sign-on"),
)
GROUPS_CHANGED = activity.declare(
    "sign_on.groups_changed",
    activity.Group.TEAM,
    gettext_lazy("Changed what a group of single sign-on may do: %(group)s"),
)


class SetUpRefused(Exception):
    """Refusal of what was entered; `field` names where, the text says what to do."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(text)
        self.field = field


PROBLEMS = {
    "UNREACHABLE": gettext_lazy(
        "No answer from this address. Check it, and that it can be reached from the internet."
    ),
    "OTHER_ISSUER": gettext_lazy(
        "The provider calls itself by another address. Copy the issuer from its page exactly."
    ),
    "INCOMPLETE": gettext_lazy("The provider does not say where to sign in. Check the address."),
    "NO_PUBLIC_KEY_SIGNATURES": gettext_lazy(
        "The provider signs with no public key. Choose RS256 or ES256 there."
    ),
}


def read_provider(company_id: UUID) -> IdentityProvider | None:
    """Return a company's provider, in one query."""
    return IdentityProvider.objects.filter(company_id=company_id).first()


def checked_issuer(text: str, *, inside: bool = False) -> str:
    """Return an issuer as it can be asked. Raises SetUpRefused."""
    issuer = text.strip()
    refused = SetUpRefused("issuer", _("Enter an address like https://login.example.org."))
    parts = urlsplit(issuer)
    if parts.query or parts.fragment or not parts.netloc:
        raise refused
    if inside:
        if parts.scheme not in ("http", "https"):
            raise refused
        return issuer
    try:
        checked_webhook_url(issuer)
    except WebhookUrlRefused:
        raise refused from None
    return issuer


def save(
    *,
    company_id: UUID | None,
    by: UUID | None,
    name: str,
    issuer: str,
    client_id: str,
    secret: str,
    groups_claim: str = "groups",
    trusts_addresses: bool = False,
    inside: bool = False,
) -> IdentityProvider:
    """Set a provider up or change it, after it has answered. An empty secret stays as it is.

    Another issuer is another provider: who has signed in at the former one is forgotten. Raises
    SetUpRefused.
    """
    issuer = checked_issuer(issuer, inside=inside)
    before = IdentityProvider.objects.filter(company=company_id).first()
    if not secret and before is None:
        raise SetUpRefused("secret", _("Enter the client secret that the provider gave you."))
    try:
        discover(issuer, inside=inside)
    except ProviderFailed as failed:
        raise SetUpRefused("issuer", str(PROBLEMS.get(failed.why, failed.why))) from None
    with transaction.atomic():
        row = before or IdentityProvider(id=uuid7(), company_id=company_id)
        if before and (before.issuer, before.client_id) != (issuer, client_id):
            row.identities.all().delete()
            row.is_required, row.tried_at = False, None
        row.name, row.issuer, row.client_id = name, issuer, client_id
        row.groups_claim, row.trusts_addresses = groups_claim, trusts_addresses
        row.is_inside = inside
        if secret:
            row.secret = SEAL.close(secret, row.id)
        try:
            with transaction.atomic():
                row.save()
        except IntegrityError:
            raise SetUpRefused("", _("Somebody else has just set one up. Load the page.")) from None
        _note(CHANGED, row, by, name=name)
    return row


def remove(provider: IdentityProvider, *, by: UUID | None) -> None:
    """Remove a provider: members sign in with a code, a password or a passkey again."""
    _note(REMOVED, provider, by, name=provider.name)
    provider.delete()


def set_usual_role(provider: IdentityProvider, role: Role | None, *, by: UUID) -> None:
    """Set the role of those who are in no group that has one; None: they are not added."""
    IdentityProvider.objects.filter(id=provider.id).update(usual_role=role or "")
    _note(GROUPS_CHANGED, provider, by, group=_("everyone"))


@transaction.atomic
def set_group_role(
    provider: IdentityProvider,
    *,
    group: str,
    role: Role | None = None,
    job_id: UUID | None = None,
    job_role: JobRole | None = None,
    by: UUID,
) -> None:
    """Let a group give a role: for the whole company, or on a job. Raises SetUpRefused."""
    IdentityProvider.objects.select_for_update().get(id=provider.id)
    if provider.group_roles.count() >= MOST_GROUPS:
        raise SetUpRefused("group", _("At most %(most)s groups.") % {"most": MOST_GROUPS})
    GroupRole.objects.update_or_create(
        provider=provider,
        group=group,
        job_id=job_id,  # type: ignore[misc]
        defaults={"role": role or "", "job_role": job_role or ""},
    )
    _note(GROUPS_CHANGED, provider, by, group=group)


def remove_group_role(provider: IdentityProvider, group_role_id: int, *, by: UUID) -> None:
    """Remove what a group gives; it may be gone. Who has the role keeps it until they sign in."""
    for each in provider.group_roles.filter(id=group_role_id):
        _note(GROUPS_CHANGED, provider, by, group=each.group)
        each.delete()


def note_trial(provider: IdentityProvider) -> None:
    """Note that an owner has just signed in at the provider."""
    IdentityProvider.objects.filter(id=provider.id).update(tried_at=Now())


def set_required(provider: IdentityProvider, *, required: bool, by: UUID | None) -> None:
    """Require sign-on of members with an address at a proved domain, or make it optional.

    An owner can require it only soon after they have signed in there, so that nobody locks the
    company out; the operator at any time. Raises SetUpRefused.
    """
    tried = provider.tried_at
    is_tried = tried is not None and tried >= timezone.now() - TRIED_FOR
    if required and by is not None and not is_tried:
        raise SetUpRefused("", _("Try it first: sign in at the provider from this page."))
    if required and not provider.domains.filter(proved_at__isnull=False).exists():
        raise SetUpRefused("", _("Prove a domain first. Without one, it would bind nobody."))
    IdentityProvider.objects.filter(id=provider.id).update(is_required=required)
    _note(REQUIRED if required else OPTIONAL, provider, by)
    event = "sign_on.required" if required else "sign_on.optional"
    security.warning(event, extra={"provider": str(provider.id), "by": str(by)})


# Domains.


@transaction.atomic
def add_domain(provider: IdentityProvider, text: str) -> SignOnDomain:
    """Add a domain, to be proved. Raises SetUpRefused."""
    IdentityProvider.objects.select_for_update().get(id=provider.id)
    try:
        domain = checked_domain(text)
    except PageRefused:
        raise SetUpRefused(
            "domain", _("Enter a domain of your company, like example.org.")
        ) from None
    if provider.domains.count() >= MOST_DOMAINS:
        raise SetUpRefused("domain", _("At most %(most)s domains.") % {"most": MOST_DOMAINS})
    token = secrets.token_urlsafe(24)
    return provider.domains.get_or_create(domain=domain, defaults={"token": token})[0]


def trust_domain(provider: IdentityProvider, text: str) -> None:
    """Let a provider vouch for a domain by the operator's word. Raises SetUpRefused."""
    row = add_domain(provider, text)
    try:
        with transaction.atomic():
            SignOnDomain.objects.filter(id=row.id).update(
                token="", proved_at=Now(), checked_at=Now(), problem=""
            )
    except IntegrityError:
        raise SetUpRefused("domain", _("Another provider vouches for this domain.")) from None


def remove_domain(provider: IdentityProvider, domain_id: int) -> None:
    """Remove a domain; it may be gone."""
    provider.domains.filter(id=domain_id).delete()


def record_of(row: SignOnDomain) -> tuple[str, str]:
    """Return the name and the text of the record that proves a domain."""
    return f"{LABEL}.{row.domain}", f"{PREFIX}{row.token}"


def check_domain(row: SignOnDomain, *, by: UUID | None = None) -> None:
    """Look up the record of a domain and note the result. Takes LOOK_UP_SECONDS at most."""
    name, wanted = record_of(row)
    same = SignOnDomain.objects.filter(id=row.id, token=row.token)
    try:
        problem = "" if wanted in look_up(name) else "NO_RECORD"
    except NameServersSilent:
        problem = "NO_ANSWER"
    if not problem:
        with suppress(IntegrityError), transaction.atomic():
            same.update(proved_at=Now(), checked_at=Now(), problem="")
            if row.proved_at is None:
                _note(DOMAIN_PROVED, row.provider, by, domain=row.domain)
            return
        problem = "TAKEN"
    same.update(checked_at=Now(), problem=problem)
    lost = same.filter(proved_at__isnull=False)
    if problem == "NO_ANSWER":
        lost = lost.filter(proved_at__lte=Now() - PATIENCE)
    if lost.update(proved_at=None):
        about = {"provider": str(row.provider_id), "domain": row.domain, "why": problem}
        security.warning("sign_on.domain_lost", extra=about)


def reseal_secrets() -> int:
    """Seal again what an earlier SECRET_KEY has sealed; return how many."""
    count = 0
    for each in IdentityProvider.objects.select_for_update(no_key=True):
        if bytes(each.secret[:TAG_BYTES]) != SEAL.tag:
            with suppress(SecretUnreadable):
                sealed = SEAL.close(SEAL.open(each.secret, each.id), each.id)
                count += IdentityProvider.objects.filter(id=each.id).update(secret=sealed)
    return count


KEY = "sign_on.domains"
EVERY_HOUR = "23 * * * *"
PAUSE = timedelta(hours=20)


@task_type(key=KEY, owner="site", queue="upkeep", timeout_seconds=1_800, max_attempts=3, cap=1)
def recheck_domains(context: Context) -> dict[str, int]:
    """Look up the domains whose last check is a day old, the oldest first. Returns their number."""
    with transaction.atomic():
        reseal_secrets()
    proved = SignOnDomain.objects.filter(proved_at__isnull=False).exclude(token="")
    due = proved.filter(Q(checked_at=None) | Q(checked_at__lte=Now() - PAUSE))
    checked = 0
    for row in due.select_related("provider").order_by(F("checked_at").asc(nulls_first=True)):
        if context.cancelled:
            break
        check_domain(row)
        checked += 1
        context.progress(checked, checked, "domains looked up")
    return {"domains": checked}


def ensure_rechecks() -> None:
    """Create the schedule. Safe to call at every start and from many processes at once."""
    schedules.ensure("Domains of single sign-on", EVERY_HOUR, KEY)


def _note(
    kind: activity.Kind, provider: IdentityProvider, by: UUID | None, **about: object
) -> None:
    if provider.company_id:
        activity.note(kind, company_id=provider.company_id, by=by, about=about)
    ids = {"provider": str(provider.id), "company": str(provider.company_id), "by": str(by)}
    security.info("sign_on.changed", extra=ids | {"what": kind.code})
