"""People who apply, confirm and withdraw over HTTP, and repeat each request until it is answered.

Every act has an Idempotency-Key, under which it is sent again after a lost connection, a 5xx, or
the news that an earlier attempt is still under way. The crowd keeps a ledger: each act that the
site has confirmed, each task that it has accepted, and each answer that changed when the request
was sent again under its key.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from tests.faults.whole_site.ledger import Told

TIMEOUT_SECONDS, REST_SECONDS = 5.0, 0.1
IN_USE = "IDEMPOTENCY_KEY_IN_USE"
EVENTS = {"acknowledge": "ACKNOWLEDGED", "withdraw": "WITHDRAWN", "remove": "REMOVED"}
REMOVAL = {"outcome": "REMOVED", "reason": "NO_RESPONSE"}
NOTHING = {"type": "demo.sleep", "payload": {"seconds": 0}}
# What a person may hear whose offer is over, or who was faster than the line.
LATE = {(409, "INVALID_TRANSITION"), (410, "ACKNOWLEDGMENT_EXPIRED")}


@dataclass
class Person:
    """Person with their token; `acts` are those that the site has confirmed.

    `told` has these and what was read, in order.
    """

    token: str
    application: str | None = None
    acts: list[tuple[str, str]] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)


@dataclass(frozen=True)
class Answer:
    """Answer to a request; `is_replay` if it says that it was given before."""

    status: int
    content: Any
    is_replay: bool = False

    @property
    def code(self) -> str:
        """The code of an error."""
        return str(self.content.get("code", "")) if self.status >= 400 else ""


class Crowd:
    """Threads of people at one job. A context manager: at its end, everyone has an answer.

    With the company's `key`, people are also removed, and tasks started. `repeats` is the share of
    answered requests that are sent again, to compare the answers. Between two acts, a thread
    pauses for up to `pause_seconds`. `applied` says when each application was sent first, and when
    its answer had come. `successes` says when, by the monotonic clock, and whether it
    was a change of the line.
    """

    def __init__(
        self,
        port: int,
        job: str,
        tokens: Iterable[str],
        *,
        seed: int,
        key: str = "",
        repeats: float = 0.0,
        pause_seconds: float = 0.05,
        host: str = "127.0.0.1",
    ) -> None:
        self.people = [Person(token) for token in tokens]
        self.job = job
        self.answers: Counter[tuple[int, str]] = Counter()
        self.failures: Counter[tuple[int, str]] = Counter()  # attempts that were sent again
        self.tasks: list[str] = []
        self.applied: list[tuple[float, float, str]] = []
        self.compared = 0
        self.differing: list[tuple[str, Answer, Answer]] = []
        self.slowest_seconds = 0.0
        self.longest_wait_seconds = 0.0  # with all attempts of a request
        self.successes: list[tuple[float, bool]] = []
        self._host = host
        self._port, self._seed, self._key, self._repeats = port, seed, key, repeats
        self._pause_seconds = pause_seconds
        self._is_over = threading.Event()
        self._guard = threading.Lock()
        self._threads: list[threading.Thread] = []

    def start(self, threads: int) -> None:
        """Start the threads, each with its own people."""
        for n in range(threads):
            mine = self.people[n::threads]
            thread = threading.Thread(target=self._live, args=(mine, random.Random(self._seed + n)))
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Begin nothing more."""
        self._is_over.set()

    @property
    def is_at_rest(self) -> bool:
        """Tell whether everything that was sent is answered."""
        return not any(thread.is_alive() for thread in self._threads)

    def end(self) -> None:
        """Begin nothing more; wait until what was sent is answered."""
        self.stop()
        for thread in self._threads:
            thread.join(60)
        assert self.is_at_rest, "a request has no answer"

    @property
    def repeated(self) -> int:
        """How many attempts were sent again."""
        return self.failures.total()

    @property
    def refusals(self) -> dict[tuple[int, str], int]:
        """The answers that nobody should get, by status and code."""
        return {
            answer: count
            for answer, count in self.answers.items()
            if answer[0] >= 400 and answer not in LATE
        }

    @property
    def told(self) -> Counter[tuple[str, str]]:
        """How often each application has done what, as the site confirmed it."""
        return Counter(act for person in self.people for act in person.acts)

    @property
    def readers(self) -> list[list[Told]]:
        """What each person was told, in order."""
        return [person.told for person in self.people]

    def _live(self, mine: list[Person], dice: random.Random) -> None:
        while not self._is_over.is_set():
            if self._key and dice.random() < 0.05:
                self._start_task(dice)
            self._act(dice.choice(mine), dice)
            time.sleep(dice.random() * self._pause_seconds)

    def _start_task(self, dice: random.Random) -> None:
        answer = self._post(self._key, "/tasks", NOTHING, dice)
        if answer.status in (200, 201, 202):
            with self._guard:
                self.tasks.append(answer.content["id"])

    def _act(self, person: Person, dice: random.Random) -> None:
        if person.application is None:
            sent_at = time.monotonic()
            made = self._post(person.token, f"/jobs/{self.job}/applications", {}, dice)
            if made.status in (200, 201):
                person.application = made.content["id"]
                person.acts.append(("APPLIED", made.content["id"]))
                person.told.append((made.content["id"], "APPLIED"))
                with self._guard:
                    self.applied.append((sent_at, time.monotonic(), made.content["id"]))
            return
        own = f"/applications/{person.application}"
        seen = self._send(person.token, "GET", own, None, "")
        if seen.status != 200:
            return
        standing = seen.content["status"], seen.content["position"]
        person.told.append((person.application, *standing))
        if seen.content["status"] == "INACTIVE":
            person.application = None
        elif self._key and dice.random() < 0.03:
            self._move(person, self._key, "remove", dice)
        elif verb := _verb_of(seen.content["status"], dice.random()):
            self._move(person, person.token, verb, dice)

    def _move(self, person: Person, token: str, verb: str, dice: random.Random) -> None:
        body = REMOVAL if verb == "remove" else {}
        answer = self._post(token, f"/applications/{person.application}/{verb}", body, dice)
        if answer.status == 200 and person.application:
            person.acts.append((EVENTS[verb], person.application))
            person.told.append((person.application, EVENTS[verb]))

    def _post(self, token: str, path: str, body: Any, dice: random.Random) -> Answer:
        """Send a request under a key, and sometimes a second time, to compare the answers."""
        key = str(uuid4())
        first = self._send(token, "POST", path, body, key)
        if dice.random() < self._repeats:
            second = self._send(token, "POST", path, body, key)
            with self._guard:
                self.compared += 1
                if (first.status, first.content) != (second.status, second.content):
                    self.differing.append((path, first, second))
        return first

    def _send(self, token: str, method: str, path: str, body: Any, key: str) -> Answer:
        """Send a request until it has an answer that stays."""
        started = time.monotonic()
        while True:
            began = time.monotonic()
            answer = self._try(token, method, path, body, key)
            took = time.monotonic() - began
            code = answer.code if answer else ""
            is_final = answer is not None and (
                answer.status < 500 and answer.status != 429 and code != IN_USE
            )
            with self._guard:
                self.slowest_seconds = max(self.slowest_seconds, took)
                counts = self.answers if is_final else self.failures
                counts[answer.status if answer else 0, code] += 1
                if answer and answer.status < 400:
                    self.successes.append((time.monotonic(), bool(key) and path != "/tasks"))
                    waited = time.monotonic() - started
                    self.longest_wait_seconds = max(self.longest_wait_seconds, waited)
            if answer and is_final:
                return answer
            if method == "GET" and self._is_over.is_set():
                return Answer(0, {})
            time.sleep(REST_SECONDS)

    def _try(self, token: str, method: str, path: str, body: Any, key: str) -> Answer | None:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        client = http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_SECONDS)
        try:
            content = None if body is None else json.dumps(body)
            client.request(method, f"/api/v1{path}", content, headers)
            got = client.getresponse()
            is_replay = got.headers.get("Idempotent-Replayed") == "true"
            return Answer(got.status, json.loads(got.read() or b"{}"), is_replay)
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            client.close()


def _verb_of(status: str, chance: float) -> str:
    """Choose what a person does; mostly nothing, so that offers are open for a while."""
    if status == "PENDING_ACKNOWLEDGMENT" and chance < 0.2:
        return "acknowledge"
    share = {"PENDING_ACKNOWLEDGMENT": 0.3, "ACTIVE": 0.5, "WAITLIST": 0.02}[status]
    return "withdraw" if chance < share else ""
