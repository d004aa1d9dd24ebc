"""`manage.py receive_email`: exit codes for a mail server, and a real one that pipes to it."""

from __future__ import annotations

import asyncio
import io
import os
import smtplib
import sys
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from django.core.management import call_command

from pipeline.correspondence import incoming
from pipeline.correspondence.reply_addresses import make_reply_address
from pipeline.domain.errors import AttachmentsAway
from pipeline.models import Application, ApplicationMessage
from tests.support.correspondence import answer, from_company, texts
from tests.support.environment import process_environment
from tests.support.smtp import free_port

pytestmark = pytest.mark.django_db(transaction=True)


def piped(monkeypatch: pytest.MonkeyPatch, raw: bytes, *arguments: str) -> int:
    """Run the command on a message; its exit code."""
    stdin = io.TextIOWrapper(io.BytesIO(raw))
    monkeypatch.setattr(sys, "stdin", stdin)
    try:
        call_command("receive_email", *arguments, stderr=io.StringIO())
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_each_end_has_the_code_that_a_mail_server_understands(
    application: Application, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, raw = make_reply_address(application.id), answer(application).as_bytes()

    assert piped(monkeypatch, raw, address) == os.EX_OK
    assert piped(monkeypatch, raw, "someone@reply.example") == os.EX_NOUSER
    assert piped(monkeypatch, raw, address, "--sender", "") == os.EX_OK  # dropped
    settings.MESSAGES_PER_DAY = 1
    for number, code in ((2, os.EX_UNAVAILABLE), (3, os.EX_UNAVAILABLE)):
        more = answer(application, Message_ID=f"<{number}@x>").as_bytes()
        assert piped(monkeypatch, more, address) == code
    settings.INCOMING_EMAIL_BYTES = 10
    assert piped(monkeypatch, raw, address) == os.EX_DATAERR
    assert texts(application) == ["On Monday."]


def test_what_can_work_later_is_to_be_tried_again(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise AttachmentsAway

    monkeypatch.setattr(incoming, "take", fail)

    assert piped(monkeypatch, answer(application).as_bytes()) == os.EX_TEMPFAIL


class Pipe:
    """A mail server that hands each message to the command, as Postfix does."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment
        self.codes: list[int] = []

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        command = [sys.executable, "manage.py", "receive_email", *envelope.rcpt_tos]
        process = await asyncio.create_subprocess_exec(
            *command,
            f"--sender={envelope.mail_from or ''}",
            stdin=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self.environment,
            cwd=Path(__file__).parents[2],
        )
        content = envelope.content
        assert isinstance(content, bytes)
        await process.communicate(content)
        self.codes.append(process.returncode or 0)
        answers = {0: "250 OK", os.EX_NOUSER: "550 no such user", os.EX_TEMPFAIL: "451 later"}
        return answers.get(self.codes[-1], "554 refused")


@pytest.mark.slow
def test_an_applicant_answers_by_email_alone_over_real_smtp(
    application: Application, settings: Any
) -> None:
    sent = from_company(application, "When could you start?")
    pipe = Pipe(process_environment(REPLY_ADDRESS="jobs@reply.example"))
    controller = Controller(pipe, hostname="127.0.0.1", port=free_port())
    controller.start()
    try:
        with smtplib.SMTP("127.0.0.1", controller.port) as client:
            email = answer(
                application, "On Monday.\n\nOn Sat, 28 Nov 2026, Acme <a@x> wrote:\n> Hi"
            )
            address = make_reply_address(application.id)
            client.sendmail(application.applicant.email, [address], email.as_bytes())
            client.sendmail("", [address], answer(application, "I am away.").as_bytes())
            with pytest.raises(smtplib.SMTPDataError) as refused:
                client.sendmail("eve@x.example", ["jobs+x@reply.example"], email.as_bytes())
    finally:
        controller.stop()

    assert (pipe.codes, refused.value.smtp_code) == ([os.EX_OK, os.EX_OK, os.EX_NOUSER], 550)
    assert texts(application) == ["When could you start?", "On Monday."]
    row = ApplicationMessage.objects.get(side="APPLICANT")
    assert (row.way, row.unproved) == ("EMAIL", "")
    sent.refresh_from_db()
    assert sent.read_at
