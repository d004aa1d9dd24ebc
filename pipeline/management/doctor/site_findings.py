"""Findings about the site's settings and keys, its emails and devices, and this machine."""

from __future__ import annotations

import shutil
import tempfile
import zoneinfo
from base64 import b64encode
from collections.abc import Iterator
from email.utils import parseaddr
from importlib.metadata import version
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.apps import StaticFilesConfig
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core import checks
from django.core.mail import EmailMessage, get_connection

from applicants.models import Device
from pipeline.audit import receipts
from pipeline.audit.receipts import public_receipt_keys
from pipeline.config import env
from pipeline.config.checks import is_public_site
from pipeline.management.doctor.findings import Finding, found_ok, found_problem, found_warning
from pipeline.models import ReceiptKey
from pipeline.notifications.devices import is_push_enabled, vapid_key_id
from pipeline.wording.english import count

_SUBJECT = "Next in Line: a test email"
_TEXT = "manage.py doctor sent this email. If you can read it, the site can send emails."


def check_settings() -> Iterator[Finding]:
    """Run Django's checks; those for deployment only where a site is deployed."""
    is_deployed = settings.EMBEDDED_POSTGRES is None or is_public_site()
    found = [
        message
        for message in checks.run_checks(include_deployment_checks=is_deployed)
        if not message.is_silenced() and message.level >= checks.WARNING
    ]
    for message in found:
        make = found_problem if message.level >= checks.ERROR else found_warning
        text = f"{message.msg} ({message.id})"
        yield make(text, message.hint or "See manage.py check --deploy.")
    if not found:
        scope = "" if is_deployed else " This is a site for one machine: its database is embedded."
        yield found_ok(f"manage.py check finds nothing.{scope}")


def check_emails(*, send_to: str = "") -> Iterator[Finding]:
    """Connect to the email server; send an email to `send_to`, if given."""
    if settings.EMAIL_BACKEND.endswith((".dummy.EmailBackend", ".console.EmailBackend")):
        yield found_problem(
            "No email leaves this site, so nobody can sign in with a code.",
            "Set EMAIL_URL or EMAIL_BACKEND.",
        )
        return
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2]
    if "." not in domain and is_public_site():
        yield found_warning(
            f"MAIL_FROM is an address at {domain or 'no domain'}, so emails may be refused.",
            "Set MAIL_FROM to an address at your own domain.",
        )
    try:
        with get_connection() as backend:
            if send_to:
                EmailMessage(_SUBJECT, _TEXT, to=[send_to], connection=backend).send()
    except Exception as error:  # backends of libraries raise their own
        yield found_problem(
            f"The email server refuses us: {type(error).__name__}: {' '.join(str(error).split())}",
            "Correct EMAIL_URL or EMAIL_BACKEND; ask the provider if the address is right.",
        )
        return
    if settings.DEV_MAIL:
        yield found_ok(f"Emails are kept on this machine: {settings.SITE_URL}/dev/mail/.")
    elif send_to:
        yield found_ok(f"A test email to {send_to} was handed over. Look into its spam folder too.")
    else:
        yield found_ok("The email server answers. Use --send-to ADDRESS to send a test email.")


def check_answers() -> Iterator[Finding]:
    """Check that answers by email can be told from forged ones."""
    if not settings.REPLY_ADDRESS:
        yield found_ok("Applicants answer on their pages: REPLY_ADDRESS is not set.")
    elif not settings.INCOMING_AUTHSERV_ID:
        yield found_warning(
            "Whoever knows a thread’s address can answer in the applicant’s name: no mail server is"
            " named that proves who sent an email.",
            "Set INCOMING_AUTHSERV_ID to the name that your mail server writes into"
            " Authentication-Results.",
        )
    else:
        yield found_ok("Answers by email count as the applicant’s if the mail server proves it.")


def check_devices() -> Iterator[Finding]:
    """Check the key of notifications on devices, and look for devices of an earlier key."""
    if not is_push_enabled() and (stored := Device.objects.count()):
        yield found_warning(
            f"VAPID_PRIVATE_KEY is not set, so stored devices get no notifications: {stored}.",
            "Restore the key under which they were added.",
        )
        return
    if not is_push_enabled():
        yield found_ok("Notifications on devices are off: VAPID_PRIVATE_KEY is not set.")
        return
    subject = settings.VAPID_SUBJECT
    if is_public_site() and "." not in subject.rpartition("@")[2].removeprefix("https://"):
        yield found_warning(
            f"VAPID_SUBJECT is {subject}, so some push services will refuse notifications.",
            "Set VAPID_SUBJECT to a mailto: or https: address at your own domain.",
        )
    lost = Device.objects.exclude(site_key=vapid_key_id()).count()
    if lost:
        yield found_warning(
            f"Devices added under another VAPID_PRIVATE_KEY, which are not reached: {lost}.",
            "Set the former key again, unless it has leaked; or have their owners add them again.",
        )
    else:
        yield found_ok("Notifications on devices are on, and every device is reached by its key.")


def check_receipt_keys() -> Iterator[Finding]:
    """Check that receipts signed with earlier keys verify, and will when a fallback is removed."""
    used = {key.id: bytes(key.public_key) for key in ReceiptKey.objects.all()}
    published = {key.id for key in public_receipt_keys()}
    passing = {
        key.id: key.raw
        for key in receipts.passing_keys()
        if key.id in used or not settings.RECEIPT_KEY
    }
    lost = {key_id: raw for key_id, raw in used.items() if key_id not in published}
    if lost:
        yield found_problem(
            f"Saved receipts no longer verify: their keys are forgotten, {', '.join(lost)}.",
            f"Add {_former_keys_text(lost)} to RECEIPT_FORMER_KEYS. If a key has leaked, leave it"
            " out, and add --skip receipts.",
        )
    if passing:
        yield found_warning(
            "Receipts verify only as long as SECRET_KEY_FALLBACKS is set; their keys:"
            f" {', '.join(passing)}.",
            f"Before you remove it, add {_former_keys_text(passing)} to RECEIPT_FORMER_KEYS.",
        )
    if not (lost or passing):
        yield found_ok("The keys of receipts are published.")


def _former_keys_text(keys: dict[str, bytes]) -> str:
    """Return public keys as RECEIPT_FORMER_KEYS takes them."""
    return ",".join(f"{key_id}:{b64encode(raw).decode()}" for key_id, raw in keys.items())


# Findings about this machine: disk, time zones, static files and secrets.


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
