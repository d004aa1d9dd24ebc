"""`manage.py create_api_key`: create an API key for a company."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs.errors import BadLifetime, BadName, CompanyNotFound
from jobs.models import Scope
from pipeline.background.catalog import COMPANY_TYPES
from pipeline.background.key_limits import create_limited_key
from tasks.errors import OutOfRange


class Command(BaseCommand):
    requires_system_checks = ("environment",)  # the other checks load every URL
    help = "Create an API key for a company. Prints only the key, which cannot be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("company_id", type=UUID, help="the id that create_company printed")
        parser.add_argument("--name", required=True, help="what the key is for")
        parser.add_argument(
            "--scopes",
            default=[Scope.READ, Scope.WRITE],
            type=_scopes_of_key,
            help="read, write or read,write (default: read,write)",
        )
        parser.add_argument(
            "--tasks",
            type=_task_types_of_key,
            metavar="all|none|TYPE,TYPE",
            help="task types it may start, such as demo.sleep,log.export (default: all)",
        )
        parser.add_argument(
            "--tasks-per-minute",
            type=int,
            metavar="N",
            help="tasks it may start per minute (default: the site's THROTTLE_TASKS)",
        )

        parser.add_argument(
            "--expires-in-days",
            type=int,
            metavar="N",
            help="days for which it is valid (default: until it is revoked)",
        )

    def handle(
        self,
        *,
        company_id: UUID,
        name: str,
        scopes: list[Scope],
        tasks: list[str] | None,
        tasks_per_minute: int | None,
        expires_in_days: int | None,
        **_: Any,
    ) -> None:
        try:
            _row, key = create_limited_key(
                company_id=company_id,
                name=name,
                scopes=scopes,
                types=tasks,
                per_minute=tasks_per_minute,
                expires_in_days=expires_in_days,
            )
        except CompanyNotFound:
            raise CommandError(f"There is no company {company_id}.") from None
        except (BadLifetime, BadName, OutOfRange) as error:
            raise CommandError(f"{error}") from None
        self.stdout.write(key)


def _scopes_of_key(text: str) -> list[Scope]:
    try:
        return [Scope(word.strip()) for word in text.split(",")]
    except ValueError:
        raise ArgumentTypeError(f"must be read, write or both (read,write), not {text!r}") from None


def _task_types_of_key(text: str) -> list[str] | None:
    """Parse a list of task types; None means all."""
    if text in ("all", "none"):
        return None if text == "all" else []
    named = [word.strip() for word in text.split(",")]
    if unknown := [word for word in named if word not in COMPANY_TYPES]:
        known = ", ".join(COMPANY_TYPES)
        raise ArgumentTypeError(f"{unknown[0]!r} is none of {known}, all and none")
    return named
