"""Three PostgreSQL nodes under Patroni, with etcd and HAProxy, on one machine, to be broken.

Needs the programs `etcd` and `haproxy` (apt-get install etcd-server haproxy), and Patroni 4 in an
environment of its own: pip install 'patroni[etcd3,psycopg3]' psycopg[binary].
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

NODES = (1, 2, 3)
START_SECONDS = 120
PATRONI = """
scope: line
name: node{node}
restapi: {{listen: "127.0.0.1:{rest}", connect_address: "127.0.0.1:{rest}"}}
etcd3: {{host: "127.0.0.1:{etcd}"}}
bootstrap:
  dcs:
    ttl: {ttl}
    loop_wait: 5
    retry_timeout: 5
    synchronous_mode: {synchronous}
    postgresql:
      use_pg_rewind: true
      parameters: {{max_connections: 100, shared_buffers: 128MB, wal_log_hints: "on"}}
  initdb: [encoding: UTF8, locale: C.UTF-8]
postgresql:
  listen: "127.0.0.1:{port}"
  connect_address: "127.0.0.1:{port}"
  data_dir: {data}
  bin_dir: {binaries}
  pgpass: {data}.pgpass
  pg_hba: [local all all trust, host all all 127.0.0.1/32 trust,
           host replication all 127.0.0.1/32 trust]
  authentication:
    superuser: {{username: postgres}}
    replication: {{username: replicator}}
"""
# HAProxy sends everything to the node whose Patroni says that it is the primary.
HAPROXY = """
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
listen primary
  bind 127.0.0.1:{port}
  option httpchk GET /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
"""


class PatroniCluster:
    """The nodes, their etcd and their proxy; `port` is where the primary is found."""

    def __init__(self, folder: Path, *, patroni: str, synchronous: bool, ttl: int) -> None:
        from pipeline.database.binaries import find_binaries, reachable_copy_of_binaries
        from pipeline.database.server import server_user

        self._folder, self._user = folder, server_user()
        self._patroni, self._synchronous, self._ttl = patroni, synchronous, ttl
        self._binaries = reachable_copy_of_binaries(find_binaries(), folder).folder
        ports = _free_ports(2 + 2 + 2 * len(NODES))
        self.port, self._etcd, self._peer, _ = ports[:4]
        self._rest = dict(zip(NODES, ports[4:], strict=False))
        self._sql = dict(zip(NODES, ports[4 + len(NODES) :], strict=True))
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Start everything, and wait until there is a primary with two replicas."""
        etcd = f"http://127.0.0.1:{self._etcd}"
        peer = f"http://127.0.0.1:{self._peer}"
        self._run(
            "etcd", "etcd", "--data-dir", self._folder / "etcd", "--listen-client-urls", etcd,
            "--advertise-client-urls", etcd, "--listen-peer-urls", peer,
            "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}",
        )  # fmt: skip
        lines = [HAPROXY.format(port=self.port)]
        for node in NODES:
            config = self._folder / f"node{node}.yaml"
            config.write_text(self._config_of(node))
            check = f"check port {self._rest[node]}"
            lines.append(f"  server node{node} 127.0.0.1:{self._sql[node]} {check}\n")
            self._run(f"node{node}", self._patroni, config)
        (self._folder / "haproxy.cfg").write_text("".join(lines))
        self._run("haproxy", "haproxy", "-db", "-f", self._folder / "haproxy.cfg")
        wait_until(lambda: len(self.members("replica", "sync_standby")) == 2, START_SECONDS)
        wait_until(lambda: bool(self.members("leader")), START_SECONDS)
        if self._synchronous:
            wait_until(lambda: bool(self.members("sync_standby")), START_SECONDS)

    def _config_of(self, node: int) -> str:
        return PATRONI.format(
            node=node,
            rest=self._rest[node],
            etcd=self._etcd,
            ttl=self._ttl,
            synchronous=str(self._synchronous).lower(),
            port=self._sql[node],
            data=self._folder / f"data{node}",
            binaries=self._binaries,
        )

    def members(self, *roles: str) -> list[int]:
        """Return the nodes that run in one of these roles, as any Patroni sees it."""
        for rest in self._rest.values():
            with (
                suppress(OSError),
                urllib.request.urlopen(f"http://127.0.0.1:{rest}/cluster", timeout=2) as answer,
            ):
                rows: list[dict[str, Any]] = json.load(answer)["members"]
                runs = [row for row in rows if row["state"] in ("running", "streaming")]
                return [int(row["name"][-1]) for row in runs if row["role"] in roles]
        return []

    def stall_replication(self, node: int) -> None:
        """Stop what sends a node's log to the others, as a network that hangs does."""
        for pid in self._pids_of(node):
            with suppress(OSError):
                if "walsender" in Path(f"/proc/{pid}/cmdline").read_text():
                    os.kill(pid, signal.SIGSTOP)

    def kill_machine(self, node: int) -> None:
        """Kill a node's Patroni and all processes of its PostgreSQL at once."""
        self._processes[f"node{node}"].kill()
        self.kill_postgres(node)

    def kill_postgres(self, node: int) -> None:
        """Kill all processes of a node's PostgreSQL."""
        for pid in self._pids_of(node):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def switch_over(self, node: int) -> None:
        """Let Patroni move the primary away from a node."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._rest[node]}/switchover",
            json.dumps({"leader": f"node{node}"}).encode(),
            {"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=60).close()  # noqa: S310 -- our own address

    def stop(self) -> None:
        """End everything that was started."""
        for process in self._processes.values():
            process.kill()
        for node in NODES:
            self.kill_postgres(node)
        for process in self._processes.values():
            process.wait(30)

    def _pids_of(self, node: int) -> list[int]:
        found = []
        for each in Path("/proc").iterdir():
            with suppress(OSError, ValueError):
                if (each / "cwd").readlink() == self._folder / f"data{node}":
                    found.append(int(each.name))
        return found

    def _run(self, name: str, *command: object) -> None:
        identity: dict[str, Any] = {}
        if self._user:
            identity = {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        with (self._folder / f"{name}.log").open("wb") as said:
            self._processes[name] = subprocess.Popen(
                [str(each) for each in command],
                cwd=self._folder, stdout=said, stderr=said, start_new_session=True,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": str(self._folder)},
                **identity,
            )  # fmt: skip


@contextmanager
def patroni_cluster(*, patroni: str, synchronous: bool, ttl: int) -> Iterator[PatroniCluster]:
    """A running cluster; its files are removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="failover-", dir="/tmp")).resolve()
    folder.chmod(0o777)  # of the user who runs PostgreSQL, too
    cluster = PatroniCluster(folder, patroni=patroni, synchronous=synchronous, ttl=ttl)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


def wait_until(is_so: Callable[[], bool], seconds: float) -> None:
    """Wait until something is so. Raises TimeoutError."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError(is_so.__qualname__)
        time.sleep(0.2)


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports
