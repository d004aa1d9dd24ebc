"""Checks of the line during and after a crowd, all through the API."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from http_load import Connection, request

if TYPE_CHECKING:
    from crowd_site import Site

QUICK_SECONDS = 0.5
MOST_RECOVERY_SECONDS = 120.0
# A free seat is a fault only when seen this often in a row: during the second of a cool-down after
# a miss, there may be nobody else in line.
IDLE_LOOKS = 4


class Watch:
    """Watcher of a job's seats, with its own connection."""

    def __init__(self, site: Site, seats: int) -> None:
        self._site, self._seats = site, seats
        self._connection = Connection(*site.address)
        self._looks = self._missed = self._idle = 0
        self._faults: set[str] = set()

    async def look(self) -> None:
        """Check the seats. If the site is too busy to answer, that is not a fault."""
        path = f"/api/v1/jobs/{self._site.job}"
        try:
            answer = await self._connection.send(request("GET", path, token=self._site.key))
        except (OSError, EOFError):
            self._missed += 1
            return
        if answer.status != 200:
            self._missed += 1
            return
        job = answer.json()
        self._looks += 1
        if job["active_count"] + job["pending_count"] > self._seats:
            self._faults.add("more people hold a seat than there are seats")
        self._idle = self._idle + 1 if job["seats_free"] and job["waitlist_count"] else 0
        if self._idle >= IDLE_LOOKS:
            self._faults.add("a seat is free while people wait")

    def faults(self) -> list[str]:
        """Print how often the seats were seen; return the faults seen."""
        print(f"seats checked {self._looks} times, {self._missed} times without an answer")
        return sorted(self._faults)


async def seconds_to_recover(site: Site) -> float:
    """Return the seconds until three answers in a row are quick."""
    start, quick, connection = time.monotonic(), 0, Connection(*site.address)
    while quick < 3 and time.monotonic() - start < MOST_RECOVERY_SECONDS:
        began = time.monotonic()
        try:
            path = f"/api/v1/jobs/{site.job}"
            answer = await connection.send(request("GET", path, token=site.key))
            is_quick = answer.status == 200 and time.monotonic() - began < QUICK_SECONDS
        except (OSError, EOFError):
            is_quick = False
        quick = quick + 1 if is_quick else 0
        await asyncio.sleep(0.05)
    connection.close()
    return time.monotonic() - start


async def check_line(site: Site, seats: int, accepted: set[str]) -> list[str]:
    """Compare the line with the answers that people got, and verify its log; return the faults."""
    whole = await _read(site, "pipeline?limit=200")
    waiting = await _waitlist(site)
    holders = [each["id"] for each in (*whole["active"], *whole["pending"])]
    live = [*holders, *(each["id"] for each in waiting)]
    verdict = await _read(site, "verify")
    print(f"{len(holders)} hold a seat, {len(waiting):,} wait; log of {verdict['head']['seq']:,}")
    checks = {
        f"{len(holders)} people hold {seats} seats": len(holders) <= seats,
        "a seat is free while people wait": len(holders) == seats
        or all(each["eligible_at"] for each in waiting),
        "positions have gaps": [each["position"] for each in waiting]
        == list(range(1, len(waiting) + 1)),
        "a person is in the line twice": len(set(live)) == len(live),
        "a person is in the line without having been told so": set(live) <= accepted,
        "the chain of the log is broken": verdict["chain"] == "ok",
        "the replay of the log differs from the line": verdict["replay_matches"],
    }
    return [fault for fault, holds in checks.items() if not holds]


def check_order(site: Site, applied: list[tuple[float, float, str, bool]]) -> list[str]:
    """Print how many overtook each person; return who is behind one who sent after their answer.

    In the order of the log, also among those who were refused first and kept trying.
    """
    import harness

    from tests.faults.whole_site.ledger import Entry, order_faults, overtaking

    rows = harness.execute(
        "SELECT seq, at, application_id::text, event, to_status FROM pipeline_event"
        f" WHERE job_id = '{site.job}' AND event = 'APPLIED' ORDER BY seq"
    )
    log = [Entry(*row) for row in rows]
    tried = {each for *_, each, was_refused in applied if was_refused}
    came = [(sent, answered, each) for sent, answered, each, _ in applied]
    groups = {"all": came, "refused first": [each for each in came if each[2] in tried]}
    print("overtaken: by people, and by who came later by, ms; p50, p99, worst of each")
    for name, some in groups.items():
        found = overtaking(some, log)
        if found:
            people, later = zip(*found, strict=True)
            figures = _three(people), _three(later, 1e3)
            print(f"  {name} ({len(some):,}): {figures[0]} | {figures[1]}")
    return order_faults(came, log)


def _three(values: Sequence[float], factor: float = 1.0) -> str:
    import harness

    each = [*(harness.percentile(list(values), share) for share in (0.5, 0.99)), max(values)]
    return ", ".join(f"{value * factor:.0f}" for value in each)


async def _waitlist(site: Site) -> list[Any]:
    rows: list[Any] = []
    cursor: str | None = ""
    while cursor is not None:
        following = f"&cursor={cursor}" if cursor else ""
        page = await _read(site, f"queue?limit=200{following}")
        rows += page["data"]
        cursor = page["next_cursor"]
    return rows


async def _read(site: Site, what: str) -> Any:
    connection = Connection(*site.address)
    sent = request("GET", f"/api/v1/jobs/{site.job}/{what}", token=site.key)
    for _ in range(20):
        answer = await connection.send(sent)
        if answer.status == 200:
            connection.close()
            return answer.json()
        await asyncio.sleep(float(answer.headers.get("retry-after", 1)))
    raise SystemExit(f"{what} answered {answer.status}")
