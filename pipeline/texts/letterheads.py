"""Letterhead of a company: whose name its emails have, and where answers go."""

from __future__ import annotations

import logging
import re
from email.utils import formataddr, parseaddr
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from applicants import codes
from jobs import activity
from jobs.models import Company
from pipeline.models import Letterhead
from pipeline.wording.english import isolated, strip_isolates

SENDER_CHANGED = activity.declare(
    "letterhead.changed",
    activity.Group.RULES,
    gettext_lazy("Changed the name or the reply address of emails to applicants"),
)
security = logging.getLogger("security")

# Words that make a mail program, or a reader, take a name for an address.
_LIKE_AN_ADDRESS = re.compile(r"@|://|\bwww\.|\b[\w-]+\.(?:com|org|net|io|de|eu)\b", re.IGNORECASE)
# The page on which a code is entered.
CODE_PAGE = "/company/emails/sender/"


class UnusableSender(ValueError):
    """Sender name that could pass for an address. The message says what to do."""


class StaleLetterhead(Exception):
    """Letterhead that someone else has changed since it was shown."""


def letterhead_of(company: Company) -> Letterhead:
    """Return a company's letterhead, or an empty one; without a query if it was read with it."""
    found: Letterhead | None = getattr(company, "letterhead", None)
    return found or Letterhead(company=company)


def check_sender_name(name: str) -> None:
    """Refuse a name that could pass for an address. Raises UnusableSender."""
    if _LIKE_AN_ADDRESS.search(name):
        raise UnusableSender(_("Enter a name without an email or web address."))


def read(company_id: UUID) -> Letterhead:
    """Return a company's letterhead as it is now, or an empty one, in one query."""
    row = Letterhead.objects.select_related("changed_by").filter(company_id=company_id).first()
    return row or Letterhead(company_id=company_id)


def shown_sender(company: Company) -> tuple[str, str]:
    """Return the name on a company's emails, and the site's address.

    The address stays, so that the site's DMARC holds. The site's name stays behind the company's,
    if MAIL_FROM has one.
    """
    site, address = parseaddr(settings.DEFAULT_FROM_EMAIL)
    name = letterhead_of(company).sender_name or company.name
    if _LIKE_AN_ADDRESS.search(name):  # a company's name is not checked for that
        return site, address
    named = _("%(company)s via %(site)s") % {"company": name, "site": site} if site else name
    return " ".join(strip_isolates(named).split()), address


def from_header(company: Company) -> str:
    """Return the sender of a company's emails, for the header of an email."""
    return formataddr(shown_sender(company))


def sign(email: EmailMessage, company: Company) -> None:
    """Put a company's name and reply address on an email to an applicant."""
    email.from_email = from_header(company)
    reply_address = letterhead_of(company).reply_address
    if reply_address and not email.reply_to:
        email.reply_to = [reply_address]


def lock_letterhead(company_id: UUID) -> Letterhead:
    """Lock a company's letterhead, and with it all its texts, until the transaction ends."""
    Letterhead.objects.get_or_create(company_id=company_id)
    return Letterhead.objects.select_for_update().get(company_id=company_id)


@transaction.atomic
def save(*, company_id: UUID, sender_name: str, seen: int, by: UUID) -> None:
    """Save the name on a company's emails. `seen` is the version that was changed.

    Raises UnusableSender, and StaleLetterhead if another version was saved since.
    """
    check_sender_name(sender_name)
    row = lock_letterhead(company_id)
    if row.sender_name == sender_name:
        return
    if row.version != seen:
        raise StaleLetterhead
    row.sender_name = sender_name
    _save(row, by, "names")


# Proof of the reply address by a code, so that nobody gets answers that they did not ask for.


def ask_for_proof(*, company: Company, address: str, by: UUID, network: str) -> None:
    """Email a code to an address in its normal form, which proves that the company may use it.

    `network` is the client's (`applicants.codes.Requester`).
    """
    codes.send(
        address,
        by=codes.Requester(_handle(company.id, by), network),
        about=_("%(company)s wants applicants’ answers to its emails to come to this address.")
        % {"company": isolated(company.name)},
        if_not_you=_("If you do not want this, ignore this email. Nothing changes then."),
        page=CODE_PAGE,
    )


def prove(*, company_id: UUID, address: str, code: str, by: UUID) -> bool | None:
    """Use an address for answers if the code is right; return what `codes.guess` says."""
    is_right = codes.guess(address, code, requester=_handle(company_id, by))
    if is_right:
        set_reply_address(company_id=company_id, address=address, by=by)
    return is_right


@transaction.atomic
def set_reply_address(*, company_id: UUID, address: str, by: UUID) -> None:
    """Set the address for answers, which was proved; empty for none."""
    row = lock_letterhead(company_id)
    if row.reply_address != address:
        row.reply_address = address
        _save(row, by, "reply_address")


def _save(row: Letterhead, by: UUID, what: str) -> None:
    row.version += 1
    row.changed_at, row.changed_by_id = Now(), by
    row.save()
    about = {"company": str(row.company_id), "by": str(by), "what": what}
    security.info("letterhead.changed", extra=about)
    activity.note(SENDER_CHANGED, company_id=row.company_id, by=by)


def _handle(company_id: UUID, user_id: UUID) -> str:
    return f"reply address {company_id} {user_id}"
