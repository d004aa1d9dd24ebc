"""Sign-in by a code: proves an address, and grants a token or a session."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from applicants import codes, tokens
from applicants.addresses import normal_address
from applicants.models import Applicant, ApplicantToken
from applicants.people import find_or_create_person

# Most expired tokens that one sign-in deletes.
CLEARED_AT_ONCE = 20


class CodeRefused(Exception):
    """Refusal of a code. With `try_again`, the code was wrong and the right one is still valid."""

    def __init__(self, *, try_again: bool) -> None:
        super().__init__("wrong code" if try_again else "no valid code")
        self.try_again = try_again


def prove_address(*, email: str, code: str, requester: str) -> Applicant:
    """Return the person who proves an address with the code sent to it, and use up the code.

    Only a code requested by `requester` counts, with that requester's tries. A new address becomes
    an applicant. A wrong code costs a try. Raises CodeRefused. Do not call it inside a transaction.
    """
    address = normal_address(email)
    with transaction.atomic(durable=True):
        right = codes.guess(address, code, requester=requester)
        if right:
            return find_or_create_person(address)
    raise CodeRefused(try_again=right is False)


class Granted(NamedTuple):
    """New token, which cannot be shown again, with its expiry and its person."""

    token: str
    expires_at: datetime
    applicant_id: UUID


def redeem_code(*, email: str, code: str, requester: str) -> Granted | None:
    """Return a new token for the person who proves an address with its code.

    A new address becomes an applicant. Return None if the code is wrong, used or expired, has no
    tries left, or was sent for another requester. A wrong code costs a try. Do not call it inside
    a transaction.
    """
    with transaction.atomic(durable=True):
        if not codes.guess(normal_address(email), code, requester=requester):
            return None
        person = find_or_create_person(email)
        granted = Granted(*tokens.grant(person), person.id)
    expired = ApplicantToken.objects.filter(expires_at__lt=Now()).order_by("expires_at")
    some = list(expired.values_list("id", flat=True)[:CLEARED_AT_ONCE])
    ApplicantToken.objects.filter(id__in=some).delete()
    return granted
