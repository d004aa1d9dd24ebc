"""Staff accounts: found or created by address, and their first passwords."""

from __future__ import annotations

from uuid import UUID

from allauth.account.models import EmailAddress
from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from applicants.addresses import checked_address, normal_address
from jobs.errors import AddressTaken, BadPassword
from jobs.models import User

# Types of allauth's authenticators that count as a second step (recovery codes do not).
SECOND_STEPS = ("totp", "webauthn")


@transaction.atomic
def set_first_password(*, user_id: UUID, password: str) -> None:
    """Set the first password of an account; the caller vouches for its address.

    An existing password is kept. Raises BadPassword.
    """
    user = User.objects.get(id=user_id)
    if not user.has_usable_password():
        _check_password(password, user)
        user.set_password(password)
        user.save(update_fields=["password"])
        EmailAddress.objects.update_or_create(
            user=user, email=user.email, defaults={"verified": True, "primary": True}
        )


def is_staff_address(email: str) -> bool:
    """Tell if an address, in any spelling, has a staff account."""
    return User.objects.filter(email=normal_address(email)).exists()


def find_or_create(email: str, password: str | None) -> User:
    """Return the account of an address, created if it is new, also if two callers do so at once.

    Raises BadPassword, and ValidationError for a bad address.
    """
    email = checked_address(email)
    if user := User.objects.filter(email=email).first():
        return user
    if password is not None:
        _check_password(password, User(email=email))
    hashed = {"password": make_password(password)}
    return User.objects.get_or_create(email=email, defaults=hashed)[0]


def change_name(*, user_id: UUID, name: str) -> None:
    """Change the name that colleagues see; empty for the address alone."""
    User.objects.filter(id=user_id).update(name=name)


def _check_password(password: str, user: User) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise BadPassword(*error.messages) from None


def has_second_step(user_id: UUID) -> bool:
    """Tell whether an account has a passkey or an authenticator app, in one query."""
    from allauth.mfa.models import Authenticator  # its models are not loaded before ours

    return Authenticator.objects.filter(user_id=user_id, type__in=SECOND_STEPS).exists()


def end_sessions(user_id: UUID) -> None:
    """Sign an account out in every browser, in the caller's transaction."""
    from allauth.usersessions.models import UserSession  # its models are not loaded before ours

    for session in UserSession.objects.filter(user_id=user_id):
        session.end()


@transaction.atomic
def change_address(*, user_id: UUID, email: str) -> None:
    """Give an account another address; the caller vouches for it.

    Raises AddressTaken, and ValidationError for a bad address.
    """
    email = checked_address(email)
    try:
        with transaction.atomic():
            User.objects.filter(id=user_id).update(email=email)
    except IntegrityError:
        raise AddressTaken from None
    EmailAddress.objects.filter(user_id=user_id).delete()
    EmailAddress.objects.create(user_id=user_id, email=email, verified=True, primary=True)


def set_language(*, user_id: UUID, language: str) -> None:
    """Keep the language that a person has chosen, for emails and other browsers."""
    User.objects.filter(id=user_id).update(chosen_language=language)


def remember_language(*, user_id: UUID, language: str) -> None:
    """Store the language of a person's browser, for emails until they choose one."""
    User.objects.filter(id=user_id).update(language=language)
