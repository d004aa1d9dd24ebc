"""Request bodies, received before authentication: large ones on disk, within limits.

Disk space for bodies is limited for the whole process, for strangers and for each client. A body
without room is refused before it is received, if it declares its length.
"""

from __future__ import annotations

import asyncio
import io
import logging
import re
from collections import Counter
from tempfile import TemporaryFile
from typing import IO

from pipeline.server.clients import Client
from pipeline.web.asgi_types import Message, Receive

# More than Django accepts. A body that declares a greater length is left unread and refused, and
# the connection is closed.
MOST_BODY_BYTES = 3_000_000
BODY_SECONDS = 30.0
# The same for requests with files, which may have 16 MB in addition to their form. One that is
# shorter has less time: each body of files must arrive at least this fast.
MOST_FILE_BYTES = 17_000_000
FILE_SECONDS = 120.0
LEAST_BYTES_PER_SECOND = 125_000
# A longer body is stored on disk and counts as large.
MEMORY_BYTES = 262_144
MOST_LARGE_BYTES = 268_435_456
# How fast a process reads the large bodies of one client, all of them together. Faster ones would
# take the event loop's time from other clients.
LARGE_BYTES_PER_SECOND = 8_000_000

logger = logging.getLogger(__name__)

_TAKES_FILES = re.compile(
    r"/api/v1/jobs/[^/]+/applications/import|/company/jobs/[^/]+/import/"
    r"|/api/v1/uploads(/[^/]+/content)?|/jobs/[^/]+/(apply|uploads)/|/me/applications/[^/]+/files/"
    r"|/(me|company)/applications/[^/]+/messages/|/anymail/[^/]+/inbound[^/]*/"
)


class Gone(Exception):
    """The client no longer waits for a response."""


class TooLong(Exception):
    """The body is too long."""


class TooSlow(Exception):
    """The body did not end in time."""


class NoRoom(Exception):
    """Too many bytes of large bodies are held already."""


class BodyRoom:
    """Room of one process for the bytes of large bodies.

    Strangers may use half of it, so the other half is always left for known clients. A client may
    hold one file, or half of what the others leave, so a few clients cannot fill it. Its bodies
    share one speed.
    """

    def __init__(
        self,
        most_bytes: int = MOST_LARGE_BYTES,
        bytes_per_second: float = LARGE_BYTES_PER_SECOND,
    ) -> None:
        self._most = most_bytes
        self._bytes_per_second = bytes_per_second
        self._held: Counter[Client] = Counter()
        self._next_read: dict[Client, float] = {}  # by the event loop's clock

    def take_room(self, client: Client, length: int) -> None:
        """Count bytes that a client uses. Raises NoRoom."""
        left = self._most - self._held.total()
        if not client.is_known:
            of_strangers = sum(self._held[each] for each in self._held if not each.is_known)
            left = min(left, self._most // 2 - of_strangers)
        share = max(MOST_FILE_BYTES, (left + self._held[client]) // 2)
        if length > left or self._held[client] + length > share:
            raise NoRoom
        self._held[client] += length

    def free(self, client: Client, length: int) -> None:
        """Give bytes of a client back."""
        self._held[client] -= length
        if not self._held[client]:
            del self._held[client]
            self._next_read.pop(client, None)

    async def keep_pace(self, client: Client, length: int) -> None:
        """Wait as long as a client's bytes take at the speed of large bodies."""
        now = asyncio.get_running_loop().time()
        due = max(now, self._next_read.get(client, now)) + length / self._bytes_per_second
        self._next_read[client] = due
        await asyncio.sleep(due - now)


class Body:
    """Body of one request. A context manager that closes it at the end."""

    def __init__(self, scope: Message, room: BodyRoom, client: Client) -> None:
        is_file = may_have_files(scope)
        self._said_length = declared_length(scope)
        self._most = MOST_FILE_BYTES if is_file else MOST_BODY_BYTES
        self._seconds = BODY_SECONDS
        if is_file:
            needed = self._said_length / LEAST_BYTES_PER_SECOND
            self._seconds = min(FILE_SECONDS, BODY_SECONDS + needed)
        self._room = room
        self._client = client
        self._pieces: list[bytes] = []
        self._file: IO[bytes] | None = None
        self._length = 0
        self._counted = 0

    def __enter__(self) -> Body:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Discard the body, and free its room."""
        if self._counted:
            self._room.free(self._client, self._counted)
            self._counted = 0
        if self._file is not None:
            self._file.close()

    @property
    def is_left_unread(self) -> bool:
        """Tell whether the body declares a length that is too long."""
        return self._said_length > self._most

    async def receive(self, receive: Receive) -> IO[bytes]:
        """Return the whole body, empty if it is left unread.

        Raises Gone, TooLong, TooSlow, NoRoom.
        """
        if self.is_left_unread:
            return io.BytesIO()
        try:
            if self._said_length > MEMORY_BYTES:
                self._make_room(self._said_length)
            async with asyncio.timeout(self._seconds):
                await self._receive_all(receive)
        except TimeoutError:
            raise TooSlow from None
        except OSError as error:
            logger.exception("A large body could not be stored")
            raise NoRoom from error
        if self._file is None:
            return io.BytesIO(b"".join(self._pieces))
        self._file.seek(0)
        return self._file

    async def _receive_all(self, receive: Receive) -> None:
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Gone
            piece = message.get("body", b"")
            self._length += len(piece)
            if self._length > self._most:
                raise TooLong
            if self._length > MEMORY_BYTES:
                self._make_room(max(0, self._length - self._counted))
            if self._file is None:
                self._pieces.append(piece)
            else:
                self._file.writelines([*self._pieces, piece])
                self._pieces.clear()
            more = message.get("more_body", False)
            if more and self._file is not None:
                await self._room.keep_pace(self._client, len(piece))

    def _make_room(self, length: int) -> None:
        self._room.take_room(self._client, length)
        self._counted += length
        if self._file is None:
            self._file = TemporaryFile()  # noqa: SIM115  closed by `close`


def may_have_files(scope: Message) -> bool:
    """Return whether a request may bring files, with a credential or a page's cookie."""
    has_credential = any(name in (b"authorization", b"cookie") for name, _ in scope["headers"])
    return has_credential and _TAKES_FILES.fullmatch(scope["path"]) is not None


def declared_length(scope: Message) -> int:
    """Return a body's declared length, or 0."""
    return next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)
