"""Run all benchmarks and write their output into bench/README.md.

    .venv/bin/python bench/run.py            takes hours; use an otherwise idle machine
    .venv/bin/python bench/run.py --quick    takes minutes: shows that all run, not how fast
    .venv/bin/python bench/run.py --only pages frame    replaces their results; the others stay

Options after `--` go to bench/side_by_side.py, for example `-- --other /elsewhere/adapter.py`.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parent
README = BENCH / "README.md"
BEGIN, END = "<!-- results: written by bench/run.py -->", "<!-- end of results -->"


@dataclass(frozen=True)
class Benchmark:
    """Command of this folder with its arguments; None if it has no brief run."""

    name: str
    quick: str | None = ""
    whole: str = ""


BENCHMARKS = (
    Benchmark("side_by_side", "--rounds 1 --seconds 2 --waiting 300 --connections 8"),
    Benchmark("frame", "--rounds 1 --requests 30"),
    Benchmark("apply_floor", "--rounds 1 --seconds 2"),
    Benchmark("answers", "--rounds 1 --people 50"),
    Benchmark("order", "--processes 2 --rates 100 --shares --seconds 2"),
    Benchmark("overdue", "--rounds 1 --seats 100", "--rounds 3"),
    Benchmark("held_snapshot", "--minutes 0.1 --tasks 50 --changes 20"),
    Benchmark("promotion", "--withdrawals 20 --waiting 5000"),
    Benchmark("pages", "--requests 10 --waiting 5000"),
    Benchmark("pages", None, "--log 1000000"),
    Benchmark("year", "--events 20000 --companies 300 --calls 50"),
    Benchmark("importing", "--one-by-one 100 --imported 500 --whole 1000"),
    Benchmark("live_watchers", "--watchers 20 --seconds 3 --changes 3"),
    Benchmark("footprint"),
    Benchmark("forecast", "--lines 200"),
    Benchmark("crowd", "--people 60 --seconds 10", "--people 3000 --seconds 120"),
    Benchmark("crowd", "--people 60 --seconds 10 --factor 10", "--people 3000 --factor 10"),
    Benchmark("storm", "--people 30 --seconds 10"),
    Benchmark("tasks_throughput", "2000"),
    Benchmark("tasks_enqueue", "100"),
    Benchmark("tasks_latency", "50"),
    Benchmark("webhooks", "500"),
    Benchmark("email_latency", "10"),
    Benchmark("tasks_claim", "20000"),
    Benchmark("tasks_killed", "1"),
    Benchmark("tasks_storm", "--seconds 15 --rate 50"),
)


def main() -> None:
    own, others = _split(sys.argv[1:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=sorted({each.name for each in BENCHMARKS}))
    parser.add_argument("--dry", action="store_true", help="print only, and leave the table")
    options = parser.parse_args(own)
    sections, failed = [], []
    for each in BENCHMARKS:
        given = each.quick if options.quick else each.whole
        if given is None or (options.only and each.name not in options.only):
            continue
        arguments = given.split()
        arguments += others if each.name == "side_by_side" else []
        section, code = _run(each.name, arguments)
        sections.append(section)
        failed += [each.name] if code else []
    if options.dry:
        print("\n".join(sections))
    else:
        _write(sections, keep_others=bool(options.only))
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in arguments:
        return arguments, []
    place = arguments.index("--")
    return arguments[:place], arguments[place + 1 :]


def _run(name: str, arguments: list[str]) -> tuple[str, int]:
    """Run one benchmark; return its output as a section of the page, and its exit code."""
    shown = " ".join([f"bench/{name}.py", *(Path(each).name for each in arguments)])
    print(f"{shown} ...", file=sys.stderr, flush=True)
    start = time.monotonic()
    run = subprocess.run(
        [sys.executable, str(BENCH / f"{name}.py"), *arguments],
        cwd=BENCH.parent,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    took = time.monotonic() - start
    result = "" if run.returncode == 0 else f" **It ended with {run.returncode}.**"
    print(f"  {took:.0f} s, exit code {run.returncode}", file=sys.stderr, flush=True)
    said = _as_markdown(_without_repeats(run.stdout))
    about = f"{_about()}; {took:.0f} s.{result}"
    return f"### `{shown}`\n\n{about}\n\n{said}\n", run.returncode


def _without_repeats(said: str) -> list[str]:
    """Return the lines without a crowd's progress lines and without trailing spaces."""
    lines = [line.rstrip() for line in said.splitlines()]
    return [line for line in lines if not re.match(r" +\d+ +[\d,]+ +[\d,]+ +", line)]


def _as_markdown(lines: list[str]) -> str:
    """Leave tables unchanged and put all other lines into code blocks."""
    parts: list[str] = []
    plain: list[str] = []
    for line in [*lines, "|"]:
        if line.startswith("|"):
            text = "\n".join(plain).strip("\n")
            parts += [f"```text\n{text}\n```\n"] if text else []
            plain = []
            parts += [line] if line != "|" else []
        else:
            if parts and parts[-1].startswith("|"):
                parts.append("")
            plain.append(line)
    return "\n".join(parts).strip("\n")


def _about() -> str:
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.machine()}"
    return (
        f"{time.strftime('%Y-%m-%d')}, {machine}, load average {os.getloadavg()[0]:.1f} at the end"
    )


def _write(sections: list[str], *, keep_others: bool) -> None:
    """Write the sections between the two marks; `keep_others`: replace only those of that title."""
    before, found, rest = README.read_text().partition(BEGIN)
    kept, also_found, after = rest.partition(END)
    if not (found and also_found):
        raise SystemExit(f"{README} has no place for results")
    written = {section.partition("\n")[0]: section for section in sections}
    if keep_others:
        old = [f"### {text.strip()}\n" for text in kept.split("### ")[1:]]
        written = {text.partition("\n")[0]: text for text in old} | written
    text = "\n".join(written.values())
    README.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}")


if __name__ == "__main__":
    main()
