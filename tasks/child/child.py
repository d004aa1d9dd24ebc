"""A slot's process: takes one message after the other, runs handlers, tells how they ended.

Messages come over a socket that keeps their bounds, so that the worker can take back what was not
begun by reading from the same end. What the child tells are JSON lines over a pipe. It is forked
by the nursery and has no connection to the database but what its handlers open.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import logging
import os
import resource
import signal
import socket
import sys
import time
from types import FrameType
from typing import Any, NoReturn
from uuid import UUID

import structlog

from tasks import registry, tracing
from tasks.child import failure_report
from tasks.child.cleanup import (
    address_space_bytes,
    close_connections,
    leave_no_transaction_open,
)
from tasks.context import Context
from tasks.errors import Cancelled
from tasks.json import as_json
from tasks.payloads import LARGEST_BYTES, secrets_in

log = logging.getLogger(__name__)

LARGEST_MESSAGE = 2 * LARGEST_BYTES
PR_SET_PDEATHSIG = 1
NO_LIMIT = resource.RLIM_INFINITY
CANCEL = b'["cancel"'
LOOK_AFTER_RUNS = 50
MOST_GROWTH_BYTES = 256 * registry.MEBIBYTE


class ResultTooLarge(Exception):
    """A handler returned more than 64 KB."""


class Child:
    """The process's state: its two ends, and what it is running."""

    def __init__(self, messages: socket.socket, results: int) -> None:
        self._messages = messages
        self._results = results
        self._buffer = bytearray(LARGEST_MESSAGE)
        self._current = ""
        self._cancelled = False
        self._may_interrupt = self._is_looking = self._was_signalled = False
        self._rest_bytes = address_space_bytes()
        self._runs = 0

    def serve(self) -> None:
        """Do as the messages say until the worker is gone."""
        signal.signal(signal.SIGTERM, self._interrupt)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while not self._has_grown() and (size := self._messages.recv_into(self._buffer)):
            what, *rest = json.loads(self._buffer[:size])
            if what == "run":
                self._run(*rest)
            elif what == "hooks":
                self._hooks_only(*rest)

    def _run(
        self,
        task: str,
        key: str,
        version: int,
        attempt: int,
        most: int,
        payload: Any,
        request: str,
        owner: str | None,
        trace: str,
    ) -> None:
        kind = registry.find(key, version)
        self._current, self._cancelled = task, False
        with self._around(task, kind, request):
            context = self._context(task, attempt, kind, payload, owner)
            span = tracing.run_span(
                kind.name, trace, id=task, type=kind.name, attempt=attempt, request_id=request
            )
            begun = time.perf_counter()
            try:
                with span:
                    text = as_json(self._handle(kind, payload, context))
                if len(text) > LARGEST_BYTES:
                    raise ResultTooLarge(f"the result has {len(text)} characters")
            except BaseException as error:
                self._unlimited()
                seconds = time.perf_counter() - begun
                self._failed(kind, payload, context, error, seconds, last=attempt >= most)
                return
            seconds = time.perf_counter() - begun
            _call(kind.hooks.on_success, payload, context)
            _call(kind.hooks.on_end, payload, context)
            self._write(f'["done","{task}",{seconds:.6f},{text}]\n'.encode())

    def _handle(self, kind: registry.TaskSpec, payload: Any, context: Context) -> Any:
        self._limit(kind.memory_bytes)
        try:
            self._may_interrupt = True
            _call(kind.hooks.on_start, payload, context)
            return kind.handler(payload, context)
        finally:
            self._may_interrupt = False
            self._unlimited()

    def _failed(
        self,
        kind: registry.TaskSpec,
        payload: Any,
        context: Context,
        error: BaseException,
        seconds: float,
        *,
        last: bool,
    ) -> None:
        end = failure_report.describe(
            error, attempt=context.attempt, secrets=_secrets(kind, payload)
        )
        if end["how"] in ("error", "fatal"):
            context.logger.warning("%s failed: %s", kind.name, end["error"]["message"])
        if self._cancelled or end["how"] == "discard":
            _call(kind.hooks.on_end, payload, context)
        elif last or end["how"] == "fatal":
            _call(kind.hooks.on_fail, payload, context)
            _call(kind.hooks.on_end, payload, context)
        close_connections()
        self._say(["fail", str(context.task_id), round(seconds, 6), end])

    def _hooks_only(
        self, task: str, key: str, version: int, attempt: int, payload: Any, owner: str | None
    ) -> None:
        """Call the hooks of a task that is dead and could not call them itself."""
        kind = registry.find(key, version)
        with self._around(task, kind, ""):
            context = self._context(task, attempt, kind, payload, owner)
            _call(kind.hooks.on_fail, payload, context)
            _call(kind.hooks.on_end, payload, context)
            self._say(["hooked", task])

    @contextlib.contextmanager
    def _around(self, task: str, kind: registry.TaskSpec, request: str) -> Any:
        with structlog.contextvars.bound_contextvars(
            task_id=task, task_type=kind.name, request_id=request
        ):
            yield
        self._current = ""
        if signal.getsignal(signal.SIGTERM) != self._interrupt:
            signal.signal(signal.SIGTERM, self._interrupt)
        leave_no_transaction_open()

    def _context(
        self, task: str, attempt: int, kind: registry.TaskSpec, payload: Any, owner: str | None
    ) -> Context:
        return Context(
            task_id=UUID(task),
            attempt=attempt,
            say=self._say,
            is_cancelled=self._is_cancelled,
            owner_id=UUID(owner) if owner else None,
            secrets=_secrets(kind, payload),
        )

    def _is_cancelled(self) -> bool:
        """Look whether the worker wants the run to end; what waits behind is left where it is."""
        if not self._cancelled:
            self._is_looking = True
            try:
                self._look()
            finally:
                self._is_looking = False
        if self._was_signalled:
            self._interrupt()
        return self._cancelled

    def _look(self) -> None:
        flags = socket.MSG_DONTWAIT
        with contextlib.suppress(BlockingIOError):
            if self._messages.recv(len(CANCEL), flags | socket.MSG_PEEK) == CANCEL:
                told = json.loads(self._messages.recv(LARGEST_MESSAGE, flags))
                self._cancelled = told[1] == self._current

    def _interrupt(self, *_: int | FrameType | None) -> None:
        """End the run, if it is the one that is to end: the signal may come when that is over."""
        self._was_signalled = self._is_looking  # then once more, right after the look
        if self._may_interrupt and not self._is_looking and self._is_cancelled():
            self._may_interrupt = False
            raise Cancelled

    def _has_grown(self) -> bool:
        """Whether runs have left so much behind that a fresh child should go on."""
        self._runs += 1
        return (
            self._runs % LOOK_AFTER_RUNS == 0
            and address_space_bytes() > self._rest_bytes + MOST_GROWTH_BYTES
        )

    def _limit(self, memory_bytes: int) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (self._rest_bytes + memory_bytes, NO_LIMIT))

    def _unlimited(self) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (NO_LIMIT, NO_LIMIT))

    def _say(self, what: list[Any]) -> None:
        self._write(f"{as_json(what)}\n".encode())

    def _write(self, line: bytes) -> None:
        while line:
            line = line[os.write(self._results, line) :]


def _call(hook: registry.Hook | None, payload: Any, context: Context) -> None:
    if hook is not None:
        try:
            hook(payload, context)
        except Exception:
            log.exception("a hook failed")


def _secrets(kind: registry.TaskSpec, payload: Any) -> list[str]:
    return secrets_in(kind.schema, payload) if kind.has_secrets else []


def live(messages: socket.socket, results: int) -> NoReturn:
    """Be a child, in a process that was just forked; ends with the worker."""
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    parent = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    status = 0
    try:
        if os.getppid() == parent:  # it did not die before we asked to be told
            Child(messages, results).serve()
    except BaseException:
        log.exception("a child failed")
        status = 1
    os._exit(status)
