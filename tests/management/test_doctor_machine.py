"""`manage.py doctor` on the machine it runs on: emails, secrets, files, disk, time zones."""

from __future__ import annotations

import shutil
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings

from pipeline.config import env
from pipeline.management.doctor import site_findings, work_findings
from pipeline.management.doctor.findings import Level
from tests.management.test_doctor import _emails_and_anchors_in_order, found, only
from tests.support.smtp import Mailbox, free_port, mail_server, point_to

__all__ = ["_emails_and_anchors_in_order"]
pytestmark = pytest.mark.django_db(transaction=True)


def test_a_test_email_arrives(settings: Any) -> None:
    settings.DEV_MAIL, mailbox = False, Mailbox()
    with mail_server(settings, mailbox):
        level, message, _ = only("email", "--send-to", "ops@example.org")

    assert (level, "ops@example.org was handed over" in message) == ("ok", True)
    [taken] = mailbox.taken
    assert (taken["To"], taken["Subject"]) == ("ops@example.org", "Next in Line: a test email")


def test_an_email_server_that_does_not_answer_or_refuses_is_a_problem(settings: Any) -> None:
    settings.DEV_MAIL, mailbox = False, Mailbox()
    point_to(settings, free_port())
    silent = only("email")
    mailbox.rcpt_answers = ["550 no such user"]
    with mail_server(settings, mailbox):
        refused = only("email", "--send-to", "ops@example.org")

    assert (silent[0], "refused" in silent[1].lower()) == ("problem", True)
    assert (refused[0], "no such user" in refused[1]) == ("problem", True)


def test_without_an_email_server_nobody_can_sign_in(settings: Any) -> None:
    settings.DEV_MAIL = False
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"

    assert only("email")[0] == "problem"


def test_weak_and_readable_secrets_are_named(
    settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings.BASE_DIR = tmp_path
    settings.ANCHOR_KEY_FILE.touch(mode=0o600)
    assert only("secrets")[0] == "ok"

    monkeypatch.setattr(env, "METRICS_TOKEN", "short")
    settings.SECRET_KEY_FALLBACKS = ["x" * 40]
    settings.ANCHOR_KEY_FILE.chmod(0o644)
    monkeypatch.setitem(django_settings.DATABASES["default"], "PASSWORD", "pipeline")

    levels = sorted(level for level, _ in found("secrets").values())
    assert levels == ["problem", "warning", "warning", "warning"]


def test_settings_that_others_can_read_are_a_problem(settings: Any, tmp_path: Path) -> None:
    settings.BASE_DIR, file = tmp_path, tmp_path / ".env"
    file.touch(mode=0o600)
    assert only("secrets")[0] == "ok"

    file.chmod(0o640)

    level, _, advice = only("secrets")
    assert (level, advice) == ("problem", f"Run chmod 600 {file}.")


@pytest.mark.parametrize(("megabytes", "level"), [(100, "problem"), (900, "warning")])
def test_a_disk_that_is_nearly_full_is_noticed(
    monkeypatch: pytest.MonkeyPatch, megabytes: int, level: str
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(0, 0, megabytes * 10**6))

    assert {level for level, _ in found("disk").values()} == {level}


def test_static_files_that_were_not_collected_are_noticed(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WHITENOISE_USE_FINDERS, settings.EMBEDDED_POSTGRES = True, None
    [none] = site_findings.check_static_files()
    settings.WHITENOISE_USE_FINDERS = False
    storage = site_findings.staticfiles_storage
    monkeypatch.setattr(storage, "hashed_files", {"old.css": "old.1.css"}, raising=False)
    [stale] = site_findings.check_static_files()

    assert (none.level, stale.level) == (Level.WARNING, Level.PROBLEM)
    assert "collectstatic" in none.advice
    assert "collectstatic" in stale.advice


def test_hidden_files_need_not_be_collected(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".hidden").touch()
    (tmp_path / "site.css").touch()
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    settings.STATICFILES_DIRS, settings.WHITENOISE_USE_FINDERS = [tmp_path], False
    storage = site_findings.staticfiles_storage
    monkeypatch.setattr(storage, "hashed_files", {"site.css": "site.1.css"}, raising=False)

    [finding] = site_findings.check_static_files()

    assert (finding.level, finding.text) == (Level.OK, "1 static file is collected.")


def test_missing_data_of_time_zones_are_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoneinfo.available_timezones", lambda: {"UTC"})

    assert only("time zones")[0] == "problem"


def test_dead_letters_are_counted_by_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_findings, "site_dead_depth", lambda: {"log.anchor@1": 2})

    level, message, _ = only("tasks")

    assert (level, "2 of log.anchor@1" in message) == ("warning", True)
