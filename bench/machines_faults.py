"""Ways to lose a machine of a whole site, each with what heals it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from machines_site import MachinesSite

AWAY_SECONDS = {"pooler": 15, "etcd": 30}


def cut_off_primary(site: MachinesSite) -> Callable[[], None]:
    """Cut the primary's machine off from all others, while it runs on."""
    [leader] = site.cluster.members("leader")
    machine = site.cluster.machine_of(leader)
    machine.cut_off()
    return machine.plug_in


def lose_primary(site: MachinesSite) -> Callable[[], None]:
    """Lose the primary's machine."""
    [leader] = site.cluster.members("leader")
    machine = site.cluster.machine_of(leader)
    machine.die()

    def come_back() -> None:
        machine.boot()
        site.cluster.start_node(leader)

    return come_back


def switch_over(site: MachinesSite) -> Callable[[], None]:
    """Move the primary, as planned."""
    site.cluster.switch_over(*site.cluster.members("leader"))
    return lambda: None


def kill_postgres(site: MachinesSite) -> Callable[[], None]:
    """Kill all processes of the primary's PostgreSQL."""
    site.cluster.kill_postgres(*site.cluster.members("leader"))
    return lambda: None


def lose_pooler(site: MachinesSite) -> Callable[[], None]:
    """Lose the pooler's machine for a while."""
    site.machines["pooler"].die()
    time.sleep(AWAY_SECONDS["pooler"])
    site.machines["pooler"].boot()
    site.start_pooler()
    return lambda: None


def lose_web_server(site: MachinesSite) -> Callable[[], None]:
    """Lose one of the web servers' machines."""
    site.machines["web1"].die()
    return lambda: None


def lose_etcd(site: MachinesSite) -> Callable[[], None]:
    """Lose etcd's machine for a while."""
    site.machines["etcd"].die()
    time.sleep(AWAY_SECONDS["etcd"])
    site.machines["etcd"].boot()
    site.cluster.start_etcd()
    return lambda: None


@dataclass(frozen=True)
class Row:
    """One way in which a machine is lost; it returns what heals the site afterwards."""

    text: str
    break_site: Callable[[MachinesSite], Callable[[], None]]
    failsafe: bool = True


ROWS = {
    "partition": Row("the primary is cut off, and runs on", cut_off_primary),
    "machine_dies": Row("the primary's machine dies", lose_primary),
    "switchover": Row("planned switchover", switch_over),
    "postgres_dies": Row("the primary's PostgreSQL is killed", kill_postgres),
    "pooler_dies": Row("the pooler's machine is away for 15 s", lose_pooler),
    "web_dies": Row("one of two web servers' machines dies", lose_web_server),
    "etcd_dies": Row("etcd is away for 30 s, with failsafe_mode", lose_etcd),
    "etcd_dies_unsafe": Row("etcd is away for 30 s, without failsafe_mode", lose_etcd, False),
}
