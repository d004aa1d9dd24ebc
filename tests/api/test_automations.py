"""The nodes for n8n and the app for Zapier: made from the document, checked by their packages."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from jobs.models import Company
from pipeline.webhooks.queue import TYPES
from tests.api.test_sdks import webhooks
from tests.support import factories
from tests.support.callers import Answer, Caller, key_of
from tests.support.environment import ROOT
from tests.support.tools import needed_node_packages, needed_tool
from tools.automations import DOCUMENT, LEFT_OUT, N8N, ZAPIER, Document, make_n8n, make_zapier

MADE = shutil.ignore_patterns("dist", "node_modules", "description.ts", "definition.json")
STORY = Path(__file__).parent
VALIDATE = """
const app = require("./index.js");
const checked = require("zapier-platform-schema").validateAppDefinition(app);
const z = { errors: { Error } };
const told = JSON.parse(process.argv[1]).map(({ secret, headers, body }) => {
  const bundle = { rawRequest: { headers, content: body }, subscribeData: { secret } };
  try { return require("./hook.js")(z, bundle)[0].type; } catch { return "refused"; }
});
console.log(JSON.stringify({ errors: checked.errors.map((each) => each.stack), app, told }));
"""


def run(*command: object, cwd: Path) -> str:
    given = [*map(str, command)]
    done = subprocess.run(given, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def copied(place: str, root: Path, *packages: str) -> Path:
    """Copy an example as it is in git, beside the document, with the packages that it needs."""
    node_modules = needed_node_packages(*packages)
    shutil.copytree(ROOT / place, root / place, ignore=MADE)
    shutil.copy(ROOT / DOCUMENT, root / DOCUMENT)
    (root / place / "node_modules").symlink_to(node_modules)
    return root / place


@pytest.fixture
def n8n(tmp_path: Path) -> Any:
    """Return what n8n's own package says of the compiled nodes."""
    folder = copied(N8N, tmp_path, "n8n-workflow", "@types/node")
    make_n8n(tmp_path)
    run(needed_tool("tsc", "npm install --global typescript"), cwd=folder)
    shutil.copy(STORY / "n8n_check.cjs", folder)
    requests = json.dumps([request for request, _ in webhooks()])
    check = (needed_tool("node", "the package nodejs"), "n8n_check.cjs")
    return json.loads(run(*check, folder / "dist" / "nodes", requests, cwd=folder))


@pytest.fixture
def zapier(tmp_path: Path) -> Any:
    """Return the app for Zapier, and what Zapier's own package says of it."""
    folder = copied(ZAPIER, tmp_path, "zapier-platform-schema")
    make_zapier(tmp_path)
    requests = json.dumps([request for request, _ in webhooks()])
    node = needed_tool("node", "the package nodejs")
    return json.loads(run(node, "-e", VALIDATE, requests, cwd=folder))


def test_the_n8n_node_has_every_operation_with_the_fields_that_it_needs(n8n: Any) -> None:
    operations = {each.id: each for each in Document(ROOT / DOCUMENT).operations()}

    assert len(operations) > 70
    assert n8n["shown"].keys() == operations.keys()
    for name, each in operations.items():
        needed = {one.name for one in each.fields if one.is_required}
        assert needed <= set(n8n["shown"][name]["fields"]), name
        texts = {one.name for one in each.fields if one.is_required and one.kind == "string"}
        free = {one.name for one in each.fields if one.choices}
        assert set(n8n["shown"][name]["missing"]) == texts - free, name
        assert ("idempotencyKey" in n8n["shown"][name]["fields"]) == (each.method == "POST")
        assert set(re.findall(r"{(\w+)}", each.path)) <= needed


def test_the_n8n_trigger_knows_every_type_and_verifies_what_it_gets(n8n: Any) -> None:
    expected = [told != "refused" for _, told in webhooks()]

    assert n8n["types"] == [each for each in TYPES if each != "webhook.test"]
    assert n8n["signed"] == expected


def test_zapier_accepts_the_app(zapier: Any) -> None:
    assert zapier["errors"] == []
    assert len(zapier["app"]["creates"]) > 20
    assert len(zapier["app"]["searches"]) > 30


def test_the_zapier_app_has_a_trigger_for_each_type_and_verifies_what_it_gets(zapier: Any) -> None:
    subscribed = [
        each["operation"]["performSubscribe"]["body"]["types"]
        for each in zapier["app"]["triggers"].values()
    ]

    assert subscribed == [[each] for each in TYPES if each != "webhook.test"]
    assert zapier["told"] == [expected for _, expected in webhooks()]


def filled(template: Any, bundle: dict[str, Any]) -> Any:
    """Fill in a request as Zapier does: a place alone keeps its type, and what is missing goes."""
    if isinstance(template, dict):
        made = {name: filled(each, bundle) for name, each in template.items()}
        return {name: each for name, each in made.items() if each is not None}
    if isinstance(template, list):
        return [filled(each, bundle) for each in template]
    if alone := re.fullmatch(r"{{bundle\.([\w.]+)}}", str(template)):
        return bundle.get(alone[1])
    return re.sub(r"{{bundle\.([\w.]+)}}", lambda each: str(bundle[each[1]]), str(template))


def sent(caller: Caller, request: Any, **values: Any) -> Answer:
    """Send a request of the app, with these values."""
    bundle = {name.replace("__", "."): value for name, value in values.items()}
    made = filled(request, {"authData.site": "https://jobs.example"} | bundle)
    path = made["url"].removeprefix("https://jobs.example/api/v1")
    if made["method"] == "DELETE":
        return caller.delete(path)
    return caller.post(path, made.get("body"))


@pytest.mark.django_db
def test_what_the_zapier_app_sends_is_what_the_api_takes(zapier: Any, company: Company) -> None:
    job, caller = factories.job(company_id=company.id), key_of(company.id)
    submit = zapier["app"]["creates"]["submit_person"]["operation"]["perform"]
    trigger = zapier["app"]["triggers"]["application_promoted"]["operation"]

    person = {"inputData__name": "Mia", "inputData__email": "mia@example.com"}
    more = {"inputData__job_id": str(job), "inputData__metadata": {"source": "fair"}}
    mia = sent(caller, submit, **person, **more)
    hook = sent(caller, trigger["performSubscribe"], targetUrl="https://hooks.example.com/1")
    gone = sent(caller, trigger["performUnsubscribe"], subscribeData__id=hook.json()["id"])

    assert (mia.status_code, mia.json()["metadata"]) == (201, {"source": "fair"})
    assert (hook.status_code, hook.json()["types"]) == (201, ["application.promoted"])
    assert hook.json()["secret"].startswith("whsec_")
    assert gone.status_code == 204


def test_what_is_left_out_exists() -> None:
    text = (ROOT / DOCUMENT).read_text()

    assert [each for each in LEFT_OUT if f"operationId: {each}\n" not in text] == []


def test_tests_and_users_have_the_same_packages() -> None:
    installs = (ROOT / ".ci" / "run").read_text()
    asked = [
        json.loads((ROOT / place / "package.json").read_text())["devDependencies"]
        for place in (N8N, ZAPIER)
    ]

    for name, version in (asked[0] | asked[1]).items():
        assert f" {name}@{version}" in installs
