"""People and their tokens."""

from __future__ import annotations

from datetime import timedelta

from django.core.validators import validate_email
from django.db.models.functions import Now
from django.utils import timezone

from applicants import tokens
from applicants.models import Applicant, ApplicantToken

TOKEN_LIFETIME = timedelta(days=30)


def normal_address(email: str) -> str:
    """The one spelling under which an address is kept: addresses do not differ by case."""
    return email.strip().lower()


def find_or_create_applicant(email: str) -> Applicant:
    """The person with an address, in whatever case it is written.

    Raises django.core.exceptions.ValidationError when it is no address.
    """
    email = normal_address(email)
    validate_email(email)
    return Applicant.objects.get_or_create(email=email)[0]


def issue_token(applicant: Applicant) -> str:
    """A token that stands for a person until it expires. It cannot be had again."""
    token = tokens.new_token()
    ApplicantToken.objects.create(
        applicant=applicant,
        digest=tokens.digest_of(token),
        expires_at=timezone.now() + TOKEN_LIFETIME,
    )
    return token


def find_token(token: str) -> ApplicantToken | None:
    """The token's row, if it is genuine, not revoked and not expired. One look-up by hash."""
    valid = ApplicantToken.objects.filter(revoked_at=None, expires_at__gt=Now())
    return valid.filter(digest=tokens.digest_of(token)).first()
