"""Fork server: a process that has loaded the code and forks a fresh child on request.

Starting Python with Django takes a second of CPU; forking this process takes a few milliseconds.
It is started with `subprocess` and has no connections and no threads, so children inherit nothing
that they must not share. When its worker ends, it ends too, with all children.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
from importlib import import_module

import django
from django.conf import settings

MESSAGE_BYTES = 4_096


class ForkServer:
    """Starts, signals and reaps children. The worker gives each child a number."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._numbers: dict[int, int] = {}

    def run(self) -> None:
        """Serve until the worker closes its end, then end every child."""
        reader, writer = os.pipe()
        for end in (reader, writer):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(ignored, signal.SIG_IGN)
        self._report(what="ready")
        control, is_open = self._control.fileno(), True
        while is_open:
            readable, _, _ = select.select([control, reader], [], [])
            if reader in readable:
                with contextlib.suppress(BlockingIOError):
                    os.read(reader, MESSAGE_BYTES)
                self._reap()
            if control in readable:
                is_open = self._carry_out_request()
        for pid in self._numbers:
            _kill_forked_group(pid, signal.SIGKILL)

    def _carry_out_request(self) -> bool:
        """Carry out one request of the worker; return False once it has closed its end."""
        message, fds, _, _ = socket.recv_fds(self._control, MESSAGE_BYTES, 2)
        if not message:
            return False
        verb, number, *rest = json.loads(message)
        if verb == "start":
            pid = os.fork()
            if pid == 0:
                from tasks.child import child

                signal.set_wakeup_fd(-1)
                for name in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
                    signal.signal(name, signal.SIG_DFL)
                self._control.close()
                child.run(socket.socket(fileno=fds[0]), fds[1])
            with contextlib.suppress(OSError):
                os.setpgid(pid, pid)  # the child does this too; either may be first
            self._numbers[pid] = number
            for fd in fds:
                os.close(fd)
        else:
            for pid, of in self._numbers.items():
                if of == number:
                    _kill_forked_group(pid, rest[0])
        return True

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                pid = ended.si_pid
                # Kill what it left in its group, before its process id can be reused.
                _kill_forked_group(pid, signal.SIGKILL)
                _, status = os.waitpid(pid, 0)
                number = self._numbers.pop(pid)
                self._report(what="ended", number=number, code=os.waitstatus_to_exitcode(status))

    def _report(self, **message: str | int) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._control.send(json.dumps(message).encode())


def _kill_forked_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def serve() -> None:
    """Set up Django and load the code, then serve the worker."""
    control = socket.socket(fileno=int(sys.argv[1]))
    gc.disable()  # nearly all that is loaded stays
    django.setup()
    from tasks.child import child  # noqa: F401 -- loaded once, for all children

    for name in getattr(settings, "TASK_PRELOAD", []):
        import_module(name)

    gc.collect()
    gc.freeze()
    gc.enable()
    ForkServer(control).run()


if __name__ == "__main__":
    serve()
