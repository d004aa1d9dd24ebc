"""When the clients in docs/examples send a request again: the same in Python and TypeScript."""

from __future__ import annotations

import json
import re
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.tools import needed_tool

MOST = 3
# Status (None: no answer), code, Retry-After; and how often it is sent again.
CASES: list[tuple[int | None, str, str | None, int]] = [
    (None, "", None, MOST),
    (429, "THROTTLED", "1", MOST),
    (429, "THROTTLED", "31", 0),
    (503, "BUSY", "1", MOST),
    (502, "", None, MOST),
    (504, "", None, MOST),
    (500, "INTERNAL_ERROR", None, 2),
    (409, "IDEMPOTENCY_KEY_IN_USE", None, 9),
    (409, "CLOCK_MOVING", "1", 9),
    (409, "INVALID_TRANSITION", None, 0),
    (412, "PRECONDITION_FAILED", None, 0),
    (400, "VALIDATION_ERROR", None, 0),
]
EXPECTED = [times for *_, times in CASES]
ATTEMPTS = range(1, 12)
# The least that the growing pauses add up to before an unfinished first attempt is given up.
LEASE_SECONDS = 60

SCRIPT = """
import { pauseBeforeRetry } from "%s";
const { cases, most, attempts } = JSON.parse(process.argv[2]);
const pauses = cases.map(([status, code, retryAfter]) => {
  const refusal = status === null ? null : { status, code, retryAfter };
  return attempts.map((attempt) => pauseBeforeRetry(refusal, attempt, most));
});
console.log(JSON.stringify(pauses));
"""


def checked(pauses: list[list[float | None]]) -> None:
    """Check how often each case is repeated, and that a running request is waited for."""
    assert [sum(each is not None for each in row) for row in pauses] == EXPECTED
    running = pauses[[code for _, code, *_ in CASES].index("IDEMPOTENCY_KEY_IN_USE")]
    assert sum(each or 0 for each in running) > LEASE_SECONDS
    assert pauses[1][0] == 1.0


def test_the_python_client_repeats_what_the_page_says(python_client: None) -> None:
    pause_before_retry = import_module("nextinline.retries").pause_before_retry

    def pauses(status: int | None, code: str, wait: str | None) -> list[Any]:
        headers = {"Retry-After": wait} if wait else {}
        answer = status and httpx.Response(status, json={"code": code}, headers=headers)
        return [
            pause_before_retry(answer or None, attempt=each, max_retries=MOST) for each in ATTEMPTS
        ]

    checked([pauses(*case[:3]) for case in CASES])


def test_the_typescript_client_repeats_what_the_page_says(
    typescript_sdk: Path, tmp_path: Path
) -> None:
    script = tmp_path / "pauses.mjs"
    script.write_text(SCRIPT % (typescript_sdk / "dist" / "retries.js"))
    given = json.dumps({"cases": [*CASES], "most": MOST, "attempts": [*ATTEMPTS]})

    command = [needed_tool("node", "the package nodejs"), script, given]
    told = subprocess.run(command, capture_output=True, text=True, check=True)

    checked(json.loads(told.stdout))


def test_the_examples_of_the_typescript_page_compile(typescript_sdk: Path, tmp_path: Path) -> None:
    compiler = needed_tool("tsc", "npm install --global typescript")
    [example] = re.findall(r"```ts\n(.*?)```", (typescript_sdk / "README.md").read_text(), re.S)
    tasks = 'await company.tasks.start({ type: "report.weekly", payload: { job_id: job.id } });'
    text = f"declare const process: any;\n{example}{tasks}\n"
    (tmp_path / "example.ts").write_text(text)
    options = {
        "noEmit": True,
        "rootDir": "/",
        "paths": {"nextinline-client": [f"{typescript_sdk}/src/index.ts"]},
    }
    config = {"extends": f"{typescript_sdk}/tsconfig.json", "compilerOptions": options}
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "tsconfig.json").write_text(json.dumps(config | {"files": ["example.ts"]}))

    command = [compiler, "--project", tmp_path]
    told = subprocess.run(command, check=False, capture_output=True, text=True)

    assert (told.stdout, told.returncode) == ("", 0)


@pytest.mark.parametrize("ending", ["", "/", "/api/v1", "/api/v1/"])
def test_the_python_client_takes_the_address_with_or_without_the_base_path(
    python_client: None, ending: str
) -> None:
    client = import_module("nextinline").Client
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, json={})

    with client(
        base_url=f"https://jobs.example{ending}", transport=httpx.MockTransport(answer)
    ) as company:
        company.jobs.get("1")

    assert asked == ["https://jobs.example/api/v1/jobs/1"]


def test_the_python_client_keeps_its_place_when_the_site_is_full(python_client: None) -> None:
    client = import_module("nextinline").Client
    sent: list[tuple[str | None, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append((request.headers.get("Place-Token"), request.headers["Idempotency-Key"]))
        if len(sent) < 3:
            headers = {"Retry-After": "0", "Place-Token": f"place {len(sent)}"}
            return httpx.Response(503, json={"code": "UNAVAILABLE"}, headers=headers)
        return httpx.Response(201, json={"id": "1"})

    with client(transport=httpx.MockTransport(answer)) as company:
        company.call("POST", "/jobs/1/applications", json={"name": "Ada"})

    assert [place for place, _ in sent] == [None, "place 1", "place 2"]
    assert len({key for _, key in sent}) == 1


PLACES = """
import { NextInLine } from "%s";
const sent = [];
const fetch = async (_, init) => {
  sent.push(init.headers["Place-Token"] ?? null);
  const headers = { "Retry-After": "0", "Place-Token": `place ${sent.length}` };
  return new Response("{}", sent.length < 3 ? { status: 503, headers } : { status: 201 });
};
await new NextInLine({ fetch }).call("POST", "/jobs/1/applications", { json: {} });
console.log(JSON.stringify(sent));
"""


def test_the_typescript_client_keeps_its_place_when_the_site_is_full(
    typescript_sdk: Path, tmp_path: Path
) -> None:
    script = tmp_path / "places.mjs"
    script.write_text(PLACES % (typescript_sdk / "dist" / "index.js"))

    command = [needed_tool("node", "the package nodejs"), script]
    told = subprocess.run(command, capture_output=True, text=True, check=True)

    assert json.loads(told.stdout) == [None, "place 1", "place 2"]


def test_the_feed_of_the_python_client_begins_at_its_end(python_client: None) -> None:
    client = import_module("nextinline").Client
    asked: list[dict[str, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(dict(request.url.params))
        return httpx.Response(200, json={"data": [], "next_cursor": "end"})

    with client(transport=httpx.MockTransport(answer)) as company:
        cursors = [page["next_cursor"] for page in company.events.pages(start="now")]

    assert cursors == ["end"]
    assert [each.get("start") for each in asked] == ["now", None]
    assert [each.get("cursor") for each in asked] == [None, "end"]
