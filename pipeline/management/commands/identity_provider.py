"""`manage.py identity_provider`: single sign-on as the operator sets it up, and the way back in."""

from __future__ import annotations

import sys
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs.models import Company
from pipeline.models import IdentityProvider
from pipeline.sign_on import providers
from pipeline.sign_on.provider import callback_url
from pipeline.sign_on.providers import SetUpRefused


class Command(BaseCommand):
    requires_system_checks = ("environment",)  # the other checks load every URL
    help = (
        "Set up the identity provider of the whole site or, with --company, of a company. Without "
        "an act, list all. `--optional` lets members sign in with a code again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--company", metavar="ID", help="the company; without it, the site")
        parser.add_argument("--issuer", help="set it up: the address by which it names itself")
        parser.add_argument("--client-id", default="")
        parser.add_argument("--name", default="Single sign-on", help="as people know it")
        parser.add_argument(
            "--inside",
            action="store_true",
            help="the provider may be at a private address; only for one that you run",
        )
        parser.add_argument(
            "--trust-domain",
            action="append",
            default=[],
            metavar="DOMAIN",
            help="let it vouch for addresses at this domain, without a record",
        )
        acts = parser.add_mutually_exclusive_group()
        acts.add_argument("--require", action="store_true", help="sign in there only")
        acts.add_argument("--optional", action="store_true", help="codes and passwords work again")
        acts.add_argument("--remove", action="store_true")

    def handle(self, *, company: str | None, issuer: str | None, **given: Any) -> None:
        company_id = self._company_id(company)
        try:
            if issuer:
                self._save(company_id, issuer, given)
            row = IdentityProvider.objects.filter(company=company_id).first()
            asked = any(given[name] for name in ("trust_domain", "require", "optional", "remove"))
            if asked and row is None:
                raise CommandError("There is no identity provider. Set one up with --issuer.")
            if row and asked:
                self._act(row, given)
        except SetUpRefused as refused:
            raise CommandError(str(refused)) from None
        self._list()

    def _company_id(self, text: str | None) -> UUID | None:
        if text is None:
            return None
        try:
            return Company.objects.get(id=UUID(text), sandbox_of=None).id
        except (ValueError, Company.DoesNotExist):
            raise CommandError(f"{text!r} is not the id of a company.") from None

    def _save(self, company_id: UUID | None, issuer: str, given: dict[str, Any]) -> None:
        if not given["client_id"]:
            raise CommandError("Enter --client-id, and the secret on standard input.")
        secret = "" if sys.stdin.isatty() else sys.stdin.readline().strip()
        providers.save(
            company_id=company_id,
            by=None,
            name=given["name"],
            issuer=issuer,
            client_id=given["client_id"],
            secret=secret,
            inside=given["inside"],
        )

    def _act(self, row: IdentityProvider, given: dict[str, Any]) -> None:
        for domain in given["trust_domain"]:
            providers.trust_domain(row, domain)
        if given["require"] or given["optional"]:
            providers.set_required(row, required=given["require"], by=None)
        if given["remove"]:
            providers.remove(row, by=None)

    def _list(self) -> None:
        for row in IdentityProvider.objects.select_related("company").order_by("id"):
            proved = row.domains.filter(proved_at__isnull=False).values_list("domain", flat=True)
            whose = f"{row.company.name} ({row.company_id})" if row.company else "the site"
            state = "required" if row.is_required else "optional"
            domains = ", ".join(proved) or "no domain"
            self.stdout.write(f"{row.name}, {row.issuer}: {whose}, {state}, {domains}")
            self.stdout.write(f"  redirect address: {callback_url(row)}")
