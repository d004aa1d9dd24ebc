"""Limits on the connections of one process, in total and per network address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address

from pipeline.web.client_address import network_of_client_address

MOST_CONNECTIONS = 4_000
MOST_PER_ADDRESS = 1_000


class ConnectionLimits:
    """Count of open connections.

    Trusted proxies carry many clients, so they have no limit per address.
    """

    def __init__(
        self, *, most: int = MOST_CONNECTIONS, per_address: int = MOST_PER_ADDRESS
    ) -> None:
        self.most = most
        self.per_address = per_address
        self.proxies: tuple[IPv4Network | IPv6Network, ...] = ()
        self._open: Counter[str] = Counter()

    def trust(self, proxies: Iterable[IPv4Network | IPv6Network]) -> None:
        """Exempt these networks from the limit per address."""
        self.proxies = tuple(proxies)

    def enter(self, peer: str) -> bool:
        """Count a new connection, and return whether there was room for it."""
        network = network_of_client_address(peer)
        is_full = self._open.total() >= self.most
        speaks_for_many = not peer or _is_connection_from(peer, self.proxies)
        if is_full or (self._open[network] >= self.per_address and not speaks_for_many):
            return False
        self._open[network] += 1
        return True

    def leave(self, peer: str) -> None:
        """Count a closed connection."""
        network = network_of_client_address(peer)
        self._open[network] -= 1
        if not self._open[network]:
            del self._open[network]


@lru_cache(maxsize=1_024)
def _is_connection_from(peer: str, networks: tuple[IPv4Network | IPv6Network, ...]) -> bool:
    try:
        address = ip_address(peer)
    except ValueError:
        return False
    plain = getattr(address, "ipv4_mapped", None) or address
    return any(plain in network for network in networks)
