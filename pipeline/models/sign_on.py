"""Single sign-on: a company's identity provider, its proved domains, roles by group, and people."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from jobs.models import Company, Job, JobRole, Role, User
from pipeline.models.careers import DOMAIN_LENGTH

PROVIDER_NAME_LENGTH = 60
ISSUER_LENGTH = 500
CLIENT_ID_LENGTH = 300
CLIENT_SECRET_LENGTH = 1_000
CLAIM_LENGTH, GROUP_LENGTH = 60, 200
SUBJECT_LENGTH = 255  # OpenID Connect Core 1.0, section 2


class IdentityProvider(models.Model):
    """Identity provider that signs members of a company in, by OpenID Connect.

    `company` is null for the provider of the whole site, which only the operator sets up. It
    signs existing accounts in and gives nobody a role.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.OneToOneField(
        Company, models.CASCADE, null=True, related_name="identity_provider"
    )
    name = models.CharField(max_length=PROVIDER_NAME_LENGTH)
    # As the provider's own discovery document writes it.
    issuer = models.CharField(max_length=ISSUER_LENGTH)
    client_id = models.CharField(max_length=CLIENT_ID_LENGTH)
    secret = models.BinaryField()  # sealed; see pipeline.outgoing.sealed
    # The claim with a person's groups, and the role of those who are in none that has one. Empty:
    # they are not added.
    groups_claim = models.CharField(max_length=CLAIM_LENGTH, blank=True, default="groups")
    usual_role = models.CharField(max_length=10, blank=True, default="", choices=Role)
    # Some providers never say that an address is verified, although it is theirs.
    trusts_addresses = models.BooleanField(default=False, db_default=False)
    # Members with an address at a proved domain can sign in here only.
    is_required = models.BooleanField(default=False, db_default=False)
    # Set by the operator alone: the provider is inside their own network.
    is_inside = models.BooleanField(default=False, db_default=False)
    # When an owner last signed in here to try it; needed before it can be required.
    tried_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                models.Value(1), condition=Q(company__isnull=True), name="one_provider_of_the_site"
            ),
            models.CheckConstraint(
                condition=Q(company__isnull=False) | Q(usual_role=""),
                name="site_provider_gives_no_role",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class SignOnDomain(models.Model):
    """Domain whose email addresses a provider may vouch for, once it is proved.

    Of a company by a TXT record, looked up every day; of the site by the operator's word.
    """

    provider = models.ForeignKey(IdentityProvider, models.CASCADE, related_name="domains")
    domain = models.CharField(max_length=DOMAIN_LENGTH)
    token = models.CharField(max_length=40, blank=True)
    proved_at = models.DateTimeField(null=True)
    checked_at = models.DateTimeField(null=True)
    problem = models.CharField(max_length=20, blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint("provider", "domain", name="sign_on_domain_once"),
            models.UniqueConstraint(
                "domain", condition=Q(proved_at__isnull=False), name="one_provider_per_domain"
            ),
        ]

    def __str__(self) -> str:
        return self.domain


class GroupRole(models.Model):
    """Role that a group at the provider gives: for the whole company, or on one job."""

    provider = models.ForeignKey(IdentityProvider, models.CASCADE, related_name="group_roles")
    group = models.CharField(max_length=GROUP_LENGTH)
    role = models.CharField(max_length=10, blank=True, default="", choices=Role)
    job = models.ForeignKey(Job, models.CASCADE, null=True, related_name="+")
    job_role = models.CharField(max_length=14, blank=True, default="", choices=JobRole)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "provider", "group", "job", nulls_distinct=False, name="one_role_of_group"
            ),
            models.CheckConstraint(
                condition=Q(job__isnull=True, job_role="") & ~Q(role="")
                | Q(job__isnull=False, role="") & ~Q(job_role=""),
                name="group_role_whole",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.group}: {self.role or self.job_role}"


class SignOnIdentity(models.Model):
    """Staff account as a provider knows it, by the subject of its tokens."""

    provider = models.ForeignKey(IdentityProvider, models.CASCADE, related_name="identities")
    subject = models.CharField(max_length=SUBJECT_LENGTH)
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    linked_at = models.DateTimeField(db_default=Now())
    used_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint("provider", "subject", name="one_account_of_subject"),
            models.UniqueConstraint("provider", "user", name="one_subject_of_account"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} at {self.provider_id}"
