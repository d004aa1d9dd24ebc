"""Codes that prove an address: emailed to it, valid for one sign-in within a few minutes.

PostgreSQL decides their limits (codes per address and hour, tries per code), each in one statement:
processes that ask at the same time update a row one after the other.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils.crypto import salted_hmac

from applicants import mail, tokens
from applicants.models import SignInCode

security = logging.getLogger("security")

LIFETIME = timedelta(minutes=15)
# Guesses at one code.
MOST_TRIES = 5
# Codes to one address within a window. A client's own limit is lower, so that no stranger can use
# them all up.
MOST_CODES = 20
WINDOW = timedelta(hours=1)
# Expired rows that sending a code deletes.
CLEARED_AT_ONCE = 20

SUBJECT = "Your code for Next in Line"
SIGNING_IN = "This address was used, probably by you, to sign in to Next in Line."
IGNORE = "If it was not you, ignore this email: without the code nobody can act for you."

ISSUE = """
INSERT INTO applicants_signincode AS held
    (address, digest, tries_left, expires_at, sent, counted_until)
VALUES (%(address)s, %(digest)s, %(tries)s, clock_timestamp() + %(lifetime)s,
        1, clock_timestamp() + %(window)s)
ON CONFLICT (address) DO UPDATE SET
    digest = excluded.digest,
    tries_left = excluded.tries_left,
    expires_at = excluded.expires_at,
    sent = CASE WHEN held.counted_until <= clock_timestamp() THEN 1 ELSE held.sent + 1 END,
    counted_until = CASE WHEN held.counted_until <= clock_timestamp()
        THEN excluded.counted_until ELSE held.counted_until END
WHERE held.sent < %(most)s OR held.counted_until <= clock_timestamp()
RETURNING true
"""

GUESS = """
UPDATE applicants_signincode SET
    tries_left = CASE WHEN digest = %(digest)s THEN 0 ELSE tries_left - 1 END
WHERE address = %(address)s AND tries_left > 0 AND expires_at > clock_timestamp()
RETURNING digest = %(digest)s
"""


def send_code(email: str, *, about: str = SIGNING_IN, if_not_you: str = IGNORE) -> None:
    """Send a new code to an address in its normal spelling; the code before it becomes invalid.

    Nothing is looked up about the address, so a caller cannot learn if it is in use. At most
    MOST_CODES are sent within the WINDOW; any more are silently dropped. `about` is the sentence of
    the email that says what the code is for; `if_not_you` says what to do if the reader did not ask
    for it.
    """
    code = tokens.new_code()
    text = (
        f"{code}\n\n"
        f"This is your code. It is valid for {LIFETIME.seconds // 60} minutes and can be used"
        " once.\n\n"
        f"{about}\n\n"
        f"{if_not_you}\n"
    )
    values: dict[str, Any] = {
        "address": _key_of(email),
        "digest": _digest_of(email, code),
        "tries": MOST_TRIES,
        "lifetime": LIFETIME,
        "window": WINDOW,
        "most": MOST_CODES,
    }
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(ISSUE, values)
            is_kept = cursor.fetchone() is not None
        if is_kept:
            mail.post(to=email, subject=SUBJECT, text=text)
            security.info("code.sent")
        else:
            security.warning("code.withheld")
    over = SignInCode.objects.filter(counted_until__lt=Now(), expires_at__lt=Now())
    some = list(over.order_by("counted_until").values_list("address", flat=True)[:CLEARED_AT_ONCE])
    if some:
        over.filter(address__in=some).delete()


def guess(email: str, code: str) -> bool | None:
    """Try a code for an address in its normal spelling.

    Returns True for the right code, which is then used up; False for a wrong one, which costs a
    try; None without a valid code: none was sent, it has expired, was used, or has no tries left.
    """
    with connection.cursor() as cursor:
        cursor.execute(GUESS, {"address": _key_of(email), "digest": _digest_of(email, code)})
        row = cursor.fetchone()
    if row is None or not row[0]:
        security.warning("code.refused", extra={"reason": "wrong" if row else "none_valid"})
    return row[0] if row else None


def forget(email: str) -> None:
    """Delete the row about codes to an address in its normal spelling."""
    SignInCode.objects.filter(address=_key_of(email)).delete()


def kept_about(email: str) -> dict[str, Any] | None:
    """Return when the last code to an address expires, and how many were sent in the window."""
    kept = SignInCode.objects.filter(address=_key_of(email))
    row = kept.values("expires_at", "tries_left", "sent", "counted_until").first()
    return dict(row) if row else None


def _key_of(email: str) -> bytes:
    return salted_hmac("applicants.codes.address", email, algorithm="sha256").digest()


def _digest_of(email: str, code: str) -> bytes:
    """Hash with a key: against a plain hash, all codes could be tried in a second."""
    return salted_hmac("applicants.codes.code", f"{email} {code}", algorithm="sha256").digest()
