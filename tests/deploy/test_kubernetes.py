"""The Kubernetes manifests: valid, probed, limited, closed, and of settings that exist."""

from __future__ import annotations

import shlex
from typing import Any

import kubernetes_validate
import pytest
import yaml

from pipeline.config import env
from tests.support.commands import command_blocks
from tests.support.environment import ROOT

FOLDER = ROOT / "deploy" / "kubernetes"
FILES = sorted(path.name for path in FOLDER.glob("*.yaml"))
WORKLOADS = ("Deployment", "StatefulSet")
OF_GUNICORN = {"PORT", "WEB_CONCURRENCY"}
APPLIED_ALONE = {"kustomization.yaml", "migrate.yaml"}


def manifests(*kinds: str) -> list[dict[str, Any]]:
    """Return the manifests of these kinds; all of them, if none are given."""
    texts = [(FOLDER / name).read_text() for name in FILES if name != "kustomization.yaml"]
    found = [each for text in texts for each in yaml.safe_load_all(text)]
    return [each for each in found if not kinds or each["kind"] in kinds]


def pods() -> dict[str, dict[str, Any]]:
    """Return the pod of each workload and job, by name."""
    made = manifests(*WORKLOADS, "Job")
    return {each["metadata"]["name"]: each["spec"]["template"] for each in made}


def containers() -> dict[str, dict[str, Any]]:
    """Return the one container of each pod."""
    found = {}
    for name, pod in pods().items():
        [found[name]] = pod["spec"]["containers"]
    return found


@pytest.mark.parametrize("version", ["1.29", "1.34"])
def test_every_manifest_is_valid(version: str) -> None:
    assert len(manifests()) >= 13
    for site_manifest_file in manifests():
        kubernetes_validate.validate(site_manifest_file, version, strict=True)


def test_a_field_that_does_not_exist_is_noticed() -> None:
    [wrong, *_] = manifests("Deployment")
    wrong["spec"]["template"]["spec"]["containers"][0]["livenessProb"] = {}

    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, "1.34", strict=True)


def test_the_list_names_every_file_but_the_migration() -> None:
    listed = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]

    assert set(listed) == set(FILES) - APPLIED_ALONE
    assert {each["metadata"].get("namespace", "next-in-line") for each in manifests()} == {
        "next-in-line"
    }


def test_every_process_is_probed_and_limited() -> None:
    for name, container in containers().items():
        assert container["resources"]["requests"], name
        assert container["resources"]["limits"]["memory"], name
        assert name == "next-in-line-migrate" or container["livenessProbe"], name
    assert containers()["web"]["readinessProbe"]
    for name in ("decay", "tasks"):
        told = {each["name"]: each["value"] for each in containers()[name]["env"]}
        assert told["ALIVE_FILE"] in containers()[name]["livenessProbe"]["exec"]["command"][2]


def test_every_process_runs_without_rights() -> None:
    for name, pod in pods().items():
        assert pod["spec"]["securityContext"]["runAsNonRoot"] is True, name
        assert pod["spec"]["automountServiceAccountToken"] is False, name
    for name, container in containers().items():
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }, name


def test_every_workload_has_a_budget_for_disruptions_that_selects_it() -> None:
    budgets = [each["spec"] for each in manifests("PodDisruptionBudget")]
    selected = [budget["selector"]["matchLabels"] for budget in budgets]

    for workload in manifests(*WORKLOADS):
        labels = workload["spec"]["template"]["metadata"]["labels"]
        assert workload["spec"]["selector"]["matchLabels"] == labels
        assert labels in selected
        assert workload["spec"]["replicas"] >= 2
    assert all(budget["maxUnavailable"] == 1 for budget in budgets)


def test_only_settings_that_exist_are_set_and_only_the_migration_knows_the_owner() -> None:
    [settings] = manifests("ConfigMap")
    names = set(settings["data"])
    secrets = {}
    for name, container in containers().items():
        names |= {each["name"] for each in container.get("env", [])}
        sources = [each.get("secretRef", {}).get("name") for each in container["envFrom"]]
        secrets[name] = {source for source in sources if source}

    assert names <= set(env.NAMES) | OF_GUNICORN
    owners = {name for name, of in secrets.items() if "next-in-line-owner" in of}
    assert owners == {"next-in-line-migrate"}
    assert all("next-in-line" in of for of in secrets.values())


def test_pods_have_longer_to_end_than_their_processes_take() -> None:
    command = containers()["tasks"]["command"]
    drain = int(command[command.index("--drain") + 1])

    assert pods()["tasks"]["spec"]["terminationGracePeriodSeconds"] > drain
    assert pods()["web"]["spec"]["terminationGracePeriodSeconds"] >= 8 + 9


def applied(command: list[str]) -> list[dict[str, Any]]:
    """Return the objects that a kubectl command of the page creates, in its order."""
    if command[1:3] == ["create", "secret"]:
        namespace = command[command.index("--namespace") + 1]
        return [{"kind": "Secret", "metadata": {"name": command[4], "namespace": namespace}}]
    if "--kustomize" in command:
        listed = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
        files = [FOLDER / name for name in listed]
    else:
        files = [ROOT / command[n + 1] for n, word in enumerate(command) if word == "--filename"]
    return [each for file in files for each in yaml.safe_load_all(file.read_text())]


def needs(made: Any, key: str = "") -> set[tuple[str, str]]:
    """Return kind and name of everything that an object refers to."""
    kinds = {
        "configMapRef": "ConfigMap",
        "configMapKeyRef": "ConfigMap",
        "secretRef": "Secret",
        "secretKeyRef": "Secret",
        "service": "Service",
    }
    names = {
        "namespace": "Namespace",
        "serviceAccountName": "ServiceAccount",
        "secretName": "Secret",
        "claimName": "PersistentVolumeClaim",
        "serviceName": "Service",
    }
    if isinstance(made, list):
        return {each for item in made for each in needs(item)}
    if not isinstance(made, dict):
        return {(names[key], made)} if key in names else set()
    own = {(kinds[key], made["name"])} if key in kinds else set()
    return own.union(*(needs(value, name) for name, value in made.items()))


def missing(texts: list[str]) -> list[tuple[str, tuple[str, str]]]:
    """Return what is referred to before it exists, with the first words of the command."""
    there: set[tuple[str, str]] = set()
    found = []
    for text in "".join(texts).replace("\\\n", " ").splitlines():
        command = shlex.split(text)
        if command[1] == "wait":
            [job] = [word.removeprefix("job/") for word in command if word.startswith("job/")]
            wanted, created = {("Job", job), ("Namespace", command[3])}, set()
        elif command[1] == "delete":
            continue
        else:
            objects = applied(command)
            created = {(each["kind"], each["metadata"]["name"]) for each in objects}
            wanted = needs(objects)
        # In one command, only the order of its own objects is left to kubectl.
        found += [(" ".join(command[:3]), each) for each in sorted(wanted - there - created)]
        there |= created
    return found


def install_commands() -> list[str]:
    return [text for comment, text in command_blocks() if "this order" in comment]


def test_everything_exists_when_a_command_of_the_page_needs_it() -> None:
    assert len(install_commands()) == 2
    assert missing(install_commands()) == []


def test_a_step_that_comes_too_early_is_noticed() -> None:
    first, release = install_commands()

    without_settings = release.replace("--filename deploy/kubernetes/settings.yaml", "")
    assert missing([first, without_settings]) == [
        ("kubectl apply --filename", ("ConfigMap", "next-in-line"))
    ]
    assert ("kubectl create secret", ("Namespace", "next-in-line")) in missing(
        [first.partition("\n")[2], release]
    )
    assert ("Secret", "next-in-line-owner") in [each for _, each in missing([release])]
