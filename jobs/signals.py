"""Receivers that keep allauth's email addresses in step with staff accounts."""

from __future__ import annotations

from typing import Any

from allauth.account.signals import password_reset
from django.db.models.signals import post_save
from django.dispatch import receiver

from jobs.models import User


@receiver(post_save, sender=User)
def add_allauth_address(instance: User, created: bool, **_: Any) -> None:
    """Add a new account's address to allauth's table.

    An account with a password counts as verified: the operator who set the password vouches for the
    address. An account without one is opened by an emailed code, which proves the address.
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
def confirm_allauth_address(user: User, **_: Any) -> None:
    """Mark an account's only address as verified: the emailed link has proved it."""
    from allauth.account.models import EmailAddress

    addresses = list(EmailAddress.objects.filter(user=user))
    if len(addresses) == 1 and not addresses[0].verified:
        addresses[0].set_verified(commit=True)
