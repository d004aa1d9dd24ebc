"""A name server that changes its answers between our check and our connection.

It is a real one, asked by the system's own resolver, in a network of its own: see
`tests/support/name_server.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.environment import ROOT
from tests.support.name_server import ANSWERS, INSIDE, PUBLIC

NAMESPACE = [shutil.which("unshare") or "false", "--map-root-user", "--mount", "--net"]
MAY_HAVE_NETWORK = not subprocess.run(
    [*NAMESPACE, "true"], check=False, capture_output=True
).returncode
PROGRAM = [sys.executable, "-m", "tests.support.name_server"]


@pytest.mark.skipif(not MAY_HAVE_NETWORK, reason="needs a network of its own (unshare)")
def test_whatever_a_name_server_answers_only_a_checked_address_is_connected_to(
    tmp_path: Path,
) -> None:
    own = {"TMPDIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "pipeline.settings"}

    done = subprocess.run(
        [*NAMESPACE, *PROGRAM],
        check=True,
        cwd=ROOT,
        env=os.environ | own,
        stdout=subprocess.PIPE,
        timeout=120,
    )

    guarded, control = json.loads(done.stdout.splitlines()[-1])
    reached = {name: addresses for name, (_, addresses, _) in guarded.items() if addresses}
    names = ("public.example.", "rebinding.example.", "mixed.example.", "many.example.")
    assert guarded.keys() == ANSWERS.keys()
    assert reached == {name: [PUBLIC] for name in names}
    # Its second answer was given, for the second request, which went nowhere.
    assert guarded["rebinding.example."] == ["ADDRESS_REFUSED", [PUBLIC], 2]
    inside = ("rebinding.example.", "inside.example.", "chain.example.", "truncated.example.")
    assert all(INSIDE in control[name][1] for name in inside)
