"""Threads for requests: how many there are, and when another one starts."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import pytest

from pipeline.database.cluster import DEFAULTS
from pipeline.server import gunicorn_config
from pipeline.server.requests import NoThread, RequestThreads


def warm() -> None:
    """Prepare nothing: these threads need no database."""


def refuse_to_start(_: threading.Thread) -> None:
    """Start no thread, as a system that has none left."""
    raise RuntimeError("can't start new thread")


class Warming:
    """Slow preparation of a thread, which notes how many threads are at it at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = 0
        self.most, self.times = 0, 0

    def __call__(self) -> None:
        with self._lock:
            self._now += 1
            self.most, self.times = max(self.most, self._now), self.times + 1
        time.sleep(0.02)
        with self._lock:
            self._now -= 1


def submit(threads: RequestThreads, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Have a thread call a function; the future has its result."""
    future: Future[Any] = Future()
    threads.begin(lambda: future.set_result(function(*arguments)))
    return future


def name_of_thread() -> str:
    time.sleep(0.002)
    return threading.current_thread().name


def test_of_a_crowd_of_threads_one_at_a_time_is_new() -> None:
    warming = Warming()
    threads = RequestThreads(8, warming)

    done = [submit(threads, name_of_thread) for _ in range(400)]
    names = {each.result(30) for each in done}

    assert (warming.most, warming.times) == (1, 7)
    assert threads.count == len(names) == 8


def test_a_usual_pool_starts_all_threads_at_once() -> None:
    warming = Warming()
    with ThreadPoolExecutor(8, initializer=warming) as threads:
        wait([threads.submit(name_of_thread) for _ in range(400)])

    assert warming.most > 1


def test_the_first_thread_answers_without_a_database() -> None:
    end = threading.Event()

    def never_connects() -> None:
        end.wait(30)

    threads = RequestThreads(2, never_connects)

    assert [submit(threads, int).result(30) for _ in range(3)] == [0, 0, 0]
    end.set()


def test_requests_that_come_one_by_one_share_a_thread() -> None:
    threads = RequestThreads(8, warm)
    for _ in range(20):
        submit(threads, int).result(30)
        time.sleep(0.005)  # until the thread waits again

    assert threads.count <= 2


def test_work_that_blocks_keeps_no_other_work_waiting() -> None:
    threads, end = RequestThreads(3, warm), threading.Event()
    blocked = [submit(threads, end.wait, 30) for _ in range(2)]

    assert submit(threads, int).result(30) == 0
    end.set()
    assert all(each.result(30) for each in blocked)


def test_where_no_thread_can_be_started_the_next_request_tries_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads = RequestThreads(3, warm)
    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", refuse_to_start)
        with pytest.raises(NoThread):
            submit(threads, int)

    assert submit(threads, int).result(30) == 0


def test_where_no_other_thread_can_be_started_those_that_are_there_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads, begun, end = RequestThreads(3, warm), threading.Event(), threading.Event()

    def block() -> bool:
        begun.set()
        return end.wait(30)

    blocked = submit(threads, block)
    assert begun.wait(30)
    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", refuse_to_start)
        waiting = submit(threads, int)

    assert submit(threads, int).result(30) == 0
    assert waiting.result(30) == 0
    end.set()
    assert blocked.result(30)
    assert threads.count > 1


def test_a_thread_that_cannot_be_prepared_answers_nevertheless() -> None:
    def fail() -> None:
        raise ValueError("no")

    threads, end = RequestThreads(3, fail), threading.Event()
    blocked = [submit(threads, end.wait, 30) for _ in range(2)]

    assert submit(threads, int).result(30) == 0
    end.set()
    assert all(each.result(30) for each in blocked)


def test_results_and_errors_reach_the_event_loop() -> None:
    def fail() -> None:
        raise ValueError("no")

    async def call_twice() -> int:
        threads = RequestThreads(1, warm)
        with pytest.raises(ValueError, match="no"):
            await threads.call(fail)
        return await threads.call(int)

    assert asyncio.run(call_twice()) == 0


def test_what_nobody_waits_for_any_more_is_not_begun() -> None:
    async def leave_while_the_thread_is_busy() -> list[str]:
        threads, end, done = RequestThreads(1, warm), threading.Event(), list[str]()
        busy = asyncio.create_task(threads.call(lambda: end.wait(30)))
        waiting = asyncio.create_task(threads.call(lambda: done.append("cancelled")))
        stays = asyncio.create_task(threads.call(lambda: done.append("stays")))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.sleep(0)
        end.set()
        assert await busy
        await stays
        return done

    assert asyncio.run(leave_while_the_thread_is_busy()) == ["stays"]


def test_a_result_that_comes_too_late_is_dropped() -> None:
    async def leave_while_it_runs() -> int:
        threads, begun, end = RequestThreads(1, warm), threading.Event(), threading.Event()

        def block() -> bool:
            begun.set()
            return end.wait(30)

        leaving = asyncio.create_task(threads.call(block))
        await asyncio.sleep(0)
        assert await asyncio.to_thread(begun.wait, 30)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        end.set()
        return await threads.call(int)

    assert asyncio.run(leave_while_it_runs()) == 0


def test_the_embedded_database_has_room_for_every_thread() -> None:
    threads = gunicorn_config.workers * gunicorn_config.threads
    of_each_process = 2  # it listens, and it announces
    workers = 20  # decay, tasks, their children, commands
    reserved = 3  # by PostgreSQL, for its superuser

    most = threads + gunicorn_config.workers * of_each_process + workers + reserved

    assert gunicorn_config.threads == 16
    assert most <= int(DEFAULTS["max_connections"])
