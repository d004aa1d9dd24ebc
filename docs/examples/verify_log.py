"""Prove a job's log from the API alone: python3 verify_log.py JOB_ID [SEQ HASH].

Reads the log with the key in API_KEY from the API at API_URL, and computes every hash again. With a
seq and a hash that you noted earlier, it also says whether that history is still the same. Exits
with 1 and the first bad event if the chain is broken. Needs Python 3.11 and no package.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

API = os.environ.get("API_URL", "http://127.0.0.1:8000/api/v1")
GENESIS = "0" * 64  # the `prev_hash` of a log's first event


def events(job_id: str) -> Iterator[dict[str, Any]]:
    """Yield a job's events, oldest first."""
    cursor: str | None = ""
    while cursor is not None:
        query = {"limit": "200"} | ({"cursor": cursor} if cursor else {})
        asked = Request(  # noqa: S310  the address is yours
            f"{API}/jobs/{job_id}/events?{urlencode(query)}",
            headers={"Authorization": f"Bearer {os.environ['API_KEY']}"},
        )
        with urlopen(asked) as answer:  # noqa: S310  the same address
            page = json.load(answer)
        yield from page["data"]
        cursor = page["next_cursor"]


def canonical(event: dict[str, Any]) -> bytes:
    """Return what an event's hash covers: sorted names, no spaces, UTF-8."""
    same = (
        "seq event from_status to_status outcome cause_seq policy_version at effective_at data"
    ).split()
    covered = {name: event[name] for name in same} | {
        "job": event["job_id"],
        "application": event["application_id"],
        "actor_kind": event["actor"]["kind"],
        "actor_id": event["actor"]["id"],
    }
    return json.dumps(covered, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def first_bad_seq(job_id: str, noted: tuple[int, str] | None) -> tuple[int | None, int, str]:
    """Return the first event that cannot be right, or None; and the head of the log."""
    seq, head = 0, GENESIS
    for event in events(job_id):
        digest = sha256(bytes.fromhex(head) + canonical(event)).hexdigest()
        is_next = event["seq"] == seq + 1 and event["prev_hash"] == head
        if not is_next or event["hash"] != digest:
            return seq + 1, seq, head
        seq, head = event["seq"], digest
        if noted and noted[0] == seq and noted[1] != head:
            return seq, seq, head
    return (seq + 1 if noted and noted[0] > seq else None), seq, head


if __name__ == "__main__":
    job, *rest = sys.argv[1:]
    bad, seq, head = first_bad_seq(job, (int(rest[0]), rest[1]) if rest else None)
    print(f"broken at {bad}" if bad else f"ok {seq} {head}")
    sys.exit(1 if bad else 0)
