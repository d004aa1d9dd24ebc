"""Staff accounts, and browsers in which they have signed in."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

from allauth.mfa import app_settings
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.test import Client

from jobs.models import Company, JobMember, JobRole, Membership, Role, User
from tests.support import factories

PASSWORD = "correct horse"


def member_of(company: Company, role: Role = Role.OWNER, **fields: Any) -> User:
    """Return the account of a new member; without a password, unless one is given.

    Hashing a password takes long.
    """
    user = factories.UserFactory.create(**{"password": None} | fields)
    Membership.objects.create(company=company, user=user, role=role)
    return user


def job_member_of(company: Company, job_id: UUID, role: JobRole, **fields: Any) -> User:
    """Return the account of a new member who has this role on this job, and nothing else."""
    user = factories.UserFactory.create(**{"password": None} | fields)
    member = Membership.objects.create(company=company, user=user)
    JobMember.objects.create(membership=member, job_id=job_id, role=role)
    return user


def browser_of(user: User) -> Client:
    """Return a browser in which an account has signed in."""
    client = Client()
    client.force_login(user)
    return client


def sign_in(email: str, password: str = PASSWORD, client: Client | None = None) -> Any:
    """Return the answer of the sign-in form."""
    form = {"login": email, "password": password}
    return (client or Client()).post("/account/login/", form)


def is_signed_in(client: Client) -> bool:
    """Return whether an account is signed in."""
    return client.get("/account/").status_code == 200


def app_code(secret: str, *, periods: int = 0) -> str:
    """Return the code of an authenticator app now, or so many times 30 seconds later."""
    counter = int(time.time()) // app_settings.TOTP_PERIOD
    return format_hotp_value(hotp_value(secret, counter + periods))
