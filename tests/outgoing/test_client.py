"""The client: what it connects to, what it reads, and how long it waits."""

from __future__ import annotations

import asyncio
import datetime
import socket
import ssl
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from pipeline.outgoing import addresses, client
from pipeline.outgoing import client as network
from pipeline.outgoing.client import MOST_BODY_BYTES, Answer, Failure, Outgoing, WebhookClient
from tests.support.receiver import Receiver, reply


def post(url: str, *, seconds: float = 5, body: bytes = b"{}") -> Answer:
    """Send one request and return its answer."""
    with WebhookClient(timeout_seconds=seconds) as sender:
        sender.send([Outgoing(uuid4(), uuid4(), uuid4(), url, {"webhook-id": "msg_1"}, body)])
        [answer] = sender.answers(seconds + 5)
    return answer


def resolve_to(monkeypatch: pytest.MonkeyPatch, *turns: list[str]) -> list[str]:
    """Let names resolve to these addresses, in turns; return the addresses connected to."""
    waiting, connected = list(turns), []

    async def getaddrinfo(self: Any, host: Any, port: Any, **_: Any) -> list[Any]:
        found = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in found]

    connect = network.httpcore2.AnyIOBackend.connect_tcp

    async def noted(self: Any, host: str, *args: Any, **kwargs: Any) -> Any:
        connected.append(host)
        return await connect(self, host, *args, **kwargs)

    monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(network.httpcore2.AnyIOBackend, "connect_tcp", noted)
    return connected


def test_an_answer_comes_back_with_its_status_headers_and_body(receiver: Receiver) -> None:
    receiver.answer = lambda handler: reply(
        handler, 202, b"thanks", x_receiver="yes", set_cookie="session=secret"
    )

    answer = post(receiver.url, body=b'{"a":1}')

    assert (answer.status, answer.body, answer.failure) == (202, "thanks", None)
    assert answer.headers["x-receiver"] == "yes"
    assert "set-cookie" not in answer.headers
    assert [each.body for each in receiver.received] == [b'{"a":1}']


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "127.1",
        "2130706433",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "0.0.0.0",  # noqa: S104
    ],
)
def test_this_machine_is_refused_however_it_is_written(
    receiver: Receiver, settings: Any, host: str
) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = False

    answer = post(f"http://{host}:{receiver.port}/hook")

    assert answer.failure is Failure.ADDRESS_REFUSED
    assert receiver.received == []


def test_control_without_the_guard_it_would_be_reached(receiver: Receiver) -> None:
    assert post(f"http://localhost:{receiver.port}/hook").failure is None
    assert len(receiver.received) == 1


def test_a_name_that_resolves_to_a_private_address_is_refused(
    receiver: Receiver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = False
    connected = resolve_to(monkeypatch, ["10.0.0.1", "127.0.0.1"])

    answer = post(f"http://rebinding.example:{receiver.port}/hook")

    assert (answer.failure, answer.detail) == (Failure.ADDRESS_REFUSED, "")
    assert connected == []


def test_a_name_that_changes_after_the_check_is_not_asked_again(
    receiver: Receiver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection goes to the address that was checked, not to the name."""
    settings.WEBHOOK_ALLOW_PRIVATE = False
    connected = resolve_to(monkeypatch, ["192.0.2.1"], ["127.0.0.1"])
    monkeypatch.setattr(
        network,
        "is_webhook_address_allowed",
        lambda each: each == "192.0.2.1" or addresses.is_public_webhook_address(each),
    )

    answer = post(f"http://rebinding.example:{receiver.port}/hook", seconds=1)

    assert answer.failure in (Failure.TIMEOUT, Failure.CONNECTION_FAILED)
    assert connected == ["192.0.2.1"]
    assert receiver.received == []


def test_a_connection_that_ended_up_inside_is_closed_unused(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The peer is looked at too: a network can translate an address that was checked."""
    looks = iter([True, False])
    monkeypatch.setattr(network, "is_webhook_address_allowed", lambda _: next(looks))

    answer = post(receiver.url)

    assert answer.failure is Failure.ADDRESS_REFUSED
    assert receiver.received == []


def test_of_several_addresses_only_the_public_ones_are_tried(
    receiver: Receiver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected = resolve_to(monkeypatch, ["10.0.0.1", "127.0.0.1"])
    monkeypatch.setattr(network, "is_webhook_address_allowed", lambda each: each == "127.0.0.1")

    answer = post(f"http://mixed.example:{receiver.port}/hook")

    assert answer.failure is None
    assert connected == ["127.0.0.1"]


def test_a_redirect_is_not_followed(receiver: Receiver, second_receiver: Receiver) -> None:
    receiver.answers(307, location=second_receiver.url)

    answer = post(receiver.url)

    assert (answer.failure, answer.status) == (Failure.REDIRECT, 307)
    assert second_receiver.received == []


@pytest.mark.parametrize(
    ("status", "failure"),
    [(200, None), (299, None), (400, "STATUS"), (410, "GONE"), (500, "STATUS")],
)
def test_only_2xx_counts_as_delivered(receiver: Receiver, status: int, failure: str | None) -> None:
    receiver.answers(status)

    assert post(receiver.url).failure == failure


def test_a_hanging_receiver_is_given_up_after_the_whole_time(receiver: Receiver) -> None:
    receiver.answer = lambda _: time.sleep(60)

    answer = post(receiver.url, seconds=0.4)

    assert answer.failure is Failure.TIMEOUT
    assert 400 <= answer.duration_ms < 30_000


def test_a_receiver_that_drips_is_given_up_after_the_whole_time(receiver: Receiver) -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "1000")
        handler.end_headers()
        for _ in range(1_000):
            handler.wfile.write(b"x")
            handler.wfile.flush()
            time.sleep(0.05)

    receiver.answer = drip

    answer = post(receiver.url, seconds=0.5)

    assert answer.failure is Failure.TIMEOUT
    assert answer.duration_ms < 30_000


def test_a_huge_answer_is_read_up_to_its_limit(receiver: Receiver) -> None:
    sent = []

    def flood(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", str(10**9))
        handler.end_headers()
        for _ in range(10_000):
            handler.wfile.write(b"x" * 10_000)
            sent.append(10_000)

    receiver.answer = flood

    answer = post(receiver.url)

    assert (answer.status, answer.failure) == (200, None)
    assert len(answer.body) == 2_048
    assert sum(sent) < 10**8
    assert MOST_BODY_BYTES == 16 * 1024


def test_bytes_that_are_no_text_can_be_stored(receiver: Receiver) -> None:
    receiver.answer = lambda handler: reply(handler, 200, b"\x00\xff<")

    assert post(receiver.url).body == "��<"


def test_what_is_no_http_is_a_failure_with_a_name() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with WebhookClient(timeout_seconds=5) as sender:
            sender.send(
                [Outgoing(uuid4(), uuid4(), uuid4(), f"http://127.0.0.1:{port}/", {}, b"{}")]
            )
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"hello, this is no HTTP\r\n\r\n")
                [answer] = sender.answers(5)

    assert answer.failure is Failure.BAD_ANSWER


def test_no_connection_and_no_name_are_failures_with_a_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    assert post(f"http://127.0.0.1:{port}/").failure is Failure.CONNECTION_FAILED
    assert post("http://nothing.invalid/").failure is Failure.NAME_NOT_FOUND


def certificate(folder: Path, host: str) -> tuple[ssl.SSLContext, Path]:
    """A context with a certificate of its own authority for a host, and the authority's file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, key_file = folder / "certificate.pem", folder / "key.pem"
    pem.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key_file)
    return context, pem


@pytest.mark.parametrize(
    ("host", "trusted", "failure"),
    [("localhost", True, None), ("localhost", False, "TLS_FAILED"), ("other", True, "TLS_FAILED")],
)
def test_certificates_are_verified_for_the_name_in_the_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, trusted: bool, failure: str | None
) -> None:
    context, authority = certificate(tmp_path, host)
    if trusted:
        monkeypatch.setattr(
            client, "_tls_context", lambda: ssl.create_default_context(cafile=str(authority))
        )
    receiver = Receiver(context)

    answer = post(f"https://localhost:{receiver.port}/hook")

    receiver.close()
    assert answer.failure == failure
    assert len(receiver.received) == (0 if failure else 1)
