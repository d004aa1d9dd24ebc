"""Receivers of signals about staff accounts: allauth's addresses, and the security log."""

from __future__ import annotations

import logging
from typing import Any

from allauth.account import signals as account
from allauth.account.signals import password_reset
from allauth.mfa import signals as mfa
from django.contrib.auth import signals as auth
from django.db.models.signals import post_delete, post_save
from django.dispatch import Signal, receiver

from jobs import activity
from jobs.models import Membership, User
from jobs.pictures import remove_own_picture

security = logging.getLogger("security")


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


@receiver(post_delete, sender=Membership)
def forget_picture(instance: Membership, **_: Any) -> None:
    """Remove the picture of an account that has just left its last team."""
    if not Membership.objects.filter(user_id=instance.user_id).exists():
        remove_own_picture(user_id=instance.user_id)


@receiver(post_save, sender=User)
def forget_closed_picture(instance: User, created: bool, **_: Any) -> None:
    """Remove the picture of an account that is closed."""
    if not (created or instance.is_active):
        remove_own_picture(user_id=instance.id)


@receiver(password_reset)
def confirm_allauth_address(user: User, **_: Any) -> None:
    """Mark an account's only address as verified: the emailed link has proved it."""
    from allauth.account.models import EmailAddress

    addresses = list(EmailAddress.objects.filter(user=user))
    if len(addresses) == 1 and not addresses[0].verified:
        addresses[0].set_verified(commit=True)


@receiver(auth.user_logged_in, dispatch_uid="note_sign_in")
def note_sign_in(user: Any, **_: Any) -> None:
    """Note a sign-in for the owners of each company that the account may act for."""
    if isinstance(user, User):
        for company_id in Membership.objects.filter(user=user).values_list("company_id", flat=True):
            activity.note(activity.SIGNED_IN, company_id=company_id, by=user.id)


# Receivers that write staff sign-ins and account changes to the security log. They write only ids,
# because a typed address may belong to anyone.


# Events that need only the account's id.
_ACCOUNT: dict[Signal, str] = {
    auth.user_logged_in: "staff.signed_in",
    auth.user_logged_out: "staff.signed_out",
    account.password_set: "password.set",
    account.password_changed: "password.changed",
    account.password_reset: "password.reset",
    account.email_changed: "address.changed",
}
_STEP: dict[Signal, str] = {
    mfa.authenticator_added: "second_step.added",
    mfa.authenticator_removed: "second_step.removed",
    mfa.authenticator_reset: "second_step.reset",
    mfa.authenticator_used: "second_step.used",
}


def event_writer(event: str) -> Any:
    """Return a receiver that writes the event with the account's id."""

    def write_security_line(user: User | None = None, **facts: Any) -> None:
        step = facts.get("authenticator")
        kind = {"kind": str(step.type)} if step is not None else {}
        if user is not None:
            security.info(event, extra={"member": str(user.pk)} | kind)

    return write_security_line


for _signal, _event in (_ACCOUNT | _STEP).items():
    _signal.connect(event_writer(_event), weak=False, dispatch_uid=f"security.{_event}")


@receiver(auth.user_login_failed, dispatch_uid="security.password_refused")
def note_refused_password(credentials: dict[str, Any], **_: Any) -> None:
    """Log a failed sign-in, with the account's id if the address has an account."""
    email = str(credentials.get("email") or credentials.get("username") or "").strip().lower()
    found = User.objects.filter(email=email).values_list("id", flat=True).first()
    security.warning("staff.password_refused", extra={"member": str(found or "unknown")})


@receiver(account.login_code_rejected, dispatch_uid="security.code_refused")
def note_refused_code(user: User, **_: Any) -> None:
    """Log a wrong emailed code."""
    security.warning("staff.code_refused", extra={"member": str(user.pk)})


@receiver(mfa.authentication_failed, dispatch_uid="security.second_step_refused")
def note_refused_second_step(user: User, authenticator: Any, **_: Any) -> None:
    """Log a wrong code from an authenticator app, or a wrong recovery code."""
    facts = {"member": str(user.pk), "kind": str(authenticator.type)}
    security.warning("second_step.refused", extra=facts)
