"""Accounts of people from an identity provider, and what their groups let them do.

The provider of a company vouches for addresses at the company's proved domains, and for nothing
else. So it can sign in nobody whom the company could not have signed in with a code to such an
address.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from allauth.account.models import EmailAddress
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from applicants.addresses import ascii_domain, checked_address
from jobs import accounts, activity, team
from jobs.errors import LastOwner, MemberNotFound, TooManyOnJob
from jobs.models import Activity, JobMember, JobRole, Membership, Role, User
from pipeline.models import (
    GroupRole,
    IdentityProvider,
    ProvisionedGroup,
    ProvisionedUser,
    SignOnDomain,
    SignOnIdentity,
)
from pipeline.sign_on.provider import Claims

security = logging.getLogger("security")

RANKS = {role: rank for rank, role in enumerate(Role)}
JOB_RANKS = {role: rank for rank, role in enumerate(JobRole)}


class Refusal(StrEnum):
    """Reason why a person who signed in at the provider is not signed in here."""

    NO_ADDRESS = "NO_ADDRESS"
    UNVERIFIED = "UNVERIFIED"
    OTHER_DOMAIN = "OTHER_DOMAIN"
    OTHER_ACCOUNT = "OTHER_ACCOUNT"
    BACK_OFFICE = "BACK_OFFICE"
    INACTIVE = "INACTIVE"
    NO_ROLE = "NO_ROLE"
    NO_GROUPS = "NO_GROUPS"
    REMOVED = "REMOVED"


class SignOnRefused(Exception):
    """The person is not signed in; `why` is the reason."""

    def __init__(self, why: Refusal) -> None:
        super().__init__(why.value)
        self.why = why


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles that a person's groups give; None: none for the whole company."""

    role: Role | None
    jobs: dict[UUID, JobRole]

    def __bool__(self) -> bool:
        return self.role is not None or bool(self.jobs)


def roles_of(
    provider: IdentityProvider,
    signed: Collection[str] | None,
    provisioned: Collection[str] = (),
    *,
    is_owner: bool = False,
) -> Roles:
    """Return the roles that a person's groups give: of several, the greatest.

    `signed`: the groups that the provider has just named, None outside a sign-in. Those that it has
    `provisioned` make nobody an owner who is none yet: who has only its token could do that.
    """
    found = [(Role(provider.usual_role), signed is not None)] if provider.usual_role else []
    jobs: dict[UUID, JobRole] = {}
    for each in provider.group_roles.filter(group__in={*(signed or ()), *provisioned}):
        if each.job_id is None:
            found.append((Role(each.role), each.group in (signed or ())))
        else:
            on_job = JobRole(each.job_role)
            before = jobs.get(each.job_id, on_job)
            jobs[each.job_id] = max(before, on_job, key=JOB_RANKS.__getitem__)
    may_own = {True: Role.OWNER, False: Role.OWNER if is_owner else Role.RECRUITER}
    roles = [min(role, may_own[is_signed], key=RANKS.__getitem__) for role, is_signed in found]
    return Roles(max(roles, key=RANKS.__getitem__, default=None), jobs)


def provisioned_groups(provider: IdentityProvider, user: User) -> set[str]:
    """Return the names and ids of the groups in which a provider has provisioned an account."""
    groups = ProvisionedGroup.objects.filter(provider=provider, users__user=user)
    rows = groups.values_list("name", "external_id")
    return {each for row in rows for each in row if each}


def proved_address(provider: IdentityProvider, claims: Claims) -> str:
    """Return the address that a provider vouches for, as it is kept. Raises SignOnRefused."""
    try:
        address = checked_address(claims.email)
    except ValidationError:
        raise SignOnRefused(Refusal.NO_ADDRESS) from None
    if not claims.is_email_verified and not provider.trusts_addresses:
        raise SignOnRefused(Refusal.UNVERIFIED)
    if not vouches_for(provider, address):
        raise SignOnRefused(Refusal.OTHER_DOMAIN)
    return address


def vouches_for(provider: IdentityProvider, address: str) -> bool:
    """Tell whether an address is at a domain that is proved for the provider."""
    return provider.domains.filter(domain=_domain_of(address), proved_at__isnull=False).exists()


def _domain_of(address: str) -> str:
    """Return the domain of an address as domains are kept; empty if it is none."""
    try:
        return ascii_domain(address.rpartition("@")[2])
    except UnicodeError:
        return ""


def admit(provider: IdentityProvider, claims: Claims) -> User:
    """Return the account of a person who has signed in at a provider, with the roles they have now.

    The account is found by the subject of an earlier sign-in, or else by the address. A member
    whose groups give no role any more loses their access; if the provider speaks of no groups at
    all, they are only refused, because its set-up may be broken. Raises SignOnRefused.
    """
    with transaction.atomic():
        found = _admit(provider, claims)
    if isinstance(found, SignOnRefused):
        raise found
    return found


def _admit(provider: IdentityProvider, claims: Claims) -> User | SignOnRefused:
    """Return the account, or the refusal that keeps what was written. Raises SignOnRefused."""
    address = proved_address(provider, claims)
    known = provider.identities.select_related("user").filter(subject=claims.subject).first()
    if known:
        user = known.user
        if not vouches_for(provider, user.email):
            raise SignOnRefused(Refusal.OTHER_ACCOUNT)
    else:
        user = _find(provider, claims, address)
    check_account(provider, user)
    if provider.company_id:
        _check_provisioned(provider, user)
        _check_groups(provider, claims, user)
        if not give_roles(provider, user, claims.groups or (), by=user.id):
            return SignOnRefused(Refusal.NO_ROLE)
    elif not Membership.objects.filter(user=user).exists():
        raise SignOnRefused(Refusal.NO_ROLE)
    _note_identity(provider, claims, user, is_new=known is None)
    return user


def _find(provider: IdentityProvider, claims: Claims, address: str) -> User:
    user = User.objects.filter(email=address).first()
    if user is None:
        if provider.company_id is None or not roles_of(provider, claims.groups or ()):
            raise SignOnRefused(Refusal.NO_ROLE)
        user = accounts.find_or_create(address, None)
        if claims.name:
            with suppress(ValidationError):
                accounts.change_name(user_id=user.id, name=claims.name[:200])
    elif provider.identities.filter(user=user).exists():
        # Another subject with the same address: an address given to somebody else.
        raise SignOnRefused(Refusal.OTHER_ACCOUNT)
    return user


def sign_out(provider: IdentityProvider, subject: str) -> bool:
    """End every session of the person whom a provider knows by a subject; False: of nobody."""
    with transaction.atomic():
        known = provider.identities.filter(subject=subject).first()
        if known is None:
            return False
        accounts.end_sessions(known.user_id)
    security.info(
        "sign_on.signed_out", extra={"provider": str(provider.id), "member": str(known.user_id)}
    )
    return True


def check_account(provider: IdentityProvider, user: User) -> None:
    """Check that a provider may let an account in. Raises SignOnRefused."""
    if not user.is_active:
        raise SignOnRefused(Refusal.INACTIVE)
    # A company's own provider must not open the operator's back office.
    if provider.company_id and (user.is_staff or user.is_superuser):
        raise SignOnRefused(Refusal.BACK_OFFICE)


def _check_provisioned(provider: IdentityProvider, user: User) -> None:
    """Refuse somebody whom the provider has deactivated, also at this moment."""
    theirs = ProvisionedUser.objects.filter(provider=provider, user=user)
    row = theirs.select_for_update(of=("self",), no_key=True).first()
    if row is not None and not row.is_active:
        raise SignOnRefused(Refusal.INACTIVE)


def _check_groups(provider: IdentityProvider, claims: Claims, user: User) -> None:
    """Refuse a member of whose groups nothing is known, if only groups could let them in."""
    is_known = claims.groups is not None or not provider.group_roles.exists()
    if is_known or not Membership.objects.filter(company=provider.company, user=user).exists():
        return
    if not roles_of(provider, (), provisioned_groups(provider, user)):
        raise SignOnRefused(Refusal.NO_GROUPS)


def give_roles(
    provider: IdentityProvider, user: User, signed: Collection[str] | None, *, by: UUID
) -> bool:
    """Add a person to the team, or change the role to that of their groups.

    Someone whom an owner removed comes back only if an owner adds them. Where no group has a role,
    roles are given here, and stay as they are. Whose groups give no role loses their access, except
    for the last owner. Returns whether their groups let them in. Raises SignOnRefused.
    """
    company_id = provider.company_id
    assert company_id  # noqa: S101  the caller asks
    member = Membership.objects.filter(company_id=company_id, user=user).first()
    provisioned = provisioned_groups(provider, user)
    is_owner = member is not None and member.role == Role.OWNER
    roles = roles_of(provider, signed, provisioned, is_owner=is_owner)
    if member is None:
        if roles and _was_removed(company_id, user):
            raise SignOnRefused(Refusal.REMOVED)
        if roles:
            _add(company_id, user, roles, by=by)
        return bool(roles)
    if not provider.group_roles.exists():
        return True
    if roles:
        _change(member, roles, by=by)
    else:
        with suppress(LastOwner, MemberNotFound):
            team.end_access(company_id=company_id, membership_id=member.id, by=by)
    return bool(roles)


def _was_removed(company_id: UUID, user: User) -> bool:
    about = Activity.objects.filter(company_id=company_id, subject_id=user.id)
    last = about.filter(kind__in=(activity.MEMBER_ADDED.code, activity.MEMBER_REMOVED.code))
    newest = last.order_by("-id").values_list("kind", flat=True).first()
    return newest == activity.MEMBER_REMOVED.code


def _add(company_id: UUID, user: User, roles: Roles, *, by: UUID) -> None:
    member, _ = Membership.objects.get_or_create(
        company_id=company_id, user=user, defaults={"role": roles.role or ""}
    )
    security.info(
        "member.added",
        extra={"company": str(company_id), "member": str(user.id), "role": str(roles.role or "")},
    )
    about = {"role": roles.role or ""}
    team.note_member(activity.MEMBER_ADDED, member, by=by, about=about)
    _put_on_jobs(member, roles)


def _change(member: Membership, roles: Roles, *, by: UUID) -> None:
    company_id = member.company_id
    if member.role != (roles.role or ""):
        # The last owner stays one: nobody else could change what the groups mean.
        with suppress(LastOwner):
            team.change_role(company_id=company_id, membership_id=member.id, role=roles.role, by=by)
    # Jobs that no group is about keep the roles that were given here.
    governed = GroupRole.objects.filter(provider__company_id=company_id).values("job_id")
    held = JobMember.objects.filter(membership=member, job_id__in=governed)
    for job_id in held.exclude(job_id__in=roles.jobs).values_list("job_id", flat=True):
        team.take_job_role(company_id=company_id, job_id=job_id, membership_id=member.id, by=by)
    _put_on_jobs(member, roles)


def _put_on_jobs(member: Membership, roles: Roles) -> None:
    held = dict(JobMember.objects.filter(membership=member).values_list("job_id", "role"))
    for job_id, role in roles.jobs.items():
        if held.get(job_id) != role:
            with suppress(TooManyOnJob):
                team.put_on_job(member, job_id, role)


def _note_identity(provider: IdentityProvider, claims: Claims, user: User, *, is_new: bool) -> None:
    SignOnIdentity.objects.update_or_create(
        provider=provider,
        subject=claims.subject,
        defaults={"user": user, "used_at": Now()},
    )
    # The provider and the domain have proved the address; allauth asks for no proof of its own.
    EmailAddress.objects.update_or_create(
        user=user, email=user.email, defaults={"verified": True, "primary": True}
    )
    if is_new:
        about = {"provider": str(provider.id), "member": str(user.id)}
        security.info("sign_on.linked", extra=about)


# Sign-in by other means.


def provider_for(address: str) -> IdentityProvider | None:
    """Return the provider that vouches for an address, in one query.

    Of a company before that of the site.
    """
    found = SignOnDomain.objects.filter(domain=_domain_of(address), proved_at__isnull=False)
    row = found.select_related("provider__company").first()
    return row.provider if row else None


def required_provider(user: User) -> IdentityProvider | None:
    """Return the provider at which alone an account may sign in, or None.

    That is so for members whose address is at a domain of a company that requires it, and for those
    of the site, if the operator requires it. The back office has its own second step.
    """
    found = provider_for(user.email)
    if found is None or not found.is_required or user.is_staff:
        return None
    if found.company_id is None:
        return found
    belongs = Membership.objects.filter(company_id=found.company_id, user=user)
    return found if belongs.exists() else None


def affected_members(provider: IdentityProvider) -> tuple[int, list[str]]:
    """Return how many members could sign in at the provider only, and the addresses of the rest."""
    domains = provider.domains.filter(proved_at__isnull=False).values_list("domain", flat=True)
    ends = Q()
    for domain in domains:
        ends |= Q(user__email__endswith=f"@{domain}")
    theirs = Membership.objects.filter(company=provider.company_id)
    inside = theirs.filter(ends).count() if ends else 0
    others = theirs.exclude(ends) if ends else theirs
    return inside, list(others.order_by("user__email").values_list("user__email", flat=True))
