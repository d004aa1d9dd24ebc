"""Child process of a slot: receives messages one by one, runs handlers, reports the results.

Messages arrive over a socket that preserves their boundaries, so the worker can take back messages
that were not begun by reading from the same end. Reports are JSON lines over a pipe. The fork
server forks the child. Its only database connections are those that handlers open.
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

# signal.getsignal also looks for a member of an enum, each time in vain.
from _signal import getsignal  # type: ignore[import-not-found]  # a part of CPython without stubs
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn
from uuid import UUID

from django.db import connections

from tasks import log_context, registry, tracing
from tasks.child import failure_report
from tasks.context import Context
from tasks.errors import Cancelled, Expected
from tasks.json import as_json
from tasks.payloads import LARGEST_BYTES, find_secrets

log = logging.getLogger(__name__)


# Clean-up after a run: open transactions and connections.


def clean_up_transaction() -> None:
    """Close connections that a handler left inside a transaction, and broken ones."""
    for connection in connections.all(initialized_only=True):
        if connection.in_atomic_block:
            connection.close()
            del connections[connection.alias]  # it would refuse to reconnect
        else:
            connection.close_if_unusable_or_obsolete()


def clean_up_connections() -> None:
    """Close all connections: after a failover, the current ones may be read-only."""
    connections.close_all()


LARGEST_MESSAGE = 2 * LARGEST_BYTES
PR_SET_PDEATHSIG = 1
STATM = Path("/proc/self/statm")
NO_LIMIT = resource.RLIM_INFINITY
CANCEL = b'["cancel"'
# Ids in payloads that are on each log line of a run.
LOGGED_IDS = ("job_id", "application_id")
LOOK_AFTER_RUNS = 50
MOST_GROWTH_BYTES = 256 * registry.MEBIBYTE


class ResultTooLarge(Exception):
    """The result of a handler exceeds 64 KB."""


class Child:
    """State of the process: its socket, its pipe and the current run."""

    def __init__(self, messages: socket.socket, results: int) -> None:
        self._messages = messages
        self._results = results
        self._buffer = bytearray(LARGEST_MESSAGE)
        self._current = ""
        self._cancelled = False
        self._may_interrupt = self._is_looking = self._was_signalled = False
        self._rest_bytes = mapped_bytes()

    def serve(self) -> None:
        """Process messages until the worker is gone or the process has grown too much."""
        signal.signal(signal.SIGTERM, self._interrupt)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        received = 0
        while size := self._messages.recv_into(self._buffer):
            verb, *rest = json.loads(self._buffer[:size])
            if verb == "run":
                self._run(*rest)
            elif verb == "hooks":
                self._call_hooks(*rest)
            received += 1
            if received % LOOK_AFTER_RUNS == 0:
                grown_bytes = mapped_bytes() - self._rest_bytes
                if grown_bytes > MOST_GROWTH_BYTES:
                    return  # a fresh child takes over

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
        spec = registry.find_registered_type(key, version)
        self._current, self._cancelled = task, False
        with _bound_fields(task, spec, request, payload):
            context = self._context(task, attempt, spec, payload, owner)
            span = tracing.run_span(
                spec.name, trace, id=task, type=spec.name, attempt=attempt, request_id=request
            )
            begun = time.perf_counter()
            try:
                with span:
                    text = as_json(self._handle(spec, payload, context))
                if len(text) > LARGEST_BYTES:
                    raise ResultTooLarge(f"the result has {len(text)} characters")
            except BaseException as error:
                self._lift_limit()
                seconds = time.perf_counter() - begun
                self._end_failed_run(spec, payload, context, error, seconds, last=attempt >= most)
            else:
                seconds = time.perf_counter() - begun
                _call_hook(spec.hooks.on_success, payload, context)
                _call_hook(spec.hooks.on_end, payload, context)
                self._write(f'["done","{task}",{seconds:.6f},{text}]\n'.encode())
        self._clean_up()

    def _handle(self, spec: registry.TaskSpec, payload: Any, context: Context) -> Any:
        most_bytes = self._rest_bytes + spec.memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most_bytes, NO_LIMIT))
        try:
            self._may_interrupt = True
            _call_hook(spec.hooks.on_start, payload, context)
            return spec.run(payload, context)
        finally:
            self._may_interrupt = False
            self._lift_limit()

    def _end_failed_run(
        self,
        spec: registry.TaskSpec,
        payload: Any,
        context: Context,
        error: BaseException,
        seconds: float,
        *,
        last: bool,
    ) -> None:
        end = failure_report.describe(
            error, attempt=context.attempt, secrets=_payload_secrets(spec, payload)
        )
        if end["how"] in ("error", "fatal"):
            level = logging.DEBUG if isinstance(error, Expected) else logging.WARNING
            context.logger.log(level, "%s failed: %s", spec.name, end["error"]["message"])
        if self._cancelled or end["how"] == "discard":
            _call_hook(spec.hooks.on_end, payload, context)
        elif last or end["how"] == "fatal":
            _call_hook(spec.hooks.on_fail, payload, context)
            _call_hook(spec.hooks.on_end, payload, context)
        clean_up_connections()
        self._report(["fail", str(context.task_id), round(seconds, 6), end])

    def _call_hooks(
        self, task: str, key: str, version: int, attempt: int, payload: Any, owner: str | None
    ) -> None:
        """Call the hooks of a dead task whose child died before it could call them."""
        spec = registry.find_registered_type(key, version)
        with _bound_fields(task, spec, "", payload):
            context = self._context(task, attempt, spec, payload, owner)
            _call_hook(spec.hooks.on_fail, payload, context)
            _call_hook(spec.hooks.on_end, payload, context)
            self._report(["hooked", task])
        self._clean_up()

    def _clean_up(self) -> None:
        """Undo what a run has left in the process."""
        self._current = ""
        if getsignal(signal.SIGTERM) != self._interrupt:
            signal.signal(signal.SIGTERM, self._interrupt)
        clean_up_transaction()

    def _context(
        self, task: str, attempt: int, spec: registry.TaskSpec, payload: Any, owner: str | None
    ) -> Context:
        return Context(
            task_id=UUID(task),
            attempt=attempt,
            report=self._report,
            is_cancelled=self._is_cancelled,
            owner_id=UUID(owner) if owner else None,
            secrets=_payload_secrets(spec, payload),
        )

    def _is_cancelled(self) -> bool:
        """Check whether the worker has cancelled the run. Other messages stay in the socket."""
        if not self._cancelled:
            self._is_looking = True
            try:
                self._read_cancellation()
            finally:
                self._is_looking = False
        if self._was_signalled:
            self._interrupt()
        return self._cancelled

    def _read_cancellation(self) -> None:
        flags = socket.MSG_DONTWAIT
        with contextlib.suppress(BlockingIOError):
            if self._messages.recv(len(CANCEL), flags | socket.MSG_PEEK) == CANCEL:
                message = json.loads(self._messages.recv(LARGEST_MESSAGE, flags))
                self._cancelled = message[1] == self._current

    def _interrupt(self, *_: int | FrameType | None) -> None:
        """End the current run only if it was cancelled: the signal can arrive after its run."""
        self._was_signalled = self._is_looking  # `_is_cancelled` calls this again when done
        if self._may_interrupt and not self._is_looking and self._is_cancelled():
            self._may_interrupt = False
            raise Cancelled

    def _lift_limit(self) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (NO_LIMIT, NO_LIMIT))

    def _report(self, message: list[Any]) -> None:
        self._write(f"{as_json(message)}\n".encode())

    def _write(self, line: bytes) -> None:
        while line:
            line = line[os.write(self._results, line) :]


def _bound_fields(
    task: str, spec: registry.TaskSpec, request: str, payload: Any
) -> log_context.bound_fields:
    fields: dict[str, object] = {"task_id": task, "task_type": spec.name, "request_id": request}
    if isinstance(payload, dict):
        fields |= {name: payload[name] for name in LOGGED_IDS if name in payload}
    return log_context.bound_fields(**fields)


def _call_hook(hook: registry.Hook | None, payload: Any, context: Context) -> None:
    if hook is not None:
        try:
            hook(payload, context)
        except Exception:
            log.exception("a hook failed")


def _payload_secrets(spec: registry.TaskSpec, payload: Any) -> list[str]:
    return find_secrets(spec.schema, payload) if spec.has_secrets else []


def run(messages: socket.socket, results: int) -> NoReturn:
    """Run as a child in a freshly forked process, until the worker ends."""
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    parent = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    status = 0
    try:
        if os.getppid() == parent:  # it did not die before prctl took effect
            Child(messages, results).serve()
    except BaseException:
        log.exception("a child failed")
        status = 1
    os._exit(status)


def mapped_bytes() -> int:
    """Return the memory that this process has mapped; 0 where the system does not report it."""
    if not STATM.exists():
        return 0
    return int(STATM.read_text().split()[0]) * resource.getpagesize()
