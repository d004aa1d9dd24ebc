"""Clients that would stop a server that let them, in a process of their own.

`python -m tests.server.attack PORT JOB READ_KEY WRITE_KEY` goes on until its input ends. Then it
prints how often each status was answered.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from functools import partial

from tests.server.clients import BUNDLE, all_slow, ask, repeating, slow_reader, slow_sender

# 64 slow clients: they read files, the API's description and pages, or send what never ends.
READ_SLOWLY = [BUNDLE] * 16 + ["/api/v1/openapi.json"] * 8 + ["/"] * 8
SLOW_SENDERS = 32
REPLAYS = UPLOADS = 8
NEWLINES = b"name,email\n" + b"\n" * 8_000_000


def main(port: int, job: str, read_key: str, write_key: str) -> None:
    """Attack until the input ends."""

    def replay() -> int:
        return ask(port, f"/api/v1/jobs/{job}/replay", read_key)[0]

    def upload() -> int:
        path = f"/api/v1/jobs/{job}/applications/import"
        return ask(port, path, write_key, method="POST", body=NEWLINES, Content_Type="text/csv")[0]

    readers = [partial(slow_reader, port, path) for path in READ_SLOWLY]
    with (
        all_slow(readers, [partial(slow_sender, port)] * SLOW_SENDERS),
        repeating(replay, REPLAYS) as replays,
        repeating(upload, UPLOADS) as uploads,
    ):
        sys.stdin.read()
    counts = [Counter(map(str, statuses)) for statuses in (replays, uploads)]
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
