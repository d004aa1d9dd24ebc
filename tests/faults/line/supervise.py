"""Run the programs of a site under the supervisor of `manage.py up`, until it is killed.

python -m tests.faults.line.supervise COMMANDS     as JSON: names and arguments for Python
"""

from __future__ import annotations

import json
import sys

from pipeline.management.keep_up import Program, Supervisor
from tests.support.environment import ROOT

if __name__ == "__main__":
    programs = [
        Program(name, [sys.executable, *command])
        for name, command in json.loads(sys.argv[1]).items()
    ]
    with Supervisor(programs, folder=ROOT, say=print) as supervisor:
        supervisor.wait()
