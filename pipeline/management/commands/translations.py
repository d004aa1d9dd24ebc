"""Show how complete the translations are, list what is missing, or refresh the catalogues."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from pipeline.config import languages
from pipeline.management import translations


class Command(BaseCommand):
    """Command `manage.py translations`. It exits with 1 if an offered language is incomplete."""

    help = __doc__
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        known = [code for code in languages.NAMES if code != languages.SOURCE]
        parser.add_argument("--missing", metavar="LANGUAGE", choices=known, help="list its strings")
        parser.add_argument(
            "--update", action="store_true", help="refresh all catalogues from the sources"
        )

    def handle(self, *_: Any, missing: str, update: bool, **__: Any) -> None:
        """Print the table, or the strings that a language lacks."""
        known = [code for code in languages.NAMES if code != languages.SOURCE]
        if update:
            for code in known:
                changed = translations.update(code)
                self.stdout.write(f"{code}: {'updated' if changed else 'unchanged'}")
        if missing:
            for text in translations.progress_of(missing).missing:
                self.stdout.write(text)
            return
        rows = {code: translations.progress_of(code) for code in known}
        self.stdout.write(f"{'language':10} {'translated':>10} {'missing':>8} {'fuzzy':>6} words")
        for code, row in rows.items():
            counts = f"{row.translated:>10,} {len(row.missing):>8,} {row.fuzzy:>6,}"
            offered = "  offered" if code in languages.OFFERED else ""
            self.stdout.write(f"{code:10} {counts} {row.words:>5,}{offered}")
        faulty = [
            code for code in known if code in languages.OFFERED and not rows[code].is_complete
        ]
        if faulty:
            raise CommandError(f"Offered, but incomplete: {', '.join(faulty)}.")
