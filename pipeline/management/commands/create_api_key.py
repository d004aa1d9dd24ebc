"""`manage.py create_api_key`: a company's key to the API."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs.errors import BadName, CompanyNotFound
from jobs.models import Scope
from jobs.services import create_api_key


class Command(BaseCommand):
    help = "Create an API key of a company. Prints the key, alone; it cannot be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("company_id", type=UUID, help="the id that create_company printed")
        parser.add_argument("--name", required=True, help="what the key is for")
        parser.add_argument(
            "--scopes",
            default=[Scope.READ, Scope.WRITE],
            type=_scopes,
            help="read, write or both, with a comma between (default: read,write)",
        )

    def handle(self, *, company_id: UUID, name: str, scopes: list[Scope], **_: Any) -> None:
        try:
            _row, key = create_api_key(company_id=company_id, name=name, scopes=scopes)
        except CompanyNotFound:
            raise CommandError(f"There is no company {company_id}.") from None
        except BadName as error:
            raise CommandError(f"{error}") from None
        self.stdout.write(key)


def _scopes(text: str) -> list[Scope]:
    try:
        return [Scope(word.strip()) for word in text.split(",")]
    except ValueError:
        raise ArgumentTypeError(f"must be read, write or both (read,write), not {text!r}") from None
