"""Mixed load while everything goes wrong at once; at the end everything is counted.

    .venv/bin/python bench/tasks_storm.py [--seconds 300] [--rate 500] [--workers 3]

The load (`tasks_storm_load.py`): of a hundred tasks, one kills its child, one exceeds its memory
limit, and one fails at first. Some are of a capped type, of a type that is sometimes paused, slow,
cancelled, or due later; and there are schedules. Meanwhile workers are killed (every 20 s), stopped
past their lease and resumed, or replaced as by a deploy, and PostgreSQL crashes halfway. Then all
tasks are counted (`tasks_storm_checks.py`). Exits with 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import os
import sys

import harness
import tasks_storm_checks as checks
import tasks_storm_load as load


def main() -> None:
    options = arguments()
    cluster = harness.start()
    harness.execute(
        "CREATE TABLE bench_marks (task uuid, attempt int)",
        "CREATE INDEX ON bench_marks (task)",
    )
    storm = load.Storm(options.seconds, options.rate, options.workers, cluster)
    with checks.Watch() as watch:
        try:
            storm.run()
            storm.calm_down()
            checks.settle(seconds=options.settle)
        finally:
            storm.end()
    harness.print_load()
    faults = [*watch.faults, *checks.judge(storm)]
    print("VERDICT: sound" if not faults else f"VERDICT: NOT SOUND: {'; '.join(faults)}")
    sys.exit(bool(faults))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A storm of background work.")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--rate", type=int, default=500, help="tasks a second")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument(
        "--settle", type=float, default=180, help="seconds that it may take to finish"
    )
    return parser.parse_args()


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.pathsep.join([str(harness.ROOT), str(harness.ROOT / "bench")])
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    harness.SETTINGS = "tasks_settings"
    main()
