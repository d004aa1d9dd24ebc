"""This project compared with others over HTTP: rate, p50, and CPU of server and PostgreSQL.

Each round measures each product once, one after the other, on a fresh copy of the same line; the
result is the median of the rounds. Adapters describe other products (see bench/adapter.py):

    .venv/bin/python bench/side_by_side.py --other /elsewhere/adapter.py
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
from adapter import Adapter, Ours
from http_load import closed_loop
from processes import cpu_seconds

# Each kind of request, and the number of connections that send it; None: as --connections says.
KINDS: dict[str, int | None] = {
    "apply": None,
    "leave": 1,
    "read_application": 8,
    "read_queue": 8,
    "read_pipeline": 8,
}
COLUMNS = (
    *("request", "connections", "product", "per second", "p50, ms", "p99, ms"),
    *("server", "PostgreSQL", "CPU", "CPU of ours / this"),
)
WARM_UP = 200
LEAVES = 500


@dataclass(frozen=True)
class Figures:
    """Result of one load: rate per second, and times per successful answer in milliseconds."""

    rate: float
    p50: float
    p99: float
    server: float
    database: float

    @property
    def cpu(self) -> float:
        return self.server + self.database


def main() -> None:
    options = _options()
    products = [_adapter(path) for path in options.other]
    if not options.without_ours:
        products.insert(0, Ours())
    faults = 0
    for waiting in options.waiting:
        results: dict[tuple[str, int], dict[str, list[Figures]]] = {}
        for number in range(options.rounds):
            for product in products:
                for case in _cases(options):
                    figures, found = _measure(product, case, waiting, options.seconds)
                    faults += found
                    if figures:
                        results.setdefault(case, {}).setdefault(product.name, []).append(figures)
            print(f"round {number + 1} of {options.rounds} done", file=sys.stderr, flush=True)
        _report(waiting, results)
    harness.print_load()
    sys.exit(1 if faults else 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--other", type=Path, action="append", default=[], metavar="ADAPTER")
    parser.add_argument("--without-ours", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=6, help="for each kind of request")
    parser.add_argument("--waiting", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--connections", type=int, nargs="+", default=[8, 32, 128])
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    return parser.parse_args()


def _adapter(path: Path) -> Adapter:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Adapter()  # type: ignore[no-any-return]


def _cases(options: argparse.Namespace) -> list[tuple[str, int]]:
    """List each kind of request with each of its numbers of connections."""
    return [
        (kind, connections)
        for kind in options.only
        for connections in ([KINDS[kind] or 1] if KINDS[kind] else options.connections)
    ]


def _measure(
    product: Adapter, case: tuple[str, int], waiting: int, seconds: float
) -> tuple[Figures | None, int]:
    """Return the figures of one load (None if the product has no such request), and its faults."""
    kind, connections = case
    product.fill(waiting)
    product.start()
    try:
        requests: Iterator[bytes] = iter(getattr(product, kind)())
        if (first := next(requests, None)) is None:
            return None, 0
        requests = itertools.chain([first], requests)
        warm_up = 20 if kind == "leave" else WARM_UP
        closed_loop(product.address, requests, connections=connections, most=warm_up)
        before = _cpu(product)
        most = LEAVES if kind == "leave" else math.inf
        load = closed_loop(
            product.address, requests, connections=connections, seconds=seconds, most=most
        )
        server, database = (
            after - start for after, start in zip(_cpu(product), before, strict=True)
        )
    finally:
        product.stop()
    faults = _complain(product, kind, load.answers)
    count = len(load.times) or 1
    times = [each * 1e3 for each in load.times] or [math.nan]
    p50, p99 = harness.median(times), harness.percentile(times, 0.99)
    return Figures(load.rate, p50, p99, server * 1e3 / count, database * 1e3 / count), faults


def _cpu(product: Adapter) -> tuple[float, float]:
    return cpu_seconds(*product.processes()), cpu_seconds(product.database_process())


def _complain(product: Adapter, kind: str, answers: Any) -> int:
    refused = {status: count for status, count in answers.items() if not status.startswith("2")}
    faults = [f"answers {refused}"] if refused else []
    faults += product.check()
    for fault in faults:
        print(f"FAULT: {product.name}, {kind}: {fault}", flush=True)
    return len(faults)


def _report(waiting: int, results: dict[tuple[str, int], dict[str, list[Figures]]]) -> None:
    print(f"\n{waiting:,} people waiting; medians; CPU in ms per request\n")
    print(f"| {' | '.join(COLUMNS)} |\n|" + "---|" * len(COLUMNS))
    for (kind, connections), products in results.items():
        ours = products.get("ours")
        for name, rounds in products.items():
            rate, p50, p99, server, database, cpu = (
                harness.median([getattr(each, field) for each in rounds])
                for field in ("rate", "p50", "p99", "server", "database", "cpu")
            )
            ratio = _ratio(ours, rounds) if ours and name != "ours" else ""
            print(
                f"| {kind.replace('_', ' ')} | {connections} | {name} | {rate:.0f} | {p50:.1f}"
                f" | {p99:.1f} | {server:.2f} | {database:.2f} | {cpu:.2f} | {ratio} |"
            )


def _ratio(ours: list[Figures], theirs: list[Figures]) -> str:
    """Format the median of the ratios of the rounds."""
    return f"{harness.median([a.cpu / b.cpu for a, b in zip(ours, theirs, strict=False)]):.2f}"


if __name__ == "__main__":
    main()
