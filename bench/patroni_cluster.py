"""Three PostgreSQL nodes under Patroni, with etcd and HAProxy, to be broken.

They run on this machine, or on a machine each of `machines.py`.

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
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machines import Machine

NODES = (1, 2, 3)
START_SECONDS = 120
PATRONI = """
scope: line
name: node{node}
restapi: {{listen: "{address}:{rest}", connect_address: "{address}:{rest}"}}
etcd3: {{host: "{etcd}"}}
bootstrap:
  dcs:
    ttl: {ttl}
    loop_wait: 5
    retry_timeout: 5
    synchronous_mode: {synchronous}
    failsafe_mode: {failsafe}
    postgresql:
      use_pg_rewind: true
      parameters: {{max_connections: 100, shared_buffers: 128MB, wal_log_hints: "on"}}
  initdb: [encoding: UTF8, locale: C.UTF-8]
postgresql:
  listen: "{address}:{port}"
  connect_address: "{address}:{port}"
  data_dir: {data}
  bin_dir: {binaries}
  pgpass: {data}.pgpass
  pg_hba: [local all all trust, host all all {network} trust,
           host replication all {network} trust]
  authentication:
    superuser: {{username: postgres}}
    replication: {{username: replicator}}
"""
# HAProxy sends everything to the node whose Patroni says that it is the primary. It asks silent
# clients for a sign of life, so that the transaction of a machine that has vanished ends. While an
# answer is on its way to one, it asks for none: then `tcp-ut` ends it.
HAPROXY = """
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
listen primary
  bind {address}:{port} tcp-ut 10s
  option clitcpka
  clitcpka-idle 5s
  clitcpka-intvl 2s
  clitcpka-cnt 3
  option httpchk GET /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
"""


@dataclass(frozen=True)
class ClusterOptions:
    """The program Patroni, and settings of the cluster that it makes."""

    patroni: str
    synchronous: bool = True
    ttl: int = 20
    # Whether the primary goes on without etcd as long as it reaches all other nodes.
    failsafe: bool = False


class PatroniCluster:
    """The nodes, their etcd and their proxy; `address` is where the primary is found.

    `where` are the machines of `etcd`, `node1` to `node3` and `proxy`; others are this machine.
    """

    def __init__(self, folder: Path, options: ClusterOptions, where: dict[str, Machine]) -> None:
        from pipeline.database.binaries import copy_reachable, find_binaries
        from pipeline.database.cluster import unprivileged_user

        user = unprivileged_user()
        self._folder, self._options = folder, options
        self._identity = (user.pw_uid, user.pw_gid) if user else None
        self._machines: defaultdict[str, Machine] = defaultdict(Machine, where)
        self._binaries = copy_reachable(find_binaries(), folder).folder
        ports = _free_ports(2 + 2 + 2 * len(NODES))
        self.port, etcd, self._peer, _ = ports[:4]
        self.address = f"{self._machines['proxy'].address}:{self.port}"
        self._etcd = f"{self._machines['etcd'].address}:{etcd}"
        self._rest = dict(zip(NODES, ports[4:], strict=False))
        self._sql = dict(zip(NODES, ports[4 + len(NODES) :], strict=True))
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Start everything, and wait until there is a primary with two replicas."""
        self.start_etcd()
        proxy = HAPROXY.format(address=self._machines["proxy"].address, port=self.port)
        for node in NODES:
            config = self._folder / f"node{node}.yaml"
            config.write_text(self._config_of(node))
            where = f"{self.machine_of(node).address}:{self._sql[node]}"
            proxy += f"  server node{node} {where} check port {self._rest[node]}\n"
            self.start_node(node)
        (self._folder / "haproxy.cfg").write_text(proxy)
        self._run("proxy", "haproxy", "-db", "-f", self._folder / "haproxy.cfg")
        wait_until(lambda: len(self.members("replica", "sync_standby")) == 2, START_SECONDS)
        wait_until(lambda: bool(self.members("leader")), START_SECONDS)
        if self._options.synchronous:
            wait_until(lambda: bool(self.members("sync_standby")), START_SECONDS)

    def start_etcd(self) -> None:
        """Start what decides which node is the primary; also again, with what it knew."""
        etcd, peer = f"http://{self._etcd}", f"http://127.0.0.1:{self._peer}"
        self._run(
            "etcd", "etcd", "--data-dir", self._folder / "etcd", "--listen-client-urls", etcd,
            "--advertise-client-urls", etcd, "--listen-peer-urls", peer,
            "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}",
        )  # fmt: skip

    def start_node(self, node: int) -> None:
        """Start a node; also again."""
        self._run(f"node{node}", self._options.patroni, self._folder / f"node{node}.yaml")

    def machine_of(self, node: int) -> Machine:
        """Return the machine on which a node runs."""
        return self._machines[f"node{node}"]

    def url_of(self, node: int) -> str:
        """Return the address of a node's own database, for its superuser."""
        return f"postgres://postgres@{self.machine_of(node).address}:{self._sql[node]}/next_in_line"

    def _config_of(self, node: int) -> str:
        return PATRONI.format(
            node=node,
            address=self.machine_of(node).address,
            network=self.machine_of(node).network,
            rest=self._rest[node],
            etcd=self._etcd,
            ttl=self._options.ttl,
            synchronous=str(self._options.synchronous).lower(),
            failsafe=str(self._options.failsafe).lower(),
            port=self._sql[node],
            data=self._folder / f"data{node}",
            binaries=self._binaries,
        )

    def members(self, *roles: str) -> list[int]:
        """Return the nodes that run in one of these roles, as any Patroni sees it."""
        for node in NODES:
            url = f"http://{self._rest_of(node)}/cluster"
            with suppress(OSError), urllib.request.urlopen(url, timeout=2) as answer:
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
            f"http://{self._rest_of(node)}/switchover",
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

    def _rest_of(self, node: int) -> str:
        return f"{self.machine_of(node).address}:{self._rest[node]}"

    def _pids_of(self, node: int) -> list[int]:
        found = []
        for each in Path("/proc").iterdir():
            with suppress(OSError, ValueError):
                if (each / "cwd").readlink() == self._folder / f"data{node}":
                    found.append(int(each.name))
        return found

    def _run(self, name: str, *command: object) -> None:
        self._processes[name] = self._machines[name].start(
            command,
            log=self._folder / f"{name}.log",
            environment={"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": str(self._folder)},
            folder=self._folder,
            identity=self._identity,
        )


@contextmanager
def patroni_cluster(
    options: ClusterOptions, where: dict[str, Machine] | None = None
) -> Iterator[PatroniCluster]:
    """A running cluster; its files are removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="failover-", dir="/tmp")).resolve()
    folder.chmod(0o777)  # of the user who runs PostgreSQL, too
    cluster = PatroniCluster(folder, options, where or {})
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
