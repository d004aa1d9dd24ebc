"""Codes that prove an address: sent to it by email, valid for one sign-in within minutes.

A code belongs to the requester: a browser (by its cookie) or, for the API, a
network. Strangers can neither use up its tries nor replace it. The limits are counted in
PostgreSQL, so they hold across processes.
"""

from __future__ import annotations

import logging
import secrets
import unicodedata
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils.crypto import salted_hmac
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, ngettext

from applicants import mail
from applicants.models import SignInCode

security = logging.getLogger("security")

# Unicode categories of what people copy or type around the digits: blanks, invisible characters,
# dashes, and dots at the end.
_BESIDE_DIGITS = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf", "Pd", "Po"})

LIFETIME = timedelta(minutes=10)
# Guesses at one code.
MOST_TRIES = 5
# Codes sent to one address within a window, for all requesters together.
MOST_CODES = 20
# With 10^8 codes, even a thousand networks, each with its own tries, will not guess one.
CODE_DIGITS = 8
WINDOW = timedelta(hours=1)
# Most expired rows that sending a code deletes.
CLEARED_AT_ONCE = 20

# The page on which people who sign in enter a code.
CODE_PAGE = "/code/"
SUBJECT = gettext_lazy("Your code for Next in Line")
SIGNING_IN = gettext_lazy("This address was used, probably by you, to sign in to Next in Line.")
IGNORE = gettext_lazy(
    "If this wasn’t you, ignore this email. Nobody can act for you without the code."
)

# Codes for one address that each network can get in a window even after MOST_CODES were sent.
OWN_CODES = 2

# Requests for one address take turns, so that they can be counted.
TAKE_TURN = "SELECT pg_advisory_xact_lock(%(turn)s)"

ISSUE = """
INSERT INTO applicants_signincode AS held
    (request, address, network, digest, tries_left, expires_at, sent, counted_until)
SELECT %(request)s, %(address)s, %(network)s, %(digest)s, %(tries)s,
       clock_timestamp() + %(lifetime)s, 1, clock_timestamp() + %(window)s
FROM (
    SELECT coalesce(sum(sent), 0) AS total,
           coalesce(sum(sent) FILTER (WHERE network = %(network)s), 0) AS own
    FROM applicants_signincode
    WHERE address = %(address)s AND counted_until > clock_timestamp()
) lately
WHERE total < %(most)s OR own < %(own)s
ON CONFLICT (request) DO UPDATE SET
    network = excluded.network,
    digest = excluded.digest,
    tries_left = excluded.tries_left,
    expires_at = excluded.expires_at,
    sent = CASE WHEN held.counted_until <= clock_timestamp() THEN 1 ELSE held.sent + 1 END,
    counted_until = CASE WHEN held.counted_until <= clock_timestamp()
        THEN excluded.counted_until ELSE held.counted_until END
RETURNING true
"""

GUESS = """
UPDATE applicants_signincode SET
    tries_left = CASE WHEN digest = %(digest)s THEN 0 ELSE tries_left - 1 END
WHERE request = %(request)s AND tries_left > 0 AND expires_at > clock_timestamp()
RETURNING digest = %(digest)s
"""


@dataclass(frozen=True, slots=True)
class Requester:
    """Browser or client that requests a code: its own `handle` and its network.

    The network must be so large that no one client has thousands of them.
    """

    handle: str
    network: str


def send(
    email: str,
    *,
    by: Requester,
    subject: str | Promise = SUBJECT,
    about: str | Promise = SIGNING_IN,
    if_not_you: str | Promise = IGNORE,
    page: str = CODE_PAGE,
) -> None:
    """Send a new code to a normalised address; it replaces the requester's previous code.

    Nothing is looked up about the address, so a caller cannot learn whether it is in use. At most
    MOST_CODES are sent to it within WINDOW, but each network can always get OWN_CODES. Further ones
    are silently dropped. In the email, `subject` and `about` say what the code is for, `if_not_you`
    what to do if the reader did not request it, and `page` where to enter it.
    """
    code = generate()
    address = _hash("address", email)
    values: dict[str, Any] = {
        "turn": int.from_bytes(address[:8], "big", signed=True),
        "request": _hash("request", email, by.handle),
        "address": address,
        "network": _hash("network", email, by.network),
        "digest": _digest(email, code),
        "tries": MOST_TRIES,
        "lifetime": LIFETIME,
        "window": WINDOW,
        "most": MOST_CODES,
        "own": OWN_CODES,
    }
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(TAKE_TURN, values)
            cursor.execute(ISSUE, values)
            is_kept = cursor.fetchone() is not None
        if is_kept:
            mail.post_private_email(
                to=email,
                subject=str(subject),
                text=email_text(code, about, if_not_you, page),
                lifetime=LIFETIME,
            )
            security.info("code.sent")
        else:
            security.warning("code.withheld")
    over = SignInCode.objects.filter(counted_until__lt=Now(), expires_at__lt=Now())
    some = list(over.order_by("counted_until").values_list("request", flat=True)[:CLEARED_AT_ONCE])
    if some:
        over.filter(request__in=some).delete()


def email_text(
    code: str, about: str | Promise, if_not_you: str | Promise, page: str = CODE_PAGE
) -> str:
    """Write the email with a code: first the code, then what it is for."""
    minutes = LIFETIME.seconds // 60
    use = ngettext(
        "This is your code. It is valid for %(minutes)s minute and can be used once. Enter it in"
        " the browser where you asked for it:",
        "This is your code. It is valid for %(minutes)s minutes and can be used once. Enter it in"
        " the browser where you asked for it:",
        minutes,
    )
    return (
        f"{code}\n\n"
        f"{use % {'minutes': minutes}}\n"
        f"{settings.SITE_URL}{page}\n\n"
        f"{about}\n\n"
        f"{if_not_you}\n"
    )


def guess(email: str, code: str, *, requester: str) -> bool | None:
    """Try a code for a normalised address, on behalf of the requester it was sent for.

    Return True for the right code, which is then used up, and False for a wrong one, which costs a
    try. Return None if there is no valid code: none was sent, or it has expired, was used, or has
    no tries left.
    """
    with connection.cursor() as cursor:
        values = {
            "request": _hash("request", email, requester),
            "digest": _digest(email, code),
        }
        cursor.execute(GUESS, values)
        row = cursor.fetchone()
    if row is None or not row[0]:
        security.warning("code.refused", extra={"reason": "wrong" if row else "none_valid"})
    return row[0] if row else None


def forget(email: str) -> None:
    """Delete all code records of a normalised address."""
    SignInCode.objects.filter(address=_hash("address", email)).delete()


def find_latest(email: str) -> dict[str, Any] | None:
    """Return the record of the latest code for an address: its expiry, tries and recent count."""
    kept = SignInCode.objects.filter(address=_hash("address", email)).order_by("-expires_at")
    row = kept.values("expires_at", "tries_left", "sent", "counted_until").first()
    return dict(row) if row else None


def _hash(what: str, *values: str) -> bytes:
    text = "\n".join(values)
    return salted_hmac(f"applicants.codes.{what}", text, algorithm="sha256").digest()


def _digest(email: str, code: str) -> bytes:
    """Hash a code with a secret key: a plain hash would fall to trying every code."""
    return _hash("code", email, code)


def generate() -> str:
    """Make a code short enough to type, so only a few guesses may be allowed."""
    return f"{secrets.randbelow(10**CODE_DIGITS):0{CODE_DIGITS}}"


def normal_digits(text: str) -> str:
    """Return a code as it was sent: with digits of 0 to 9, of whatever script, and nothing beside.

    Characters that do not belong to a code stay, so that it is refused.
    """
    kept = (each for each in text if unicodedata.category(each) not in _BESIDE_DIGITS)
    return "".join(str(unicodedata.decimal(each, each)) for each in kept)
