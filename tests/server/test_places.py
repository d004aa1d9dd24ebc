"""Places of those who are refused: who gets a token, what it is good for, and what it is not."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from html import unescape
from io import BytesIO
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import pytest

from pipeline.line.arrivals import Arrival, current_arrival
from pipeline.line.handover import Handover, take_part_in_handover
from pipeline.line.peers import Peers
from pipeline.server import lines, places
from pipeline.server.lines import MOST_OF_CLIENT, JobLine
from pipeline.server.places import FIELD, HEADER, LIFE_SECONDS, Attempt
from pipeline.server.requests import Overloaded, RequestQueue
from pipeline.server.wsgi import WSGIAdapter
from tests.server.in_process import adapter_of, serving_here
from tests.server.test_request_queue import begun
from tests.support.waiting import PATIENCE_SECONDS, eventually

JOB, OTHER_JOB = UUID("018f0c6e-5d5b-7a00-8000-000000000001"), UUID(int=2)
API, PAGE = f"/api/v1/jobs/{JOB}/applications", f"/jobs/{JOB}/apply/"
ADA = b'{"name": "Ada", "email": "ada@example.org"}'
FORM = [
    ("csrfmiddlewaretoken", "c"),
    ("submission_id", "s"),
    ("name", 'Ada "A" <&>'),
    ("email", "a@b.c"),
]
SECOND = 1_000_000_000


@pytest.fixture(autouse=True)
def handover() -> Iterator[Handover]:
    """This process's part in the hand-over, alone."""
    peers = Peers(1)
    part = Handover(peers, 0, lambda work: work())
    take_part_in_handover(part)
    yield part
    take_part_in_handover(None)
    peers.close()


def attempt(
    content: bytes = ADA, *, token: str = "", job_id: UUID = JOB, credential: bytes = b""
) -> Attempt:
    """An attempt over the API."""
    headers = [(HEADER.lower().encode(), token.encode())] if token else []
    scope = {"path": API, "scheme": "http", "headers": headers}
    return Attempt(scope, job_id, credential, BytesIO(content))


def form(fields: list[tuple[str, str]], *, origin: str = "http://localhost") -> Attempt:
    """An attempt by a page's form."""
    headers = [
        (b"host", b"localhost"),
        (b"origin", origin.encode()),
        (b"content-type", b"application/x-www-form-urlencoded"),
    ]
    scope = {"path": PAGE, "scheme": "http", "headers": headers}
    return Attempt(scope, JOB, b"", BytesIO(as_browser(fields)))


def as_browser(fields: list[tuple[str, str]]) -> bytes:
    """Fields as browsers encode them: an asterisk stays, and a tilde does not."""
    return urlencode(fields, safe="*").replace("~", "%7E").encode()


CAME_AT = 1_700_000_000_123_456_789


def test_the_next_attempt_counts_as_the_first() -> None:
    token = attempt().issue(CAME_AT)

    assert attempt(token=token).place() == CAME_AT
    assert attempt().place() is None


def test_a_token_cannot_be_forged() -> None:
    token = attempt().issue(CAME_AT)

    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for n, letter in enumerate(token):
        other = letters[letters.index(letter) ^ 1]
        assert attempt(token=f"{token[:n]}{other}{token[n + 1 :]}").place() is None, n
    for bad in (
        "x",
        token[:-1],
        f"{token}A",
        f"{token[:-1]}=",
        "\xff" * len(token),
        "!" * len(token),
    ):
        assert attempt(token=bad).place() is None


def test_a_token_is_signed_with_a_key_of_its_own_and_outlives_a_change_of_the_secret_key(
    settings: Any,
) -> None:
    token, old = attempt().issue(CAME_AT), settings.SECRET_KEY
    settings.SECRET_KEY = "another-secret-key-0123456789-abcdef"

    assert attempt(token=token).place() is None
    settings.SECRET_KEY_FALLBACKS = [old]
    assert attempt(token=token).place() == CAME_AT
    assert places._key(old) != old.encode()


@pytest.mark.parametrize(
    "changes",
    [
        {"job_id": OTHER_JOB},
        {"content": ADA.replace(b"ada@", b"eve@")},
        {"content": ADA.replace(b'"Ada"', b'"Eve"')},
        {"credential": b"of someone else"},
    ],
    ids=["job", "address", "name", "credential"],
)
def test_a_token_is_good_for_the_same_application_alone(changes: dict[str, Any]) -> None:
    token = attempt().issue(CAME_AT)

    assert attempt(**changes, token=token).place() is None


def test_a_token_is_short_lived(monkeypatch: pytest.MonkeyPatch) -> None:
    token, now = attempt().issue(CAME_AT), time.time()

    monkeypatch.setattr(time, "time", lambda: now + LIFE_SECONDS - 2)
    assert attempt(token=token).place() == CAME_AT
    monkeypatch.setattr(time, "time", lambda: now + LIFE_SECONDS)
    assert attempt(token=token).place() is None


def test_a_form_has_its_token_as_its_last_field_and_is_bound_to_all_others() -> None:
    sent = (FIELD, form(FORM).issue(CAME_AT))

    assert form([*FORM, sent]).place() == CAME_AT
    assert form([*FORM, (FIELD, "old"), sent]).place() is None
    assert form([*FORM, sent, sent]).place() is None
    for fields in (FORM[1:], [*FORM, ("email", "eve@b.c")], [*FORM[:-1], ("email", "eve@b.c")]):
        assert form([*fields, sent]).place() is None
    assert form([*FORM, sent, ("email", "eve@b.c")]).place() is None, "Django would take the last"


def test_only_a_form_of_this_site_is_kept() -> None:
    assert form(FORM).kept_fields() == FORM
    assert form([*FORM, (FIELD, "old")]).kept_fields() == FORM
    assert attempt().kept_fields() is None
    for origin in ("https://evil.example", "null", ""):
        assert form(FORM, origin=origin).kept_fields() is None


def in_parts(fields: list[tuple[str, str]], *, file: bytes = b"") -> Attempt:
    """An attempt by a page's form with a field for files; a browser sends it without one, too."""
    body = parts_of(fields, file=file)
    headers = [
        (b"host", b"localhost"),
        (b"origin", b"http://localhost"),
        (b"content-type", b"multipart/form-data; boundary=edge"),
    ]
    scope = {"path": PAGE, "scheme": "http", "headers": headers}
    return Attempt(scope, JOB, b"", BytesIO(body))


def parts_of(fields: list[tuple[str, str]], *, file: bytes = b"", name: str = "cv.pdf") -> bytes:
    """A form in parts, with the edge `edge` and a file `cv`."""
    parts = [f'Content-Disposition: form-data; name="{k}"\r\n\r\n{v}'.encode() for k, v in fields]
    shown = name if file else ""
    head = f'Content-Disposition: form-data; name="cv"; filename="{shown}"\r\n\r\n'.encode()
    return b"".join(b"--edge\r\n%b\r\n" % part for part in [*parts, head + file]) + b"--edge--\r\n"


def test_a_form_in_parts_is_kept_with_its_uploads_and_so_is_its_place() -> None:
    fields = [*FORM, ("cv_id", "1"), ("cv_id", "2"), ("boat", "A ketch.\r\nMine, *~ours ü")]
    first = in_parts(fields)

    kept, token = first.kept_fields(), first.issue(CAME_AT)

    assert kept == [*fields, ("cv", "")], "as Django reads it"
    assert form([*kept, (FIELD, token)]).place() == CAME_AT
    assert form([*kept[1:], (FIELD, token)]).place() is None


def test_a_form_with_a_file_is_kept_but_for_the_file_which_is_named() -> None:
    file = b"%PDF-1.7" + bytes(3_000_000)
    first = in_parts(FORM, file=file)

    assert first.kept_fields() == FORM
    assert first.chosen_files() == [("cv", "cv.pdf")]


def test_the_place_of_a_form_with_a_file_is_kept_for_the_same_fields() -> None:
    file = b"%PDF-1.7" + bytes(3_000_000)
    token = (FIELD, in_parts(FORM, file=file).issue(CAME_AT))

    assert in_parts([token, *FORM], file=file).place() == CAME_AT
    assert in_parts([token, *FORM[:-1], ("email", "eve@b.c")], file=file).place() is None
    assert in_parts([token, token, *FORM], file=file).place() is None
    assert in_parts([("long", "x" * 70_000), token, *FORM], file=file).place() is None
    assert in_parts(FORM, file=file).place() is None


def test_a_token_takes_no_time_worth_naming() -> None:
    """At most 50 microseconds each, of CPU; usually about ten."""

    def cpu_us(act: Callable[[], object]) -> float:
        best = float("inf")
        for _ in range(5):
            start = time.thread_time()
            for _ in range(200):
                act()
            best = min(best, time.thread_time() - start)
        return best / 200 * 1e6

    made = cpu_us(lambda: attempt().issue(CAME_AT))
    token = attempt().issue(CAME_AT)
    checked = cpu_us(lambda: attempt(token=token).place())
    sent = [*FORM, (FIELD, form(FORM).issue(CAME_AT))]
    headers, content = form([])._scope["headers"], urlencode(sent).encode()
    scope = {"path": PAGE, "scheme": "http", "headers": headers}
    of_form = cpu_us(lambda: Attempt(scope, JOB, b"", BytesIO(content)).place())
    assert Attempt(scope, JOB, b"", BytesIO(content)).place() == CAME_AT
    assert max(made, checked, of_form) < 50


# In the queue before the threads.


def arrivals(handover: Handover, *stamps: int, place: bool = False) -> list[Arrival]:
    """Requests that came one after the other; those with a place came for the second time."""
    found = []
    for stamp in stamps:
        arrival = handover.arrivals.expect(JOB, stamp)
        arrival.came_at = stamp
        arrival.has_place = place
        found.append(arrival)
    return found


def test_who_has_a_place_takes_that_of_the_last_newcomer_and_comes_first(
    handover: Handover,
) -> None:
    async def story() -> None:
        queue = RequestQueue(2, most_waiting=3)
        [running, *new] = arrivals(handover, 50, 60, 70, 80)
        [early] = arrivals(handover, 10, place=True)
        await begun(queue, "first", arrival=running)
        tasks = [await begun(queue, f"new {n}", arrival=each) for n, each in enumerate(new)]

        second = await begun(queue, "early", arrival=early)

        assert [task.done() for task in tasks] == [False, False, True]
        with pytest.raises(Overloaded):
            await tasks[2]
        queue.end("first", is_heavy=False, arrival=running)
        await asyncio.wait_for(second, 1)
        assert not tasks[0].done()
        for task in tasks[:2]:
            task.cancel()

    asyncio.run(story())


def test_who_has_a_place_is_not_refused_for_newcomers_but_for_those_who_came_before(
    handover: Handover,
) -> None:
    async def story() -> None:
        queue = RequestQueue(2, most_waiting=2)
        [running, *early] = arrivals(handover, 5, 10, 20, place=True)
        await begun(queue, "first", arrival=running)
        tasks = [await begun(queue, "key", arrival=each) for each in early]
        [late] = arrivals(handover, 30, place=True)
        [new] = arrivals(handover, 40)

        for client, arrival in (("late", late), ("new", new)):
            with pytest.raises(Overloaded):
                await queue.begin(client, is_heavy=False, arrival=arrival)
        await begun(queue, "of a page")  # the other thread
        with pytest.raises(Overloaded):
            await queue.begin("of another page", is_heavy=False)
        assert not any(task.done() for task in tasks)
        for task in tasks:
            task.cancel()

    asyncio.run(story())


def test_a_newcomer_does_not_take_the_room_of_those_who_were_asked_to_come_again(
    handover: Handover, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LAPSE_SECONDS", -0.9)

    async def story() -> None:
        queue = RequestQueue(2, most_waiting=4)
        [running, *first, one, two, new] = arrivals(handover, 5, 10, 11, 20, 30, 50)
        refused = [one, two]
        await begun(queue, "first", arrival=running)
        tasks = [await begun(queue, "a", arrival=each) for each in first]
        waits = [queue.note_refusal("anyone", each) for each in refused]
        assert [wait.ahead for wait in waits] == [2, 3]

        with pytest.raises(Overloaded):
            await queue.begin("new", is_heavy=False, arrival=new)
        refused[0].has_place = True
        tasks.append(await begun(queue, "b", arrival=refused[0]))
        assert not tasks[-1].done()
        await asyncio.sleep(0.15)  # the others are late
        tasks.append(await begun(queue, "new", arrival=new))
        assert not tasks[-1].done()
        for task in tasks:
            task.cancel()

    asyncio.run(story())


def test_threads_do_not_idle_while_those_who_were_refused_are_away(handover: Handover) -> None:
    async def story() -> None:
        queue = RequestQueue(2, most_waiting=2)
        [first, *refused, new] = arrivals(handover, 5, 10, 20, 30, 50)
        await begun(queue, "first", arrival=first)
        for each in refused:
            queue.note_refusal("anyone", each)

        waiting = await begun(queue, "new", arrival=new)

        assert not waiting.done()
        queue.end("first", is_heavy=False, arrival=first)
        await asyncio.wait_for(waiting, 1)

    asyncio.run(story())


def test_who_comes_back_to_another_process_counts_for_the_one_who_went_there() -> None:
    line = JobLine()
    for came_at in (10, 20, 30):
        line.note_refusal("anyone", came_at, 0.0, ahead=0, room=0)

    line.note_return(21)
    line.note_return(29)

    assert line.count_refused_before(99, 0.0) == 1
    assert line.count_refused_before(99, 100.0) == 0
    line.note_return(10)


def test_one_client_cannot_keep_others_out_by_requests_that_it_does_not_send_again() -> None:
    line = JobLine()
    for came_at in range(1_000):
        line.note_refusal("flood", came_at, 0.0, ahead=0, room=0)
    assert line.count_refused_before(2_000, 0.0) == MOST_OF_CLIENT

    line.note_refusal("someone", 1_001, 0.0, ahead=0, room=0)

    assert line.count_refused_before(2_000, 0.0) == MOST_OF_CLIENT + 1
    assert not line.is_forgettable(0.0)
    assert line.is_forgettable(100.0)


def test_the_time_to_come_again_grows_with_those_ahead_and_is_bounded() -> None:
    line = JobLine()

    def asked(ahead: int) -> int:
        return line.note_refusal("anyone", 0, 10.0, ahead=ahead, room=500).seconds

    assert [asked(each) for each in (0, 250, 2_250, 99_000)] == [1, 1, 10, 30]
    for n in range(200):
        line.note_end(n / 400, others_wait=True)
    assert asked(2_250) < 10 * (10.0 - 0) / 2


# Over HTTP, against an application that is as busy as a test wants.


class Busy:
    """Application that admits when it may, and notes whom, in which order."""

    def __init__(self) -> None:
        self.admitted: list[str] = []
        self.places: list[bool] = []
        self.turns = threading.Semaphore(0)
        self.status = "201 Created"

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        body = environ["wsgi.input"].read().decode()
        arrival = current_arrival(JOB)
        assert self.turns.acquire(timeout=PATIENCE_SECONDS)
        self.admitted.append(re.findall(r"(\w+)(?:@|%40)", body)[0])
        self.places.append(bool(arrival and arrival.has_place))
        extra = [("Retry-After", "1")] if self.status.startswith("503") else []
        start(self.status, [("Content-Length", "0"), *extra])
        return []


@pytest.fixture
def busy() -> Busy:
    return Busy()


@pytest.fixture
def adapter(busy: Busy) -> WSGIAdapter:
    made = adapter_of(busy)
    made._queue = RequestQueue(2, most_waiting=1)
    return made


@pytest.fixture
def port(adapter: WSGIAdapter) -> Iterator[int]:
    with serving_here(adapter) as number:
        yield number


Answer = tuple[int, dict[str, str], str]


def send(port: int, path: str, body: bytes, **headers: str) -> Answer:
    """Send one request on a connection of its own."""
    said = {each.replace("_", "-"): value for each, value in headers.items()}
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as client:
        client.request("POST", path, body, said)
        answer = client.getresponse()
        text = answer.read().decode()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text


def person(name: str) -> bytes:
    return json.dumps({"email": f"{name}@example.org"}).encode()


class Full:
    """A site with one request at work and one waiting; its threads, to be joined."""

    def __init__(self, port: int, adapter: WSGIAdapter, busy: Busy) -> None:
        self.port, self.busy, self.queue = port, busy, adapter._queue
        self.answers: dict[str, Answer] = {}
        self._threads: list[threading.Thread] = []

    def send(self, name: str, path: str, body: bytes, **headers: str) -> None:
        def act() -> None:
            self.answers[name] = send(self.port, path, body, **headers)

        self._threads.append(threading.Thread(target=act))
        self._threads[-1].start()

    def fill(self) -> None:
        self.send("working", API, person("working"))
        eventually(lambda: self.queue._running_count == 1)
        self.send("waiting", API, person("waiting"))
        eventually(lambda: self.queue._waiting_count == 1)

    def let_newcomer_wait(self) -> None:
        """Let the first one end, and another one wait in the queue."""
        self.busy.turns.release()
        eventually(lambda: self.queue._waiting_count == 0)
        self.send("newcomer", API, person("newcomer"))
        eventually(lambda: self.queue._waiting_count == 1)

    def go_on(self) -> dict[str, Answer]:
        self.busy.turns.release(100)
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
        return self.answers


@pytest.fixture
def full(port: int, adapter: WSGIAdapter, busy: Busy) -> Iterator[Full]:
    made = Full(port, adapter, busy)
    made.fill()
    yield made
    made.go_on()


def test_a_refusal_of_the_full_site_has_a_token_that_is_taken_before_newcomers(full: Full) -> None:
    status, headers, text = send(full.port, API, ADA)
    assert (status, json.loads(text)["code"]) == (503, "UNAVAILABLE")
    assert 1 <= int(headers["retry-after"]) <= 30
    token = headers["place-token"]
    full.let_newcomer_wait()

    full.send("ada", API, ADA, Place_Token=token)
    eventually(lambda: full.answers.get("newcomer", (0,))[0] == 503)
    answers = full.go_on()

    assert answers["ada"][0] == 201
    assert answers["newcomer"][1]["place-token"]
    assert full.busy.admitted == ["working", "waiting", "ada"]
    assert full.busy.places == [False, False, True]


def test_without_it_the_newcomer_would_be_taken(full: Full) -> None:
    send(full.port, API, ADA)
    full.let_newcomer_wait()

    assert send(full.port, API, ADA)[0] == 503
    assert full.go_on()["newcomer"][0] == 201


def test_one_token_holds_one_place_however_often_it_is_sent(
    full: Full, adapter: WSGIAdapter
) -> None:
    token = send(full.port, API, ADA)[1]["place-token"]
    full.let_newcomer_wait()
    full.send("ada", API, ADA, Place_Token=token)
    eventually(lambda: full.answers.get("newcomer", (0,))[0] == 503)
    adapter._queue.most_waiting = 2
    full.send("second", API, person("second"))
    eventually(lambda: full.queue._waiting_count == 2)

    copies = [send(full.port, API, ADA, Place_Token=token)[0] for _ in range(3)]

    assert copies == [503] * 3
    assert full.go_on()["second"][0] == 201
    assert adapter._retrying == set()


def test_whoever_sends_too_much_gets_no_token(full: Full, adapter: WSGIAdapter) -> None:
    adapter._queue.per_client = 2

    status, headers, _ = send(full.port, API, ADA)

    assert (status, "place-token" in headers) == (429, False)


@pytest.mark.parametrize("path", ["/api/v1/jobs", f"{API}/import", f"/jobs/{JOB}/"])
def test_nor_does_a_request_that_joins_no_line(full: Full, path: str) -> None:
    status, headers, _ = send(full.port, path, ADA)

    assert (status, "place-token" in headers) == (503, False)


def test_nor_does_a_body_that_is_too_long_to_keep(full: Full) -> None:
    status, headers, _ = send(full.port, API, ADA + b" " * places.MOST_BYTES)

    assert (status, "place-token" in headers) == (503, False)


LARGE = b"%PDF-1.7" + bytes(2_000_000)
OF_PAGE = {
    "Content_Type": "multipart/form-data; boundary=edge",
    "Cookie": "sessionid=1",
    "Host": "localhost",
    "Origin": "http://localhost",
}


def token_in(page: str) -> tuple[str, str]:
    [value] = re.findall(f'name="{FIELD}" value="([^"]+)"', page)
    return FIELD, unescape(value)


def test_a_form_with_a_large_file_is_kept_at_a_full_site_and_so_is_its_place(full: Full) -> None:
    status, headers, page = send(full.port, PAGE, parts_of(FORM, file=LARGE), **OF_PAGE)

    assert (status, headers["content-type"]) == (503, "text/html; charset=utf-8")
    assert 'value="Ada &quot;A&quot; &lt;&amp;&gt;"' in page
    assert '<input type="file" name="cv" required>' in page
    assert "Choose again: cv.pdf" in page
    assert 'enctype="multipart/form-data"' in page
    assert "data-send-after" not in page
    full.let_newcomer_wait()
    full.send("ada", PAGE, parts_of([token_in(page), *FORM], file=LARGE), **OF_PAGE)
    eventually(lambda: full.answers.get("newcomer", (0,))[0] == 503)
    assert full.go_on()["ada"][0] == 201
    assert full.busy.places == [False, False, True]


def test_a_form_with_a_large_file_is_kept_if_the_job_is_too_busy(port: int, busy: Busy) -> None:
    busy.turns.release(100)
    busy.status = "503 Service Unavailable"

    status, _, page = send(port, PAGE, parts_of(FORM, file=LARGE), **OF_PAGE)
    busy.status = "201 Created"
    send(port, PAGE, parts_of([token_in(page), *FORM], file=LARGE), **OF_PAGE)

    assert status == 503
    assert busy.places == [False, True]


def test_the_name_of_a_file_cannot_break_the_page(full: Full) -> None:
    body = parts_of(FORM, file=LARGE, name="<b>'&.pdf")

    _, _, page = send(full.port, PAGE, body, **OF_PAGE)

    assert "&lt;b&gt;&#x27;&amp;.pdf" in page


def test_a_refusal_by_a_busy_job_or_database_has_a_token_too(port: int, busy: Busy) -> None:
    busy.turns.release(100)
    busy.status = "503 Service Unavailable"
    status, headers, _ = send(port, API, ADA)
    assert (status, headers["retry-after"]) == (503, "1")

    busy.status = "201 Created"
    send(port, API, ADA, Place_Token=headers["place-token"])

    assert busy.places == [False, True]


def test_other_answers_have_none(port: int, busy: Busy) -> None:
    busy.turns.release(100)
    for status in ("201 Created", "409 Conflict", "429 Too Many Requests", "500 Error"):
        busy.status = status
        assert "place-token" not in send(port, API, ADA)[1]


def waiting_page(answer: Answer) -> tuple[str, list[tuple[str, str]]]:
    """The text of a waiting page, and the fields of its form."""
    assert (answer[0], answer[1]["content-type"]) == (503, "text/html; charset=utf-8")
    fields = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', answer[2])
    return answer[2], [(unescape(name), unescape(value)) for name, value in fields]


def of_page(port: int) -> dict[str, str]:
    return {
        "Origin": f"http://127.0.0.1:{port}",
        "Content_Type": "application/x-www-form-urlencoded",
    }


def submit(port: int, fields: list[tuple[str, str]], **headers: str) -> Answer:
    return send(port, PAGE, urlencode(fields).encode(), **(of_page(port) | headers))


def test_a_form_is_kept_on_a_waiting_page_that_sends_it_again(full: Full) -> None:
    answer = submit(full.port, FORM)
    text, fields = waiting_page(answer)

    assert fields[:-1] == FORM
    assert fields[-1][0] == FIELD
    assert "About 1 person is ahead of you." in text
    assert f'data-send-after="{answer[1]["retry-after"]}"' in text
    assert "default-src 'self'" in answer[1]["content-security-policy"]
    assert answer[1]["cache-control"] == "no-store"
    full.let_newcomer_wait()
    full.send("again", PAGE, urlencode(fields).encode(), **of_page(full.port))
    eventually(lambda: full.answers.get("newcomer", (0,))[0] == 503)
    assert full.go_on()["again"][0] == 201
    assert full.busy.places == [False, False, True]


def test_a_form_of_another_site_is_not_kept_and_sent_in_our_name(full: Full) -> None:
    answer = submit(full.port, FORM, Origin="https://evil.example")

    assert waiting_page(answer)[1] == []
    assert "evil" not in answer[2]
    assert "<form" not in answer[2]


def test_a_form_that_a_busy_job_refused_is_kept_too(port: int, busy: Busy) -> None:
    busy.turns.release(100)
    busy.status = "503 Service Unavailable"

    text, fields = waiting_page(submit(port, FORM))

    assert fields[:-1] == FORM
    assert "Nobody is ahead of you any more." in text
