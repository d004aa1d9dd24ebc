"""Hub of one process's live pages: passes announcements from the database to watchers.

All of it runs in the process's event loop, so it needs no locks.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from uuid import UUID

import psycopg
from prometheus_client import Gauge

from pipeline.config import env
from pipeline.domain.permissions import RULES, Action
from pipeline.live.channel import CHANNEL, connection_parameters, parse_payload
from pipeline.live.stream_tokens import StreamToken
from tasks.failure_log import failures
from tasks.listen import ListenerWaits

log = logging.getLogger(__name__)

MOST_WATCHERS = 2_000
# How many streams one page's token may hold: one, and another while the page reconnects.
MOST_PER_TOKEN = 4
# How often sessions and roles are checked, and so how long a stream may outlive them.
SESSION_SECONDS = 10.0
MOST_ENDED = 10_000
MOST_REMEMBERED = 10_000
CLOCKS_DIFFER_SECONDS = 2
_SESSION = "-c application_name=live_pages"
_SESSIONS = (
    "SELECT session_key FROM django_session WHERE session_key = ANY(%s) AND expire_date > now()"
)

# The pairs of account and job of which the account may see the job's line. A sandbox has the
# members of its live company.
_READERS = """
SELECT member.user_id, job.id
FROM unnest(%(users)s::uuid[], %(jobs)s::uuid[]) pair (user_id, job_id)
JOIN jobs_job job ON job.id = pair.job_id
JOIN jobs_company company ON company.id = job.company_id
JOIN jobs_membership member ON member.user_id = pair.user_id
 AND member.company_id = coalesce(company.sandbox_of_id, company.id)
LEFT JOIN jobs_jobmember on_job ON on_job.membership_id = member.id AND on_job.job_id = job.id
WHERE member.role = ANY(%(roles)s) OR on_job.role = ANY(%(job_roles)s)
"""

STREAMS = Gauge(
    "nextinline_live_streams", "Pages that receive live updates.", multiprocess_mode="livesum"
)


class HubFull(Exception):
    """The hub has too many watchers, or the process is ending."""


class StreamEnded(Exception):
    """The token's member may no longer see all of its jobs."""


class HubWatcher:
    """Open page that is told when one of its jobs changes."""

    def __init__(self, token: StreamToken, address: str = "", session_key: str = "") -> None:
        self.token = token
        self.address = address
        # The session that the stream ends with; "" if it needs none.
        self.session_key = session_key if token.session else ""
        self.jobs = token.jobs
        self.issued = token.issued
        self.news: dict[UUID, int] = {}
        # Whether changes may have been missed, so that the page should check.
        self.missed = False
        self.is_over = False
        self._wake = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Wait for news or the end, up to a timeout."""
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return
        self._wake.clear()

    def tell(self, job: UUID, seq: int) -> None:
        """Note that a job has changed. Only its latest change counts."""
        self.news[job] = seq
        self._wake.set()

    def note_missed_changes(self) -> None:
        """Note that changes may have been missed."""
        self.missed = True
        self._wake.set()

    def close_stream(self) -> None:
        """End the stream: the reader or the server is leaving."""
        self.is_over = True
        self._wake.set()

    def take_changes(self) -> tuple[dict[UUID, int], bool]:
        """Return the changes since the last call, and whether some may have been missed."""
        told = self.news, self.missed
        self.news, self.missed = {}, False
        return told


class Hub:
    """Hub that listens on one connection, from its first watcher until its end."""

    def __init__(
        self,
        *,
        most_watchers: int = MOST_WATCHERS,
        per_address: int = env.STREAMS_PER_ADDRESS,
        per_token: int = MOST_PER_TOKEN,
    ) -> None:
        self.most_watchers = most_watchers
        self.per_address = per_address
        self.per_token = per_token
        self._held: Counter[str] = Counter()
        self._watchers: set[HubWatcher] = set()
        self._of_job: dict[UUID, set[HubWatcher]] = {}
        self._listening: asyncio.Task[None] | None = None
        self._checking: asyncio.Task[None] | None = None
        self._is_closed = False
        self._heard = _HubNews()
        # Tokens whose members have lost a job; a page that comes back with one gets no stream.
        self._ended: set[str] = set()

    def __len__(self) -> int:
        return len(self._watchers)

    @contextmanager
    def watching(
        self, token: StreamToken, *, address: str = "", session_key: str = ""
    ) -> Iterator[HubWatcher]:
        """Register a watcher of a token's jobs while the block runs. Raises HubFull, StreamEnded.

        `session_key` is the browser's. A token that is bound to a session ends with it.
        """
        is_full = self._is_closed or len(self._watchers) >= self.most_watchers
        takes_too_many = self._held[address] >= self.per_address
        if is_full or takes_too_many or self._held[token.text] >= self.per_token:
            raise HubFull
        if token.text in self._ended:
            raise StreamEnded
        watcher = HubWatcher(token, address, session_key)
        self._add(watcher)
        try:
            yield watcher
        finally:
            self._remove(watcher)

    def _add(self, watcher: HubWatcher) -> None:
        self._watchers.add(watcher)
        self._held.update([watcher.address, watcher.token.text])
        STREAMS.inc()
        if watcher.session_key and self._checking is None:
            self._checking = asyncio.get_running_loop().create_task(self._check_sessions())
        for job in watcher.jobs:
            self._of_job.setdefault(job, set()).add(watcher)
        if self._listening is None:
            self._listening = asyncio.get_running_loop().create_task(self._keep_listening())
        elif self._heard.may_have_changed(watcher):
            watcher.note_missed_changes()

    def _remove(self, watcher: HubWatcher) -> None:
        self._watchers.discard(watcher)
        for name in (watcher.address, watcher.token.text):
            self._held[name] -= 1
            if not self._held[name]:
                del self._held[name]
        STREAMS.dec()
        for job in watcher.jobs:
            others = self._of_job[job]
            others.discard(watcher)
            if not others:
                del self._of_job[job]

    def close(self) -> None:
        """End all streams and accept no new ones."""
        self._is_closed = True
        for watcher in list(self._watchers):
            watcher.close_stream()
        for task in (self._listening, self._checking):
            if task:
                task.cancel()

    async def _keep_listening(self) -> None:
        """Listen until cancelled. After each (re)connection, every page reloads."""
        waits = ListenerWaits()
        while True:
            try:
                async with await _connect() as session:
                    waits.reset()
                    failures.write_answer(log)
                    self._heard = _HubNews()
                    for watcher in self._watchers:
                        watcher.note_missed_changes()
                    await self._pass_on(session)
            except Exception as error:
                failures.write_failure(log, "listening for changes failed", error)
            await asyncio.sleep(waits.next_seconds())

    async def _check_sessions(self) -> None:
        """End the streams whose sessions have ended, or whose members have lost a job.

        As long as any stream is bound to a session.
        """
        while bound := [watcher for watcher in self._watchers if watcher.session_key]:
            try:
                connecting = psycopg.AsyncConnection.connect(**connection_parameters())
                async with await connecting as session:
                    over = await _find_over(session, bound)
            except (psycopg.Error, OSError):
                over = []  # unknown: check later
            for watcher in over:
                watcher.close_stream()
                if watcher.token.member_id:
                    self._note_ended(watcher.token.text)
            await asyncio.sleep(SESSION_SECONDS)
        self._checking = None

    def _note_ended(self, text: str) -> None:
        if len(self._ended) >= MOST_ENDED:
            self._ended.clear()
        self._ended.add(text)

    async def _pass_on(self, session: psycopg.AsyncConnection[Any]) -> None:
        async for notification in session.notifies():
            try:
                told = parse_payload(notification.payload)
            except ValueError:
                log.warning("unknown message on the channel %s", CHANNEL)
                continue
            self._heard.note_jobs(told)
            for job, seq in told.items():
                for watcher in self._of_job.get(job, ()):
                    watcher.tell(job, seq)


class _HubNews:
    """Latest changes of jobs, for pages that were rendered before their stream began."""

    def __init__(self) -> None:
        self._since = time.time()
        self._changed: dict[UUID, float] = {}

    def note_jobs(self, told: Iterable[UUID]) -> None:
        if len(self._changed) > MOST_REMEMBERED:
            self._since, self._changed = time.time(), {}
        self._changed.update(dict.fromkeys(told, time.time()))

    def may_have_changed(self, watcher: HubWatcher) -> bool:
        """Return whether a job may have changed after the page was rendered.

        May err towards yes.
        """
        last = max(self._changed.get(job, self._since) for job in watcher.jobs)
        return last >= watcher.issued - CLOCKS_DIFFER_SECONDS


async def _find_over(
    session: psycopg.AsyncConnection[Any], bound: list[HubWatcher]
) -> list[HubWatcher]:
    """Return the watchers whose session has ended, or who may no longer see one of their jobs."""
    found = await session.execute(_SESSIONS, [list({watcher.session_key for watcher in bound})])
    living = {key for (key,) in await found.fetchall()}
    followed = {each: _followed_pairs(each) for each in bound}
    pairs = list(set().union(*followed.values()))
    allowed: set[tuple[UUID, UUID]] = set()
    if pairs:
        rule = RULES[Action.READ_JOB]
        found = await session.execute(
            _READERS,
            {
                "users": [user_id for user_id, _ in pairs],
                "jobs": [job_id for _, job_id in pairs],
                "roles": [role.value for role in rule.roles],
                "job_roles": [role.value for role in rule.job_roles],
            },
        )
        allowed = set(await found.fetchall())
    return [
        each
        for each, pairs_of_watcher in followed.items()
        if each.session_key not in living or not pairs_of_watcher <= allowed
    ]


def _followed_pairs(watcher: HubWatcher) -> set[tuple[UUID, UUID]]:
    reader = watcher.token.member_id
    return {(reader, job_id) for job_id in watcher.jobs} if reader else set()


async def _connect() -> psycopg.AsyncConnection[Any]:
    session = await psycopg.AsyncConnection.connect(**connection_parameters(), options=_SESSION)
    await session.execute(f"LISTEN {CHANNEL}")
    return session


@cache
def hub_of_process() -> Hub:
    """Return this process's only hub, which listens from its first stream on."""
    return Hub()
