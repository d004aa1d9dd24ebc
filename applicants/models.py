"""People who apply, their tokens and sign-in codes, private emails, and devices of any person."""

from __future__ import annotations

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from applicants.addresses import EMAIL_LENGTH

NAME_LENGTH = 200

# Prefix, followed by an id, that replaces an erased person's address. The result is not an address:
# nothing can be sent to it, and nobody can prove it.
ERASED = "erased:"
ERASED_NAME = "Erased person"


class Applicant(models.Model):
    """Person identified by their email address, without a password.

    The id is random: a time-ordered id would show each company how long others have known the
    person. Only the person sees the name here; each application keeps the name given to its
    company.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    email = models.CharField(max_length=EMAIL_LENGTH, unique=True)
    name = models.CharField(max_length=NAME_LENGTH, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    # Time zone of their browser, for times in emails; empty while unknown.
    time_zone = models.CharField(max_length=64, blank=True, default="", db_default="")
    # In which they last used the site, for emails; empty while unknown.
    language = models.CharField(max_length=16, blank=True, default="", db_default="")
    # Chosen by themselves: for emails, and for pages after each sign-in; empty without a choice.
    chosen_language = models.CharField(max_length=16, blank=True, default="", db_default="")
    # Whether they want reminders before a deadline.
    reminders = models.BooleanField(default=True, db_default=True)

    def __str__(self) -> str:
        return str(self.id)

    @property
    def is_erased(self) -> bool:
        """Tell whether the person was erased."""
        return self.email.startswith(ERASED)

    @property
    def languages(self) -> tuple[str, str]:
        """Return the languages of their emails: the chosen one, then the last used."""
        return self.chosen_language, self.language


class ApplicantToken(models.Model):
    """Token that proves an address to the API. Only its hash is stored."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    applicant = models.ForeignKey(Applicant, models.CASCADE, related_name="tokens")
    digest = models.BinaryField(max_length=32, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index("expires_at", name="token_expiry")]

    def __str__(self) -> str:
        return str(self.id)


class SignInCode(models.Model):
    """Latest code that a requester asked for at an address, and the number of recent codes.

    It holds only keyed hashes of the address, requester and code, so an address that is never
    proved cannot be recovered from it. `request` hashes address and requester, `network` address
    and network.
    """

    request = models.BinaryField(primary_key=True, max_length=32)
    address = models.BinaryField(max_length=32)
    network = models.BinaryField(max_length=32)
    digest = models.BinaryField(max_length=32)
    tries_left = models.SmallIntegerField()
    expires_at = models.DateTimeField()
    sent = models.SmallIntegerField()
    # End of the window whose codes `sent` counts.
    counted_until = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index("counted_until", name="code_expiry"),
            models.Index("address", name="code_address"),
        ]

    def __str__(self) -> str:
        return f"a code with {self.tries_left} tries left"


class PrivateEmail(models.Model):
    """Email that contains a secret. The row is deleted once the mail server has accepted it.

    `sealed` is encrypted with a key derived from SECRET_KEY; `address` is a keyed hash.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    sealed = models.BinaryField()
    address = models.BinaryField(max_length=32)
    expires_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index("expires_at", name="private_email_expiry"),
            models.Index("address", name="private_email_address"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Device(models.Model):
    """Browser in which an applicant or a member wants notifications, as known to its push service.

    A browser is signed in as one of them, and shows notifications to that one: `applicant`, or the
    account `user` of a company's member. `endpoint` is the secret address at the push service,
    `digest` its SHA-256. `public_key` and `secret` encrypt messages to the browser. `site_key` is
    the id of the site's key at the time: the push service accepts messages only under that key.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    applicant = models.ForeignKey(Applicant, models.CASCADE, null=True, related_name="devices")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        db_index=False,  # `device_user`, without the many devices of applicants
        related_name="devices",
    )
    digest = models.BinaryField(max_length=32, unique=True)
    endpoint = models.CharField(max_length=1_000)
    public_key = models.BinaryField(max_length=65)
    secret = models.BinaryField(max_length=16)
    site_key = models.CharField(max_length=16)
    name = models.CharField(max_length=60)
    created_at = models.DateTimeField(auto_now_add=True)
    notified_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="device_of_one_person",
                condition=Q(applicant=None, user__isnull=False)
                | Q(applicant__isnull=False, user=None),
            ),
        ]
        indexes = [
            models.Index(fields=["user"], name="device_user", condition=Q(user__isnull=False)),
        ]

    def __str__(self) -> str:
        return str(self.id)


class DeviceNotice(models.Model):
    """Notification to one device, which is sent at most once.

    The id is derived from the device and the reason. The state is SENDING before the push service
    is asked: if the process dies then, nobody knows what has arrived, so it is not sent again.
    """

    class State(models.TextChoices):
        """State of a notification. A definite "not now" of the push service returns it."""

        WAITING = "WAITING"
        SENDING = "SENDING"
        SENT = "SENT"
        FAILED = "FAILED"

    id = models.UUIDField(primary_key=True, editable=False)
    device = models.ForeignKey(Device, models.CASCADE, related_name="notices")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index("at", name="device_notice_at")]

    def __str__(self) -> str:
        return f"{self.id} {self.state}"
