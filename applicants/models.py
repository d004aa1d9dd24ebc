"""People who apply, their tokens, their sign-in codes, and emails that nobody else may read."""

from __future__ import annotations

from uuid import uuid4

from django.db import models
from uuid_utils.compat import uuid7

NAME_LENGTH = 200
EMAIL_LENGTH = 254

# The prefix that replaces an erased person's address, followed by their id. It is not an address:
# nothing can be sent to it, and nobody can prove it.
ERASED = "erased:"
ERASED_NAME = "Erased person"


class Applicant(models.Model):
    """Person, known by their address. No password.

    The id is random: an id in the order of time would show each company since when others know
    them. The name here is seen only by the person; the name given to a company is kept with each
    application.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    email = models.CharField(max_length=EMAIL_LENGTH, unique=True)
    name = models.CharField(max_length=NAME_LENGTH, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    # The time zone of their browser, for times in emails; empty while it is not known.
    time_zone = models.CharField(max_length=64, blank=True, default="", db_default="")
    # If they want to be reminded of a deadline before it passes.
    reminders = models.BooleanField(default=True, db_default=True)

    def __str__(self) -> str:
        return str(self.id)

    @property
    def is_erased(self) -> bool:
        """Tell if the person is erased."""
        return self.email.startswith(ERASED)


class ApplicantToken(models.Model):
    """Proof of an address, for the API. Only its hash is kept."""

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
    """Last code to an address that one requester asked for, and the number of recent ones.

    It holds no address, requester or code, only keyed hashes of them: an address that is never
    proved leaves nothing behind that shows it. `request` is address and requester together,
    `network` address and network.
    """

    request = models.BinaryField(primary_key=True, max_length=32)
    address = models.BinaryField(max_length=32)
    network = models.BinaryField(max_length=32)
    digest = models.BinaryField(max_length=32)
    tries_left = models.SmallIntegerField()
    expires_at = models.DateTimeField()
    sent = models.SmallIntegerField()
    # `sent` counts the codes of one window; this is its end.
    counted_until = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index("counted_until", name="code_expiry"),
            models.Index("address", name="code_address"),
        ]

    def __str__(self) -> str:
        return f"a code with {self.tries_left} tries left"


class PrivateEmail(models.Model):
    """Email with a secret in it, on its way to the mail server; the row goes with the sending.

    `sealed` is encrypted with a key made of SECRET_KEY, `address` is a keyed hash.
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
