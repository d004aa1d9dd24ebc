"""`manage.py create_api_key`: create an API key for a company."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs.errors import BadLifetime, BadName, CompanyNotFound, JobsNotOfCompany
from jobs.models import USUAL_SCOPES, Scope
from jobs.sandboxes import find_or_create_sandbox
from pipeline.work.catalog import COMPANY_TYPES
from pipeline.work.start import create_limited_key
from tasks.errors import OutOfRange


class Command(BaseCommand):
    requires_system_checks = ("environment",)  # the other checks load every URL
    help = "Create an API key for a company. Prints only the key, which cannot be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("company_id", type=UUID, help="the id that create_company printed")
        parser.add_argument("--name", required=True, help="what the key is for")
        parser.add_argument(
            "--sandbox",
            action="store_true",
            help="make it for the company's sandbox, which is created if there is none",
        )
        parser.add_argument(
            "--scopes",
            default=list(USUAL_SCOPES),
            type=_parse_scopes,
            help="any of read, write, applicant-tokens (default: read,write)",
        )
        parser.add_argument(
            "--tasks",
            type=_parse_types,
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

        parser.add_argument(
            "--job",
            type=UUID,
            action="append",
            default=[],
            metavar="JOB_ID",
            help="limit it to this job; may be repeated (default: the whole company)",
        )

    def handle(
        self,
        *,
        company_id: UUID,
        name: str,
        sandbox: bool,
        scopes: list[Scope],
        tasks: list[str] | None,
        tasks_per_minute: int | None,
        expires_in_days: int | None,
        job: list[UUID],
        **_: Any,
    ) -> None:
        try:
            _row, key = create_limited_key(
                company_id=find_or_create_sandbox(company_id).id if sandbox else company_id,
                name=name,
                scopes=scopes,
                types=tasks,
                per_minute=tasks_per_minute,
                expires_in_days=expires_in_days,
                job_ids=job,
            )
        except CompanyNotFound:
            raise CommandError(f"There is no company {company_id}.") from None
        except (BadLifetime, BadName, JobsNotOfCompany, OutOfRange) as error:
            raise CommandError(f"{error}") from None
        self.stdout.write(key)


def _parse_scopes(text: str) -> list[Scope]:
    try:
        return [Scope(word.strip()) for word in text.split(",")]
    except ValueError:
        known = ", ".join(Scope.values)
        raise ArgumentTypeError(
            f"must be some of {known}, joined by commas, not {text!r}"
        ) from None


def _parse_types(text: str) -> list[str] | None:
    """Parse a list of task types; None means all."""
    if text in ("all", "none"):
        return None if text == "all" else []
    named = [word.strip() for word in text.split(",")]
    if unknown := [word for word in named if word not in COMPANY_TYPES]:
        known = ", ".join(COMPANY_TYPES)
        raise ArgumentTypeError(f"{unknown[0]!r} is none of {known}, all and none")
    return named
