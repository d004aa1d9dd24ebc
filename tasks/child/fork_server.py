"""The nursery: a process that has loaded the code, and forks a fresh child whenever asked.

A new Python with Django takes a second of processor time; a fork of this one a few milliseconds.
It is started with `subprocess`, has no connection and no thread, so that nothing is inherited that
must not be. It ends, and all children with it, when its worker does.
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

import django

MESSAGE_BYTES = 4_096


class Nursery:
    """Starts, signals and buries children; each has a number that the worker gave it."""

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
        self._tell(what="ready")
        while self._serve(reader):
            pass
        for pid in self._numbers:
            _kill(pid, signal.SIGKILL)

    def _serve(self, reader: int) -> bool:
        control = self._control.fileno()
        readable, _, _ = select.select([control, reader], [], [])
        if reader in readable:
            with contextlib.suppress(BlockingIOError):
                os.read(reader, MESSAGE_BYTES)
            self._bury()
        return self._obey() if control in readable else True

    def _obey(self) -> bool:
        message, fds, _, _ = socket.recv_fds(self._control, MESSAGE_BYTES, 2)
        if not message:
            return False
        what, number, *rest = json.loads(message)
        if what == "start":
            self._start(number, fds)
        else:
            for pid, of in self._numbers.items():
                if of == number:
                    _kill(pid, rest[0])
        return True

    def _start(self, number: int, fds: list[int]) -> None:
        pid = os.fork()
        if pid == 0:
            self._become_child(fds)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)  # the child does it too; whoever is first
        self._numbers[pid] = number
        for fd in fds:
            os.close(fd)

    def _become_child(self, fds: list[int]) -> None:
        from tasks.child.child import live

        signal.set_wakeup_fd(-1)
        for name in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
            signal.signal(name, signal.SIG_DFL)
        self._control.close()
        live(socket.socket(fileno=fds[0]), fds[1])

    def _bury(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                pid = ended.si_pid
                _kill(pid, signal.SIGKILL)  # what it left in its group, while the number is its own
                _, status = os.waitpid(pid, 0)
                number = self._numbers.pop(pid)
                self._tell(what="ended", number=number, code=os.waitstatus_to_exitcode(status))

    def _tell(self, **what: str | int) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._control.send(json.dumps(what).encode())


def _kill(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def main() -> None:
    """Load the code, as any process of the product does, then serve the worker."""
    control = socket.socket(fileno=int(sys.argv[1]))
    django.setup()
    from tasks.child import child  # noqa: F401 -- loaded once, for all children

    gc.collect()
    gc.freeze()
    Nursery(control).run()


if __name__ == "__main__":
    main()
