"""Texts to start messages from, with fields for what differs from person to person."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applicants.texts import folded_name, plain_text
from jobs.models import Company
from pipeline.models import MESSAGE_LENGTH, MessageTemplate
from pipeline.texts import fields

MOST_TEMPLATES = 50
# Everything that a text can have in braces.
FIELDS = ("name", "job", "company", "me")


class TemplateRefused(Exception):
    """A template cannot be saved. The message says why."""


class Values(NamedTuple):
    """Values of the fields in a message to one person."""

    name: str
    job: str
    company: str
    me: str


def check_fields(text: str) -> None:
    """Refuse a text with a field that there is not. Raises UnusableText with its place."""
    fields.check(text, FIELDS, lone_braces=True)


def fill(text: str, values: Values) -> str:
    """Return a text for one person. What a value contains is no field. Raises UnusableText."""
    check_fields(text)
    named = values._asdict() | {"name": fields.filled_name(values.name)}
    return plain_text(fields.fill(text, named))[:MESSAGE_LENGTH]


def read_all(company_id: UUID) -> list[MessageTemplate]:
    """Return a company's templates by name: all, since there are at most MOST_TEMPLATES."""
    rows = MessageTemplate.objects.filter(company_id=company_id)
    return sorted(rows, key=lambda row: folded_name(row.name))


@transaction.atomic
def save(
    *, company_id: UUID, name: str, text: str, template_id: UUID | None = None
) -> MessageTemplate:
    """Add a template, or change the one with this id.

    One that was deleted meanwhile is added again. Raises UnusableText, TemplateRefused.
    """
    check_fields(text)
    Company.objects.select_for_update(of=("self",), no_key=True).get(id=company_id)
    theirs = MessageTemplate.objects.filter(company_id=company_id)
    row = theirs.filter(id=template_id).first() if template_id else None
    row = row or MessageTemplate(company_id=company_id)
    if row._state.adding and theirs.count() >= MOST_TEMPLATES:
        why = ngettext(
            "Your company has %(most)s template already. Delete it if you do not use it.",
            "Your company has %(most)s templates already. Delete one that you do not use.",
            MOST_TEMPLATES,
        )
        raise TemplateRefused(why % {"most": MOST_TEMPLATES})
    row.name, row.text = name, text
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        why = _("Another template has this name. Choose another one.")
        raise TemplateRefused(why) from None
    return row


def delete(*, company_id: UUID, template_id: UUID) -> None:
    """Delete a template of a company, if it is there. Messages made from it stay."""
    MessageTemplate.objects.filter(company_id=company_id, id=template_id).delete()
