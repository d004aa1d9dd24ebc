"""`manage.py doctor`: say what is wrong with this installation, and what to do."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from pipeline.management.doctor import (
    attachment_findings,
    database_findings,
    log_findings,
    site_findings,
    work_findings,
)
from pipeline.management.doctor.address_findings import check_address
from pipeline.management.doctor.findings import Finding, Level, found_problem
from pipeline.wording.english import count

Check = Callable[[], Iterable[Finding]]

ALWAYS: dict[str, Check] = {
    "settings": site_findings.check_settings,
    "secrets": site_findings.check_secrets,
    "static files": site_findings.check_static_files,
    "time zones": site_findings.check_time_zones,
    "disk": site_findings.check_disks,
    "attachments": attachment_findings.check_storage,
    "anchors": log_findings.check_anchor_file,
}
# Left out if the database cannot be reached.
IN_DATABASE: dict[str, Check] = {
    "server": database_findings.check_server,
    "pooler": database_findings.check_pooler,
    "replica": database_findings.check_replica,
    "notifications": database_findings.check_notifications,
    "clock": database_findings.check_clock,
    "migrations": database_findings.check_migrations,
}
# Left out as well if migrations are missing, because they read the tables.
IN_TABLES: dict[str, Check] = {
    "roles": database_findings.check_roles,
    "log": database_findings.check_triggers,
    "workers": work_findings.check_workers,
    "line": work_findings.check_settlement,
    "tasks": work_findings.check_tasks,
    "anchors": log_findings.check_anchors,  # in the place of the one above
    "archive": log_findings.check_archive,
    "scanner": attachment_findings.check_scanner,
    "answers": site_findings.check_answers,
    "devices": site_findings.check_devices,
    "receipts": site_findings.check_receipt_keys,
    "web servers": work_findings.check_web_servers,
    **database_findings.ACTIVITY_CHECKS,
}
CAN_BE_SKIPPED = list(dict.fromkeys([*ALWAYS, "email", *IN_DATABASE, *IN_TABLES]))


class Command(BaseCommand):
    requires_system_checks = ()  # they are one of the findings
    help = (
        "Check this installation: settings, database, workers, emails and, with --url, the proxies "
        "in front. Each line says ok, warning or problem, and what to do. Exits with 1 if there is "
        "a problem. Changes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--url", default="", help="public address of the site, to ask it there")
        parser.add_argument("--send-to", default="", metavar="ADDRESS", help="send a test email")
        parser.add_argument(
            "--skip", action="append", default=[], choices=CAN_BE_SKIPPED, help="leave out a check"
        )
        parser.add_argument("--json", action="store_true", help="print the findings as JSON")

    def handle(self, *, url: str, send_to: str, skip: list[str], json: bool, **_: Any) -> None:
        found = list(collect(url=url, send_to=send_to, skip=skip))
        problems = [finding for _, finding in found if finding.level is Level.PROBLEM]
        if json:
            self.stdout.write(render_json(found))
        else:
            self.print_findings(found)
        if problems:
            raise CommandError(f"{count(len(problems), 'problem')} found.")

    def print_findings(self, found: list[tuple[str, Finding]]) -> None:
        """Print a line for each finding, and one below it that says what to do."""
        styles = {
            Level.OK: self.style.SUCCESS,
            Level.WARNING: self.style.WARNING,
            Level.PROBLEM: self.style.ERROR,
        }
        for name, finding in found:
            level = styles[finding.level](f"{finding.level:8}")
            self.stdout.write(f"{level} {name:14} {finding.text}")
            if finding.advice:
                self.stdout.write(f"{'':24}{finding.advice}")


def collect(*, url: str, send_to: str, skip: Collection[str]) -> Iterable[tuple[str, Finding]]:
    """Yield each check's name with its findings. A check that fails is a problem itself."""
    checks = ALWAYS | {"email": partial(site_findings.check_emails, send_to=send_to)}
    reached = list(database_findings.check_connection())
    yield from (("database", finding) for finding in reached)
    if all(finding.level is Level.OK for finding in reached):
        checks |= IN_DATABASE
        if not database_findings.missing_migrations():
            checks |= IN_TABLES
    if url:
        checks["address"] = partial(check_address, url)
    for name, check in checks.items():
        if name in skip:
            continue
        try:
            yield from [(name, finding) for finding in check()]
        except Exception as error:  # one broken check must not hide the others
            text = f"The check failed: {type(error).__name__}: {' '.join(str(error).split())}"
            yield name, found_problem(text, "Correct what the error names, or report it.")


def render_json(found: list[tuple[str, Finding]]) -> str:
    """Return the findings as JSON, for programs."""
    rows = [
        {"check": name, "level": each.level, "message": each.text, "advice": each.advice}
        for name, each in found
    ]
    is_well = all(each.level is not Level.PROBLEM for _, each in found)
    return json.dumps({"ok": is_well, "findings": rows}, indent=2)
