"""The mails of a developer's machine: kept as files, shown in a page, nowhere else."""

from __future__ import annotations

import re
import stat
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.core.mail import EmailMessage, EmailMultiAlternatives
from django.test import Client

from pipeline.mail import dev_mailbox
from pipeline.notifications import previews
from pipeline.pages.applicant import home
from tests.support.pages import page_of, text_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    """Mails are kept, in a folder of the test."""
    settings.DEV_MAIL = True
    settings.DEV_MAIL_FOLDER = tmp_path / "mail"
    settings.EMAIL_BACKEND = "pipeline.mail.dev_mailbox.DevMailboxBackend"
    return settings.DEV_MAIL_FOLDER


def send(to: str = "ana@example.org", subject: str = "Hello", text: str = "Text.") -> None:
    EmailMessage(subject, text, to=[to]).send()


@pytest.mark.parametrize(
    "environment",
    [
        {"REMOTE_ADDR": "192.0.2.1"},
        {"HTTP_X_FORWARDED_FOR": "192.0.2.1"},
        {"HTTP_X_FORWARDED_PROTO": "https"},
        {"HTTP_CF_CONNECTING_IP": "192.0.2.1"},
        {"HTTP_HOST": "testserver"},
    ],
)
def test_nobody_reads_them_through_a_proxy_or_a_tunnel(
    visitor: Client, environment: dict[str, Any]
) -> None:
    send()
    name = dev_mailbox.read_newest()[0].name

    for path in ("/dev/mail/", f"/dev/mail/{name}/"):
        assert visitor.get(path, HTTP_HOST="localhost:8000").status_code == 200
        assert visitor.get(path, **environment).status_code == 404


@pytest.mark.parametrize(
    ("change", "environment"),
    [
        ({"SITE_URL": "https://jobs.example.org"}, {}),
        ({"SITE_URL": "http://192.0.2.7:8000"}, {}),
        ({"SITE_URL": ""}, {}),
        ({"TRUSTED_PROXIES": [ip_network("127.0.0.1/32")]}, {}),
        ({}, {"HTTP_ORIGIN": "https://jobs.example.org"}),
        ({}, {"HTTP_ORIGIN": "http://["}),
    ],
)
def test_nor_through_a_proxy_here_that_rewrites_the_host_and_adds_no_header(
    visitor: Client, settings: Any, change: dict[str, Any], environment: dict[str, Any]
) -> None:
    send()
    assert visitor.get("/dev/mail/", HTTP_HOST="localhost:8000").status_code == 200
    for name, value in change.items():
        setattr(settings, name, value)

    answer = visitor.get("/dev/mail/", HTTP_HOST="localhost:8000", **environment)

    assert answer.status_code == 404


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8000", "http://[::1]:8000", "null"])
def test_a_page_of_this_machine_may_ask_for_them(visitor: Client, origin: str) -> None:
    assert visitor.get("/dev/mail/", HTTP_ORIGIN=origin).status_code == 200


def test_a_mail_can_be_read_and_its_links_lead_on(visitor: Client) -> None:
    send(text="<b>Look</b>\nhttp://127.0.0.1:8000/confirm/x/")

    listed = visitor.get("/dev/mail/")
    page = visitor.get(f"/dev/mail/{dev_mailbox.read_newest()[0].name}/")

    assert "Development only." in text_of(listed)
    assert "to ana@example.org" in text_of(listed)
    assert '<a href="http://127.0.0.1:8000/confirm/x/" rel="nofollow">' in page.content.decode()
    assert "&lt;b&gt;Look" in page.content.decode()


def test_the_newest_come_first_and_can_be_narrowed_to_an_address(visitor: Client) -> None:
    send(subject="First")
    send(subject="Second")
    send(to="bo@example.org", subject="Third")

    page = visitor.get("/dev/mail/", {"to": "ANA@"})

    assert [mail.subject for mail in dev_mailbox.read_newest()] == ["Third", "Second", "First"]
    assert [mail.subject for mail in page.context["mails"]] == ["Second", "First"]
    assert "No emails to this address" in text_of(visitor.get("/dev/mail/", {"to": "zoe"}))


def test_nobody_else_on_the_machine_can_read_them(folder: Path) -> None:
    send()

    [file] = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_only_the_newest_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev_mailbox, "MOST_KEPT", 2)

    for subject in ("1", "2", "3"):
        send(subject=subject)

    assert [mail.subject for mail in dev_mailbox.read_newest()] == ["3", "2"]
    assert len(list(folder.iterdir())) == 2


def test_the_log_says_where_to_read_but_neither_address_nor_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG", logger="pipeline.mail.dev_mailbox")

    send(to="anabel@example.org", text="code 123456")

    assert "a…l@example.org: Hello: read it at" in caplog.text
    assert "anabel" not in caplog.text
    assert "123456" not in caplog.text


def test_what_was_to_an_address_can_be_forgotten() -> None:
    send()
    send(to="bo@example.org")

    dev_mailbox.forget("ana@example.org")

    assert [mail.to for mail in dev_mailbox.read_newest()] == ["bo@example.org"]


@pytest.mark.parametrize("name", ["nonsense", "..", "01795292216649463732-e55e6dd6"])
def test_a_mail_that_is_not_kept_does_not_exist(visitor: Client, name: str) -> None:
    assert visitor.get(f"/dev/mail/{name}/").status_code == 404


def test_without_development_there_is_no_such_page(visitor: Client, settings: Any) -> None:
    send()
    settings.DEV_MAIL = False

    assert visitor.get("/dev/mail/").status_code == 404
    assert visitor.get(f"/dev/mail/{dev_mailbox.read_newest()[0].name}/").status_code == 404


def test_an_email_is_shown_as_html_with_its_own_styles_and_nothing_else(visitor: Client) -> None:
    email = EmailMultiAlternatives("Hello", "Text.", to=["ana@example.org"])
    email.attach_alternative('<p style="color: red">Read me</p>', "text/html")
    email.send()
    name = dev_mailbox.read_newest()[0].name

    answer = visitor.get(f"/dev/mail/{name}/html/")

    assert b"Read me" in answer.content
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "style-src 'unsafe-inline'" in policy
    assert "script" not in policy
    assert f"/dev/mail/{name}/html/" in page_of(visitor, f"/dev/mail/{name}/")


def test_every_kind_of_email_can_be_looked_at(visitor: Client) -> None:
    listed = page_of(visitor, "/dev/mail/")

    for kind in previews.KINDS:
        assert f'href="/dev/mail/previews/{kind}/"' in listed
        assert previews.find(kind)
        assert visitor.get(f"/dev/mail/previews/{kind}/").status_code == 200
        assert visitor.get(f"/dev/mail/previews/{kind}/html/").status_code == 200
    assert "BEGIN:VCALENDAR" in page_of(visitor, "/dev/mail/previews/promoted/")
    for path in ("/dev/mail/previews/nothing/", "/dev/mail/previews/nothing/html/"):
        assert visitor.get(path).status_code == 404


def test_previews_are_for_developers_only(visitor: Client, settings: Any) -> None:
    settings.DEV_MAIL = False

    for path in ("/dev/mail/previews/promoted/", "/dev/mail/previews/promoted/html/"):
        assert visitor.get(path).status_code == 404


def test_an_import_does_not_push_out_a_code(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dev_mailbox, "MOST_KEPT", 3)
    send(subject="Your code")
    for number in range(5):
        message = EmailMultiAlternatives(f"Event {number}", "Text.", to=["bo@example.org"])
        message.attach_alternative("<p>Text.</p>", "text/html")
        message.send()

    kept = [mail.subject for mail in dev_mailbox.read_newest()]

    assert kept == ["Event 4", "Event 3", "Event 2", "Your code"]


def test_many_emails_have_pages(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "ON_ONE_PAGE", 2)
    for number in range(3):
        send(subject=f"Number {number}")

    first = page_of(client, "/dev/mail/")
    [older] = re.findall(r'href="([^"]*before=[^"]*)"', first)

    assert ("Number 2" in first, "Number 0" in first) == (True, False)
    assert "Number 0" in page_of(client, older.replace("&amp;", "&"))
