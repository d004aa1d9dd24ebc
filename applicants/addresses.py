"""Email addresses in the normal spelling in which they are stored and compared."""

from __future__ import annotations

import unicodedata

from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator, validate_email

EMAIL_LENGTH = 254
# Unicode categories of characters that are invisible or never typed in an address: control, format
# (such as zero-width characters), surrogate, private, unassigned, and every kind of space.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})


def normal_address(email: str) -> str:
    """Return the normal spelling of an address, so that spellings of one mailbox are one person.

    Case is folded, wide letters become ordinary ones (NFKC), and the domain is in ASCII, as DNS
    knows it (IDNA). Text with invisible characters cannot be an address, and is only put in lower
    case.
    """
    text = email.strip()
    if address_has_unseen_characters(text):
        return text.lower()
    local, at, domain = casefolded_address(text).rpartition("@")
    try:
        ascii_domain = domain.encode("idna").decode("ascii").lower()
    except UnicodeError:  # a label is empty or too long
        ascii_domain = domain
    return f"{local}{at}{ascii_domain}"


def valid_address(email: str) -> str:
    """Check all but the length of an address, and return its one spelling.

    Raises ValidationError (Django's).
    """
    email = normal_address(email)
    if address_has_unseen_characters(email):
        raise ValidationError("This address contains invisible characters.", code="invalid")
    validate_email(email)
    return email


def checked_address(email: str) -> str:
    """Check the address of an applicant, with its length, and return its one spelling.

    Raises ValidationError (Django's).
    """
    email = valid_address(email)
    MaxLengthValidator(EMAIL_LENGTH)(email)
    return email


def casefolded_address(text: str) -> str:
    """Return a text without differences of case and width, such as an address's part before @."""
    return unicodedata.normalize("NFKC", text).casefold()


def address_has_unseen_characters(email: str) -> bool:
    """Tell whether an address contains invisible characters, such as a zero-width space."""
    return any(unicodedata.category(character) in _UNSEEN for character in email)


def masked_address(address: str) -> str:
    """Mask an address for a reader who may not be its owner: a…n@example.org."""
    local, _, domain = address.rpartition("@")
    shown = f"{local[:1]}…{local[-1:]}" if len(local) > 2 else f"{local[:1]}…"
    return f"{shown}@{domain}"
