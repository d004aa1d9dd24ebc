"""Provisioning: the tokens, people and groups of an identity provider, by SCIM."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now
from uuid_utils.compat import uuid7

from jobs.models import User
from pipeline.models.review import EXTERNAL_ID_LENGTH
from pipeline.models.sign_on import GROUP_LENGTH, IdentityProvider

USER_NAME_LENGTH = 254


class ProvisioningToken(models.Model):
    """Token with which an identity provider provisions its company's members, and nothing else.

    Only its hash is stored; the token itself is shown once.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    provider = models.ForeignKey(IdentityProvider, models.CASCADE, related_name="tokens")
    hint = models.CharField(max_length=20)
    digest = models.BinaryField(max_length=32, unique=True)
    created_at = models.DateTimeField(db_default=Now())
    # The owner who made it; null: the operator, or an account that is gone.
    made_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+", db_index=False)
    # Accurate to a minute: not every use is recorded.
    last_used_at = models.DateTimeField(null=True)
    # Null: valid until it is ended, or another takes its place.
    ends_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.hint}…"


class ProvisionedUser(models.Model):
    """Person as an identity provider tells of them. Whether they are a member, their groups say."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    provider = models.ForeignKey(IdentityProvider, models.CASCADE, related_name="users")
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    user_name = models.CharField(max_length=USER_NAME_LENGTH)
    external_id = models.CharField(max_length=EXTERNAL_ID_LENGTH, blank=True, default="")
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(db_default=Now())
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint("provider", Lower("user_name"), name="one_person_of_user_name"),
            models.UniqueConstraint("provider", "user", name="one_person_of_account"),
            models.UniqueConstraint(
                "provider",
                "external_id",
                condition=~Q(external_id=""),
                name="one_person_of_external_id",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class ProvisionedGroup(models.Model):
    """Group as an identity provider tells of it. `GroupRole` says what it gives."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    provider = models.ForeignKey(IdentityProvider, models.CASCADE, related_name="groups")
    name = models.CharField(max_length=GROUP_LENGTH)
    external_id = models.CharField(max_length=EXTERNAL_ID_LENGTH, blank=True, default="")
    created_at = models.DateTimeField(db_default=Now())
    changed_at = models.DateTimeField(db_default=Now())
    users: models.ManyToManyField[ProvisionedUser, models.Model] = models.ManyToManyField(
        ProvisionedUser, related_name="groups"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint("provider", Lower("name"), name="one_group_of_name"),
        ]

    def __str__(self) -> str:
        return self.name
