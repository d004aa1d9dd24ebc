"""`manage.py create_company`: create a company and its first owner."""

from __future__ import annotations

import sys
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs.accounts import is_staff_address
from jobs.companies import create_company
from jobs.errors import BadName, BadPassword


class Command(BaseCommand):
    requires_system_checks = ("environment",)  # the other checks load every URL
    help = "Create a company with its first owner. Prints only the company's id."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the company's name, as applicants see it")
        parser.add_argument("--owner", required=True, metavar="EMAIL", help="owner's email address")
        parser.add_argument(
            "--password-stdin",
            action="store_true",
            help="read a new owner's password from the first line of standard input; "
            "an existing account keeps its password",
        )

    def handle(self, *, name: str, owner: str, password_stdin: bool, **_: Any) -> None:
        password = sys.stdin.readline().rstrip("\n") if password_stdin else None
        keeps_password = password_stdin and is_staff_address(owner)
        try:
            company = create_company(name=name, owner_email=owner, password=password)
        except BadName as error:
            raise CommandError(f"{error}") from None
        except BadPassword as error:
            raise CommandError("Choose another password. " + " ".join(error.args)) from None
        except ValidationError:
            raise CommandError(f"{owner!r} is not an email address.") from None
        if keeps_password:
            self.stderr.write(f"{owner} already has an account; its password was not changed.")
        self.stdout.write(str(company.id))
