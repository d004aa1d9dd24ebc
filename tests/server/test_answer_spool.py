"""The store between a thread that makes a large answer and a client that takes it."""

from __future__ import annotations

import threading
import time

import pytest

from pipeline.server import wsgi
from pipeline.server.wsgi import Abandoned, AnswerSpool


def all_of(spool: AnswerSpool) -> bytes:
    """Read the stored content in small pieces."""
    taken, is_last = b"", False
    while not is_last:
        piece, is_last = spool.take_bytes(1_000)
        taken += piece
    return taken


def test_what_is_written_comes_out_in_order_however_much_it_is() -> None:
    spool = AnswerSpool(lambda: None)
    pieces = [bytes([n % 256]) * 50_000 for n in range(20)]

    for piece in pieces[:5]:
        spool.write(piece)
    first, _ = spool.take_bytes(10**9)
    for piece in pieces[5:]:
        spool.write(piece)
    spool.end()

    assert first + all_of(spool) == b"".join(pieces)
    spool.close()
    assert AnswerSpool.bytes_of_all == 0


def test_a_writer_does_not_wait_for_a_slow_client_within_bounds() -> None:
    spool = AnswerSpool(lambda: None)
    start = time.monotonic()

    for _ in range(100):
        spool.write(b"x" * 65_536)

    assert time.monotonic() - start < wsgi.PATIENCE_SECONDS  # nobody has taken any
    spool.close()


def test_beyond_the_bounds_it_waits_and_gives_up_a_client_that_takes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wsgi, "MOST_WAITING_BYTES", 100_000)
    monkeypatch.setattr(wsgi, "PATIENCE_SECONDS", 0.2)
    spool = AnswerSpool(lambda: None)
    spool.write(b"x" * 100_000)

    with pytest.raises(Abandoned):
        spool.write(b"x")

    monkeypatch.setattr(wsgi, "PATIENCE_SECONDS", 60.0)
    threading.Timer(0.05, lambda: spool.take_bytes(50_000)).start()
    spool.write(b"x")
    spool.close()


def test_when_the_client_is_gone_the_writer_hears_of_it() -> None:
    spool = AnswerSpool(lambda: None)
    spool.write(b"x")
    spool.close()

    with pytest.raises(Abandoned):
        spool.write(b"x")
    assert AnswerSpool.bytes_of_all == 0
