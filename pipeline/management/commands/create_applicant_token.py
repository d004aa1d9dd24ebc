"""`manage.py create_applicant_token`: act as an applicant over the API."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from applicants import tokens
from applicants.people import find_or_create_person
from applicants.tokens import TOKEN_LIFETIME


class Command(BaseCommand):
    requires_system_checks = ("environment",)  # the other checks load every URL
    help = (
        "Create a token for using the API as the person with an email address, who is added if "
        f"new. It is valid for {TOKEN_LIFETIME.days} days. Prints only the token."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", help="the person's email address")

    def handle(self, *, email: str, **_: Any) -> None:
        try:
            applicant = find_or_create_person(email)
        except ValidationError:
            raise CommandError(f"{email!r} is not an email address.") from None
        self.stdout.write(tokens.issue(applicant))
