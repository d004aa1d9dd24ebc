"""Network namespaces as machines: each with its address and processes, to be cut off or killed.

All stand on one bridge; this machine is on it, too, as HERE. Needs root and iproute2. Whatever an
earlier run left behind, also after kill -9, is removed at the start.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

NAME, NETWORK, HERE = "nil77", "10.77.0.0/24", "10.77.0.1"
FIRST = 11  # last number of the first machine's address
LOCK = Path(tempfile.gettempdir()) / f"{NAME}.lock"


@dataclass(frozen=True)
class Machine:
    """Where processes run: this machine as it is, unless `number` makes it one of the bridge."""

    number: int = 0

    @property
    def address(self) -> str:
        """Return its address."""
        return f"10.77.0.{self.number}" if self.number else "127.0.0.1"

    @property
    def network(self) -> str:
        """Return the network in which its neighbours are."""
        return NETWORK if self.number else "127.0.0.1/32"

    @property
    def namespace(self) -> str:
        """Return the name of its namespace, which is that of its cable, too."""
        return f"{NAME}-{self.number}"

    def start(
        self,
        command: Sequence[object],
        *,
        log: Path,
        environment: Mapping[str, str],
        folder: Path,
        identity: tuple[int, int] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a program here, as a user and a group by number if they are given."""
        before = ["ip", "netns", "exec", self.namespace] if self.number else []
        if identity:
            before += ["setpriv", f"--reuid={identity[0]}", f"--regid={identity[1]}"]
            before += ["--clear-groups", "--"]
        with log.open("ab") as said:
            return subprocess.Popen(
                [*before, *(str(each) for each in command)],
                cwd=folder, stdout=said, stderr=said, start_new_session=True, env=environment,
            )  # fmt: skip

    def boot(self) -> None:
        """Make the machine, with the same hardware address each time, and plug it in."""
        inside = f"{NAME}i{self.number}"
        _ip("netns", "add", self.namespace)
        _ip("link", "add", self.namespace, "type", "veth", "peer", "name", inside)
        _ip("link", "set", inside, "address", f"02:77:00:00:00:{self.number:02x}")
        _ip("link", "set", inside, "netns", self.namespace)
        within = ("-n", self.namespace)
        _ip(*within, "address", "add", f"{self.address}/24", "dev", inside)
        _ip(*within, "link", "set", inside, "up")
        _ip(*within, "link", "set", "lo", "up")
        _ip("link", "set", self.namespace, "master", NAME)
        self.plug_in()

    def cut_off(self) -> None:
        """Pull the cable: everything on it runs on, and reaches nobody."""
        _ip("link", "set", self.namespace, "down")

    def plug_in(self) -> None:
        """Connect it to the others."""
        _ip("link", "set", self.namespace, "up")

    def die(self) -> None:
        """Lose the machine at once: nobody is told, and `boot` starts it without a memory."""
        self.cut_off()
        _remove(self.namespace)


@contextmanager
def machines(*names: str) -> Iterator[dict[str, Machine]]:
    """Machines of these names on a bridge, one run at a time; they are removed afterwards."""
    with LOCK.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SystemExit(f"another run has the machines of {NETWORK}") from None
        _remove_all()
        _ip("link", "add", NAME, "type", "bridge")
        try:
            _ip("address", "add", f"{HERE}/24", "dev", NAME)
            _ip("link", "set", NAME, "up")
            made = {name: Machine(FIRST + n) for n, name in enumerate(names)}
            for each in made.values():
                each.boot()
            yield made
        finally:
            _remove_all()


def _remove_all() -> None:
    for path in Path("/run/netns").glob(f"{NAME}-*"):
        _remove(path.name)
    with suppress(subprocess.CalledProcessError):  # there is none yet
        _ip("link", "delete", NAME)


def _remove(namespace: str) -> None:
    """Kill what runs in a namespace, and delete it with its cable."""
    while pids := _ip("netns", "pids", namespace).split():
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    _ip("netns", "delete", namespace)
    with suppress(subprocess.CalledProcessError):  # it goes with the namespace, a moment later
        _ip("link", "delete", namespace)


def _ip(*arguments: str) -> str:
    command = ["/usr/sbin/ip", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
