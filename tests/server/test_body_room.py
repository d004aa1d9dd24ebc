"""Room for large bodies: shared out between clients, kept for known ones, and given back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pipeline.server import request_body
from pipeline.server.clients import Client
from pipeline.server.request_body import (
    MEMORY_BYTES,
    MOST_FILE_BYTES,
    MOST_LARGE_BYTES,
    Body,
    BodyRoom,
    NoRoom,
    may_have_files,
)
from tests.support.virtual_time import seconds_of_loop

STRANGERS = [Client(f"192.0.2.{n}", is_known=False) for n in range(100)]
KNOWN = [Client(f"key:{n}", is_known=True) for n in range(4)]
FILE = 16_000_000


def taken_by(room: BodyRoom, client: Client, length: int) -> int:
    """How many bodies of a length a client can hold; it holds them then."""
    for count in range(1_000):
        try:
            room.take_room(client, length)
        except NoRoom:
            return count
    raise AssertionError("there is no bound")


def receiving(room: BodyRoom, *pieces: bytes, said: int = 0) -> Any:
    """Receive a body as an unknown client sends it."""
    headers = [(b"content-length", str(said).encode())] if said else []
    scope = {"path": "/", "headers": headers}
    messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    messages[-1]["more_body"] = False

    async def receive() -> Any:
        return messages.pop(0)

    async def story() -> bytes:
        with Body(scope, room, STRANGERS[0]) as body:
            return (await body.receive(receive)).read()

    return asyncio.run(story())


@pytest.mark.parametrize(("length", "seconds"), [(0, 30), (1_000_000, 38), (16_000_000, 120)])
def test_a_body_of_files_must_arrive_at_a_least_speed(length: int, seconds: int) -> None:
    headers = [(b"content-length", str(length).encode()), (b"cookie", b"csrftoken=x")]
    room, client = BodyRoom(), STRANGERS[0]

    file = Body({"path": "/jobs/1/uploads/", "headers": headers}, room, client)
    other = Body({"path": "/jobs/1/", "headers": headers}, room, client)

    assert (file._seconds, other._seconds) == (seconds, 30)


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/uploads",
        "/api/v1/uploads/1/content",
        "/jobs/1/apply/",
        "/jobs/1/uploads/",
        "/me/applications/1/files/",
    ],
)
def test_files_may_come_to_these_addresses_with_a_credential_or_cookie(path: str) -> None:
    assert may_have_files({"path": path, "headers": [(b"cookie", b"csrftoken=x")]})
    assert may_have_files({"path": path, "headers": [(b"authorization", b"Bearer x")]})
    assert not may_have_files({"path": path, "headers": []})
    assert not may_have_files({"path": f"{path}x/y", "headers": [(b"cookie", b"a=b")]})


def test_strangers_leave_half_of_the_room_to_known_clients() -> None:
    room = BodyRoom()
    for stranger in STRANGERS:
        taken_by(room, stranger, FILE)
        taken_by(room, stranger, MEMORY_BYTES + 1)

    for known in KNOWN[:2]:
        room.take_room(known, FILE)


def test_one_client_leaves_room_to_the_next() -> None:
    room = BodyRoom()

    counts = [taken_by(room, known, FILE) for known in KNOWN]

    assert counts[0] > 1
    assert all(count >= 1 for count in counts)


def test_a_client_may_always_hold_one_file_where_there_is_room() -> None:
    room = BodyRoom()
    for n, known in enumerate(KNOWN[:3]):
        room.take_room(known, MOST_LARGE_BYTES // 2 ** (n + 1))  # half of what is left

    room.take_room(KNOWN[3], MOST_FILE_BYTES)
    with pytest.raises(NoRoom):
        room.take_room(STRANGERS[0], MOST_FILE_BYTES)


def test_what_was_taken_is_given_back() -> None:
    room = BodyRoom()
    assert taken_by(room, KNOWN[0], FILE) == taken_by(BodyRoom(), KNOWN[0], FILE)
    for _ in range(taken_by(BodyRoom(), KNOWN[0], FILE)):
        room.free(KNOWN[0], FILE)

    assert taken_by(room, KNOWN[1], FILE) == taken_by(BodyRoom(), KNOWN[0], FILE)


def test_a_body_gives_its_room_back_at_its_end() -> None:
    room = BodyRoom()

    whole = receiving(room, b"x" * MEMORY_BYTES, b"y" * 1_000)
    said = receiving(room, b"x" * MEMORY_BYTES, b"y", said=MEMORY_BYTES + 1)

    assert len(whole) == MEMORY_BYTES + 1_000
    assert len(said) == MEMORY_BYTES + 1
    assert not room._held


@pytest.mark.parametrize("bodies", [1, 4])
def test_all_large_bodies_of_a_client_share_one_speed(bodies: int) -> None:
    room = BodyRoom(bytes_per_second=10_000_000)
    pieces = [b"x" * MEMORY_BYTES, *[b"y" * 50_000] * 20, b""]

    async def story() -> None:
        await asyncio.gather(*[received(room, KNOWN[0], pieces) for _ in range(bodies)])

    assert seconds_of_loop(story()) == pytest.approx(0.1 * bodies)
    assert not room._next_read


def test_small_bodies_and_other_clients_wait_for_nobody() -> None:
    room = BodyRoom(bytes_per_second=1)

    async def story() -> None:
        slow = asyncio.create_task(received(room, KNOWN[0], [b"x" * (MEMORY_BYTES + 1), b""]))
        await asyncio.sleep(0)
        await received(room, KNOWN[0], [b"x" * 50_000] * 5)
        await received(room, KNOWN[1], [b"x" * (MEMORY_BYTES + 1)])
        assert not slow.done()  # the control
        slow.cancel()

    assert seconds_of_loop(story()) == 0


async def received(room: BodyRoom, client: Client, pieces: list[bytes]) -> int:
    """Receive a body that comes in these pieces; return its length."""
    messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    messages[-1]["more_body"] = False

    async def receive() -> Any:
        return messages.pop(0)

    with Body({"path": "/", "headers": []}, room, client) as body:
        return len((await body.receive(receive)).read())


@pytest.mark.parametrize("said", [0, MEMORY_BYTES + 1])
def test_room_does_not_leak_where_no_file_can_be_made(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, said: int
) -> None:
    def fail() -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(request_body, "TemporaryFile", fail)
    room = BodyRoom()

    with pytest.raises(NoRoom):
        receiving(room, b"x" * MEMORY_BYTES, b"y", said=said)

    assert not room._held
    assert "could not be stored" in caplog.text
