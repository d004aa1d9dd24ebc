"""No key, token or password lies in a file under version control."""

from __future__ import annotations

import re

import pytest

from tests.house.files import name_of, project_files

SECRETS = {
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY",
    "a key of AWS": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "a token of GitHub": r"\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_\w{40,}",
    "a token of GitLab": r"\bglpat-[\w-]{20,}",
    "a token of Slack": r"\bxox[abprs]-[\w-]{10,}",
    "a key of Stripe": r"\b[sr]k_live_\w{16,}",
    "a key of Google": r"\bAIza[\w-]{35}",
    "a token of PyPI": r"\bpypi-[\w-]{50,}",
    "a JSON web token": r"\beyJ[\w-]{15,}\.eyJ[\w-]{15,}\.[\w-]{10,}",
    "one of our own keys": r"\bnil[ka]_[\w-]{43}\b",
    "a value for a secret": (
        r"(?im)^\s*(?:export )?(?:SECRET_KEY|METRICS_TOKEN|POSTGRES_PASSWORD)=[\w-]{16,}\s*$"
    ),
}
# Text files only; lock files hold hashes.
SKIPPED = re.compile(r"\.(?:png|ico|woff2?|jpg|gz)$|^requirements")


def found_in(text: str) -> list[str]:
    """Return the kinds of secrets in a text."""
    return [kind for kind, pattern in SECRETS.items() if re.search(pattern, text)]


@pytest.mark.slow
def test_no_file_holds_a_secret() -> None:
    files = [path for path in project_files() if not SKIPPED.search(name_of(path))]

    assert len(files) > 500
    found = {name_of(path): found_in(path.read_text(errors="replace")) for path in files}
    assert {name: kinds for name, kinds in found.items() if kinds} == {}


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("a private key", ("-----BEGIN RSA", " PRIVATE KEY-----")),
        ("a key of AWS", ("AKIA", "IOSFODNN7EXAMPLE")),
        ("a token of GitHub", ("ghp", "_" + "a1" * 18)),
        ("a token of GitLab", ("glpat", "-" + "a1" * 10)),
        ("a token of Slack", ("xoxb", "-1234567890-abc")),
        ("a key of Stripe", ("sk_", "live_" + "a1" * 8)),
        ("a key of Google", ("AIza", "a" * 35)),
        ("a token of PyPI", ("pypi", "-" + "a" * 50)),
        ("a JSON web token", ("eyJ" + "a" * 15, ".eyJ" + "a" * 15 + "." + "b" * 10)),
        ("one of our own keys", ("nilk", "_" + "a" * 43)),
        ("a value for a secret", ("SECRET_KEY", "=" + "a1" * 10)),
    ],
)
def test_each_kind_is_noticed(kind: str, parts: tuple[str, str]) -> None:
    assert kind in found_in("".join(parts))
