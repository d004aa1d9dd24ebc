"""Findings about this machine: disk, time zones, static files and secrets."""

from __future__ import annotations

import shutil
import tempfile
import zoneinfo
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.apps import StaticFilesConfig
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.storage import staticfiles_storage

from pipeline.config import env
from pipeline.management.doctor.findings import Finding, found_ok, found_problem, found_warning
from pipeline.wording.english import count

MEGABYTE = 10**6
DISK_WARNING_MEGABYTES, DISK_PROBLEM_MEGABYTES = 2_000, 200
# Known for as long as time zones exist, so any complete set of data has them.
ZONES = ("Europe/Berlin", "America/New_York", "Asia/Kolkata")
LEAST_PASSWORD_LENGTH = 12


def check_disks() -> Iterator[Finding]:
    """Check the free space of the folders that this machine writes to."""
    folders = {
        "temporary files": Path(tempfile.gettempdir()),
        "the anchors": settings.ANCHOR_FILE.parent,
    }
    if settings.ARCHIVE_DIR:
        folders["the archive"] = settings.ARCHIVE_DIR
    if settings.EMBEDDED_POSTGRES:
        folders["the embedded database"] = settings.EMBEDDED_POSTGRES.base
    for purpose, folder in folders.items():
        there = next(path for path in (folder, *folder.parents) if path.exists())
        free = shutil.disk_usage(there).free // MEGABYTE
        text = f"{free} MB are free for {purpose} ({folder})."
        if free < DISK_PROBLEM_MEGABYTES:
            yield found_problem(text, "Free some space, or use a larger disk.")
        elif free < DISK_WARNING_MEGABYTES:
            yield found_warning(text, "Free some space before it runs out.")
        else:
            yield found_ok(text)


def check_time_zones() -> Iterator[Finding]:
    """Check that the data of time zones are installed."""
    known = zoneinfo.available_timezones()
    if lost := [name for name in ZONES if name not in known]:
        yield found_problem(
            f"The time zone data is incomplete: {', '.join(lost)} is unknown.",
            "Install the package tzdata.",
        )
    else:
        yield found_ok(f"{len(known)} time zones are known; tzdata {version('tzdata')}.")


def check_static_files() -> Iterator[Finding]:
    """Check that static files were collected, and that none of this code's is missing."""
    if settings.WHITENOISE_USE_FINDERS:
        if settings.EMBEDDED_POSTGRES:
            yield found_ok("Static files come from their source folders.")
        else:
            yield found_warning(
                "Static files were not collected, so browsers cannot keep them.",
                "Run manage.py collectstatic, then restart the web servers.",
            )
        return
    # The same patterns as collectstatic's own: it leaves out hidden files.
    ignored = StaticFilesConfig.ignore_patterns
    names = {path for finder in get_finders() for path, _ in finder.list(ignored)}
    collected = getattr(staticfiles_storage, "hashed_files", {})
    if missing := sorted(names - collected.keys()):
        yield found_problem(
            f"{count(len(missing), 'static file was', 'static files were')} not collected,"
            f" for example {missing[0]}.",
            "Run manage.py collectstatic, then restart the web servers.",
        )
    else:
        yield found_ok(f"{count(len(names), 'static file is', 'static files are')} collected.")


def check_secrets() -> Iterator[Finding]:
    """Check secrets that the settings accept but that are weak, or that others can read."""
    found = []
    if env.METRICS_TOKEN and env.is_weak_secret(env.METRICS_TOKEN):
        found.append(
            found_warning(
                "METRICS_TOKEN is easy to guess.",
                f"Use {env.LEAST_KEY_LENGTH} or more random characters.",
            )
        )
    password = str(settings.DATABASES["default"].get("PASSWORD") or "")
    if password and len(password) < LEAST_PASSWORD_LENGTH:
        found.append(
            found_warning(
                "The database's password is short.", "Change it with ALTER ROLE … PASSWORD."
            )
        )
    for file in (
        settings.ANCHOR_KEY_FILE,
        env.STATE_DIR / "secret_key",
        settings.BASE_DIR / ".env",
    ):
        if file.exists() and file.stat().st_mode & 0o077:
            found.append(found_problem(f"Others can read {file}.", f"Run chmod 600 {file}."))
    if settings.SECRET_KEY_FALLBACKS:
        found.append(
            found_warning(
                f"{len(settings.SECRET_KEY_FALLBACKS)} earlier secret keys are still accepted.",
                "Remove SECRET_KEY_FALLBACKS 62 days after the change, or now if a key leaked; see"
                " receipts first.",
            )
        )
    yield from found or [found_ok("Keys are long enough, and closed to other users.")]
