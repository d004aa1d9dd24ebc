"""Email addresses in the normal spelling in which they are stored and compared."""

from __future__ import annotations

import re
import unicodedata
from contextlib import suppress

import idna
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator, validate_email
from django.utils.translation import gettext as _

EMAIL_LENGTH = 254
# Unicode categories of characters that are invisible or never typed in an address: control, format
# (such as zero-width characters), surrogate, private, unassigned, and every kind of space.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# Zero-width (non-)joiners: some domains need them, and IDNA knows where they are allowed.
JOINERS = "\u200c\u200d"
_WIDE = {
    code: unicodedata.normalize("NFKC", chr(code))
    for code in range(0xFF01, 0xFFEF)
    if unicodedata.decomposition(chr(code)).startswith(("<wide>", "<narrow>"))
}
_ATOM = r"[-!#$%&'*+/=?^_`{|}~0-9a-z]+"
_PLAIN_LOCAL_PART = re.compile(rf"{_ATOM}(?:\.{_ATOM})*")


def normal_address(email: str) -> str:
    """Return the normal spelling of an address, so that spellings of one mailbox are one person.

    The part before @ is in lower case, with letters of usual width (RFC 8265) and without quotes
    that it does not need. The domain is in ASCII, as DNS knows it. Text that cannot be an address
    is only put in lower case.
    """
    text = email.strip()
    if address_has_unseen_characters(text):
        return text.lower()
    local, at, domain = lower_case_address(text).rpartition("@")
    with suppress(UnicodeError):
        domain = ascii_domain(domain)
    return f"{_unquoted_local_part(local)}{at}{domain}"


def valid_address(email: str) -> str:
    """Check all but the length of an address, and return its one spelling.

    Raises ValidationError (Django's).
    """
    email = normal_address(email)
    if address_has_unseen_characters(email):
        raise ValidationError(
            _("This address contains invisible characters. Type it instead of pasting it."),
            code="invisible",
        )
    validate_email(email)
    domain = email.rpartition("@")[2]
    # An address of the network ([127.0.0.1], 10.0.0.25) would be one of the mail server's own.
    if not email.isascii() or domain.startswith("[") or domain.rpartition(".")[2].isdigit():
        raise ValidationError(validate_email.message, code="invalid")
    return email


def checked_address(email: str) -> str:
    """Check an address, with its length, and return its one spelling.

    Raises ValidationError (Django's).
    """
    email = valid_address(email)
    MaxLengthValidator(EMAIL_LENGTH)(email)
    return email


def ascii_domain(domain: str) -> str:
    """Return a domain in ASCII, as browsers ask DNS for it (IDNA 2008, UTS 46 not transitional).

    Raises UnicodeError if it cannot be one.
    """
    if domain.isascii():  # only the lengths: the names in use include some that IDNA 2008 refuses
        return domain.encode("idna").decode("ascii").lower()
    return idna.encode(domain, uts46=True).decode("ascii")


def lower_case_address(text: str) -> str:
    """Return a text without differences of case, width and composition.

    Letters stay themselves: no ß becomes ss, which would be another mailbox.
    """
    return unicodedata.normalize("NFC", text.translate(_WIDE).lower())


def address_has_unseen_characters(email: str) -> bool:
    """Tell whether an address contains invisible characters, such as a zero-width space.

    A joiner may stand in a domain that needs it.
    """
    local, at, domain = email.translate(_WIDE).rpartition("@")
    with suppress(UnicodeError):
        domain = ascii_domain(domain) if set(domain) & set(JOINERS) else domain
    return any(unicodedata.category(character) in _UNSEEN for character in local + at + domain)


def _unquoted_local_part(local: str) -> str:
    if len(local) > 2 and local[0] == local[-1] == '"':
        plain = re.sub(r"\\(.)", r"\1", local[1:-1])
        if _PLAIN_LOCAL_PART.fullmatch(plain):
            return plain
    return local


def masked_address(address: str) -> str:
    """Mask an address for a reader who may not be its owner: a…n@example.org."""
    local, _at, domain = address.rpartition("@")
    shown = f"{local[:1]}…{local[-1:]}" if len(local) > 2 else f"{local[:1]}…"
    return f"{shown}@{domain}"
