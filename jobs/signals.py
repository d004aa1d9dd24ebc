"""What follows from writing this package's rows."""

from __future__ import annotations

from typing import Any

from allauth.account.signals import password_reset
from django.db.models.signals import post_save
from django.dispatch import receiver

from jobs.models import User


@receiver(post_save, sender=User)
def know_the_address(instance: User, created: bool, **_: Any) -> None:
    """Enter a new account's address where allauth looks for it.

    Whoever gives an account its first password, the operator, vouches for its address. An account
    without one is opened by a mail to the address, which proves it.
    """
    from allauth.account.models import EmailAddress  # its models are not loaded before ours

    if created:
        EmailAddress.objects.create(
            user=instance,
            email=instance.email,
            primary=True,
            verified=instance.has_usable_password(),
        )


@receiver(password_reset)
def take_the_link_as_proof(user: User, **_: Any) -> None:
    """Who has chosen a password by the link of a mail has proved the account's only address."""
    from allauth.account.models import EmailAddress

    addresses = list(EmailAddress.objects.filter(user=user))
    if len(addresses) == 1 and not addresses[0].verified:
        addresses[0].set_verified(commit=True)
