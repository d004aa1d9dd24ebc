"""The clients in docs/examples play the whole story against a running server."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import standardwebhooks
import yaml

from jobs.models import Company
from pipeline.webhooks.endpoints import generate_secret
from tests.support.callers import key_of
from tests.support.environment import ROOT
from tests.support.sandboxes import sandbox
from tests.support.sdks import copied
from tests.support.server import serving
from tests.support.tools import needed_module, needed_tool
from tools.sdk import PYTHON, TYPESCRIPT

STORY = Path(__file__).parent
DOCUMENT = ROOT / "docs" / "openapi.yaml"
EXPECTED: dict[str, Any] = {
    "one job": True,
    "statuses": ["ACTIVE", "WAITLIST", "WAITLIST"],
    "twice": [409, "DUPLICATE_SUBMISSION", True],
    "in the way": True,
    "queue": [True, False],
    "promoted": "PENDING_ACKNOWLEDGMENT",
    "acknowledged": "ACTIVE",
    "timeline": (
        "You confirmed the seat in time, on the company’s own site. It is your seat until the"
        " company decides."
    ),
    "hired": "HIRED",
    "attached": {"source": "fair"},
    "own id": True,
    "no such id": None,
    "hires": [["crm-noa", "Starts in May."]],
    "everyone": ["crm-mia", "crm-noa", "crm-ole"],
    "decision": "Starts in May.",
    "feed": [
        *("JOB_CREATED", "JOB_OPENED", "APPLIED", "APPLIED", "APPLIED"),
        *("WITHDRAWN", "PROMOTED", "ACKNOWLEDGED", "REMOVED", "PROMOTED"),
    ],
    "whose": [
        *(None, None, "crm-mia", "crm-noa", "crm-ole"),
        *("crm-mia", "crm-noa", "crm-noa", "crm-noa", "crm-ole"),
    ],
    "changes": ["APPLICATION_CHANGED"],
    "later": [["WITHDRAWN"]],
    "pages of two": list(range(1, 12)),
    "verdict": "ok",
    "found": True,
    "files": [["cv.txt", "text/plain"]],
    "bytes": True,
    "capacity": 2,
    "moved": [True, 3_600],
    "live clock": "NOT_A_SANDBOX",
    "waited": "not yet",
    "retried": [3, 1, 1],
    "nobody there": True,
}


@pytest.fixture
def address(environment: dict[str, str], tmp_path: Path) -> Iterator[str]:
    with serving(environment, tmp_path / "server.log", workers=1) as address:
        yield address


def tokens(company: Company) -> list[str]:
    """Keys of the company and of its sandbox."""
    return [str(key_of(each.id).token) for each in (company, sandbox(company))]


def checked(seen: Mapping[str, Any]) -> None:
    told = json.loads(json.dumps(seen))
    assert re.fullmatch(r"whsec_\S{20,}", told.pop("secret"))
    assert told == EXPECTED


def test_the_asynchronous_python_client_plays_the_story(
    address: str, company: Company, python_client: None
) -> None:
    story = import_module("tests.api.sdk_story")

    checked(asyncio.run(story.tell_story(address, *tokens(company))))


def test_the_synchronous_python_client_plays_the_story(
    address: str, company: Company, python_client: None
) -> None:
    made: dict[str, Any] = {"__name__": "story"}
    text = (STORY / "sdk_story.py").read_text()
    exec(import_module("make").synchronous(text), made)  # noqa: S102  our own file

    checked(made["tell_story"](address, *tokens(company)))


def test_pip_installs_what_is_made_too(tmp_path: Path) -> None:
    """The build that pip starts, in a checkout in which nothing was made."""
    client = copied(PYTHON, tmp_path)
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run(command, cwd=client, capture_output=True, check=True)

    [wheel] = (client / "dist").iterdir()
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"nextinline/models.py", "nextinline/synchronous/client.py"} < names


def first_version_in(changelog: Path) -> str:
    found = re.search(r"^## (.+)$", changelog.read_text(), re.M)
    assert found
    return found[1]


def test_each_client_has_one_version_and_says_what_changed_in_it(
    installed_client: Path, typescript_sdk: Path
) -> None:
    ask = "import nextinline, importlib.metadata as m; "
    ask += "print(nextinline.__version__, m.version('nextinline-client'))"
    python = [installed_client / "python", "-c", ask]
    module = (typescript_sdk / "dist" / "index.js").as_uri()
    node = ["node", "--input-type=module", "-e", f"console.log((await import('{module}')).VERSION)"]

    told = [
        subprocess.run(each, capture_output=True, text=True, check=True).stdout.split()
        for each in (python, node)
    ]

    package = json.loads((ROOT / TYPESCRIPT / "package.json").read_text())
    assert told[0] == [first_version_in(ROOT / PYTHON / "CHANGELOG.md")] * 2
    assert told[1] == [first_version_in(ROOT / TYPESCRIPT / "CHANGELOG.md")]
    assert told[1] == [package["version"]]


def test_the_typescript_package_installs_into_an_empty_folder(
    typescript_sdk: Path, tmp_path: Path
) -> None:
    npm, tsc = (needed_tool(name, "apt-get install npm") for name in ("npm", "tsc"))

    def run(*command: object, cwd: Path = tmp_path) -> str:
        given = [*map(str, command)]
        return subprocess.run(given, cwd=cwd, capture_output=True, text=True, check=True).stdout

    told = run(npm, "pack", "--silent", "--pack-destination", tmp_path, cwd=typescript_sdk)
    (tmp_path / "package.json").write_text('{"type": "module", "private": true}')
    run(npm, "install", "--offline", "--no-audit", "--no-fund", "--silent", told.split()[-1])
    (tmp_path / "own.ts").write_text(
        'import { NextInLine, type Webhook } from "nextinline-client";\n'
        "const company = new NextInLine();\n"
        "export const title: string = (await company.jobs.get('x')).title;\n"
        "export const type = (webhook: Webhook): string => webhook.type;\n"
    )

    compiled = subprocess.run(
        [tsc, "--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "own.ts"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert compiled.returncode == 0, compiled.stdout
    script = "import('nextinline-client').then((c) => console.log(typeof c.NextInLine))"
    assert run("node", "-e", script) == "function\n"


def test_tests_and_users_have_the_same_generators() -> None:
    project = tomllib.loads((ROOT / PYTHON / "pyproject.toml").read_text())
    package = json.loads((ROOT / TYPESCRIPT / "package.json").read_text())
    installs = (ROOT / ".ci" / "run").read_text()

    name = "datamodel-code-generator"
    assert f"{name}=={version(name)}" in project["build-system"]["requires"]
    for tool in ("typescript", "openapi-typescript"):
        assert f" {tool}@{package['devDependencies'][tool]}" in installs


def test_the_python_client_is_typed(python_sdk: Path) -> None:
    needed_module("mcp")  # whose types the assistant's server has
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "-p", "nextinline"]
    done = subprocess.run(command, cwd=python_sdk, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_every_model_of_the_python_client_is_in_the_document(python_client: None) -> None:
    models, schemas = import_module("nextinline.models"), yaml.safe_load(DOCUMENT.read_text())
    known = {
        name: set(model.__annotations__)
        for name, model in vars(models).items()
        if isinstance(model, type) and hasattr(model, "__total__")
    }

    described = schemas["components"]["schemas"]
    assert len(known) > 60
    assert set(known) - set(described) <= {"FeedPage"}
    for name in known.keys() & described.keys():
        assert known[name] <= set(described[name].get("properties", {})), name


def webhook(secret: str, *, age: float = 0, body: bytes | None = None) -> dict[str, Any]:
    """A request as the site sends it, signed by the reference library."""
    sent = int(time.time() - age)
    content = body or b'{"type": "job.opened", "timestamp": "2026-11-22T10:33:20Z", "data": {}}'
    moment = datetime.fromtimestamp(sent, UTC)
    signature = standardwebhooks.Webhook(secret).sign("msg_1", moment, content.decode())
    headers = {
        "Webhook-Id": "msg_1",
        "Webhook-Timestamp": str(sent),
        "Webhook-Signature": f"v1,{'A' * 43}= v2,x {signature}",
    }
    return {"secret": secret, "headers": headers, "body": content.decode()}


def webhooks() -> list[tuple[dict[str, Any], str]]:
    """Requests, and what a client says of each."""
    secret, other = generate_secret(), generate_secret()
    good = webhook(secret)
    without = {name: value for name, value in good["headers"].items() if "Id" not in name}
    odd = good["headers"] | {"Webhook-Timestamp": "soon"}
    return [
        (good, "job.opened"),
        (good | {"secret": other}, "refused"),
        (good | {"body": good["body"] + " "}, "refused"),
        (good | {"headers": without}, "refused"),
        (good | {"headers": odd}, "refused"),
        (webhook(secret, age=600), "refused"),
        (webhook(secret, age=-600), "refused"),
        (webhook(secret, age=200), "job.opened"),
    ]


def test_the_python_client_verifies_webhooks(python_client: None) -> None:
    client = import_module("nextinline")
    told = []
    for request, _ in webhooks():
        try:
            told.append(client.verify_webhook(**request | {"body": request["body"].encode()}).type)
        except client.BadWebhook:
            told.append("refused")

    assert told == [expected for _, expected in webhooks()]


def test_the_python_client_says_which_webhooks_are_of_a_sandbox(python_client: None) -> None:
    verify = import_module("nextinline").verify_webhook
    secret, content = (
        generate_secret(),
        {"type": "job.opened", "timestamp": "", "data": {}},
    )
    live, trial = (
        webhook(secret, body=json.dumps(each).encode())
        for each in (content, content | {"test": True})
    )

    told = [verify(**each | {"body": each["body"].encode()}).test for each in (live, trial)]

    assert told == [False, True]


def test_the_typescript_client_compiles_and_plays_the_story(
    address: str, company: Company, typescript_sdk: Path
) -> None:
    requests = webhooks()

    told = subprocess.run(
        [
            *("node", STORY / "sdk_story.mjs", typescript_sdk / "dist" / "index.js", address),
            *tokens(company),
        ],
        input="".join(f"{json.dumps(request)}\n" for request, _ in requests),
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert told.returncode == 0, told.stderr
    seen = json.loads(told.stdout)
    assert seen.pop("webhooks") == [expected for _, expected in requests]
    checked(seen)
