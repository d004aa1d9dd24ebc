"""Running the fuzzer against a server, as a caller who knows some ids."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.environment import ROOT

CONFIG = """
hooks = "tests.faults.api.fuzz_hooks"
continue-on-failure = true

[generation]
allow-x00 = false  # NUL bytes have tests of their own
codec = "utf-8"
database = "none"
with-security-parameters = false
allow-extra-parameters = true

[phases.coverage]
generate-duplicate-query-parameters = false

[checks.positive_data_acceptance]
expected-statuses = ["2xx", 304, 401, 403, 404, 409, 410, 412, 422, 428]

# What the schema cannot say: cursors that were given out, parameters that go together, times that
# are not in the future, characters that can be shown, and who may send which body.
[[operations]]
include-operation-id-regex = "^(list|find|replay|verify)_|get_queue|timeline|^apply$|create_api_key"
checks.positive_data_acceptance.expected-statuses = ["2xx", 304, 400, 401, 403, 404, 409, 422]

# Nor which types of background work there are, what each takes, what is a cron expression, and what
# is a list of people.
[[operations]]
include-operation-id-regex = "^(start_task|(create|change)_schedule|import_|plan_seats)"
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 413, 422]

# Nor which URLs a webhook may have: public ones, over HTTPS.
[[operations]]
include-operation-id-regex = "^(create|change)_webhook"
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 422]

# Nor which reason fits which answer to a request to look again, and which one needs a text.
[[operations]]
include-operation-id-regex = "^(answer_contest|move_ahead)$"
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 422]

# Nor which fields fit which kind of a further question, and that its answer is due in the future.
[[operations]]
include-operation-id-regex = "^ask_further_question$"
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 422]

# Nor which time zones there are, and that a draw is in the future.
[[operations]]
include-operation-id-regex = "^(create|change)_job$"
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 412, 422, 428]

[parameters]
"""


@dataclass(frozen=True, slots=True)
class Run:
    """Result of a run of the fuzzer."""

    found_nothing: bool
    requests: int
    said: str


PARSER_FAULT = "AST constructor recursion depth mismatch"
"""What Python 3.11's own parser says now and then when the fuzzer reads its own source: no answer
of ours is concerned, and the run is repeated, once."""


def fuzz(
    address: str,
    folder: Path,
    *,
    headers: dict[str, str],
    known: dict[str, list[str]],
    examples: int,
    phases: str,
    seed: int | None,
) -> Run:
    """Call every operation at least `examples` times, and follow what can follow from answers.

    `phases`: those of the fuzzer, with commas between. `known`: ids for parameters in paths.
    Without a `seed` it is the same run each time.
    """
    (folder / "schemathesis.toml").write_text(_config(known))
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        *("--config-file", str(folder / "schemathesis.toml")),
        *("run", f"{address}/api/v1/openapi.json", "--no-color", "--checks", "all"),
        *("--phases", phases, "--max-examples", str(examples), "--workers", "1"),
        *("--warnings", "off"),
        *(["--generation-deterministic"] if seed is None else ["--seed", str(seed)]),
    ]
    for name, value in headers.items():
        command += ["--header", f"{name}: {value}"]
    done = _run(command, folder)
    if PARSER_FAULT in done.stdout:
        done = _run(command, folder)
    counted = re.search(r"([\d,]+) generated", done.stdout)
    requests = int(counted[1].replace(",", "")) if counted else 0
    return Run(done.returncode == 0, requests, done.stdout + done.stderr)


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    # Among what it keeps there are its tables of characters, which take seconds to make.
    kept = {"HYPOTHESIS_STORAGE_DIRECTORY": str(ROOT / ".hypothesis")}
    environment = os.environ | kept | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def _config(known: dict[str, list[str]]) -> str:
    uses = "".join(
        f'"path.{name}" = {{ dictionary = "{name}", probability = 0.7 }}\n' for name in known
    )
    values = "".join(f"{name} = {{ values = {json.dumps(ids)} }}\n" for name, ids in known.items())
    return f"{CONFIG}{uses}\n[dictionaries]\n{values}"
