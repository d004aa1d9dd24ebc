"""Mixed load with everything that can go wrong at once; at the end everything is counted.

    .venv/bin/python bench/tasks_storm.py [--seconds 300] [--rate 500] [--workers 3]

The load (`tasks_storm_load.py`): one task in a hundred kills its child, one wants more memory than
it may have, one fails at first; some are of a type with a cap, of one that is paused now and then,
slow, cancelled, or for later; and there are schedules. Meanwhile workers are killed (every 20 s),
stopped past their lease and woken, replaced as by a deploy; and PostgreSQL crashes in the middle.
Then all is counted (`tasks_storm_checks.py`); it ends with 1 if anything is not as it must be.
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
    parser.add_argument("--settle", type=float, default=180, help="how long it may take to finish")
    return parser.parse_args()


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.pathsep.join([str(harness.ROOT), str(harness.ROOT / "bench")])
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    harness.SETTINGS = "tasks_settings"
    main()
