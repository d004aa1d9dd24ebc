"""Make the sources of the clients in docs/examples that are not in git: `python3 run.py sdk`.

They come from docs/openapi.yaml: the models and the synchronous twin of the Python client, the
types of the TypeScript client, and the descriptions for n8n and Zapier. Whoever installs or builds
a client gets its part without this.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools import ROOT
from tools.automations import make_n8n, make_zapier

PYTHON, TYPESCRIPT = "docs/examples/sdk-python", "docs/examples/sdk-typescript"
GENERATOR = "openapi-typescript"


def make_python(root: Path = ROOT) -> None:
    """Make the sources of the Python client below `root`."""
    subprocess.run([sys.executable, root / PYTHON / "make.py"], check=True)


def make_typescript(root: Path = ROOT) -> None:
    """Make the types of the TypeScript client below `root`. Needs npm and the generator."""
    command = ["npm", "run", "--silent", "generate"]
    subprocess.run(command, cwd=root / TYPESCRIPT, stdout=subprocess.DEVNULL, check=True)


def main() -> None:
    """Make all; leave out TypeScript, and say so, where its generator is missing."""
    make_python()
    make_n8n()
    make_zapier()
    own = ROOT / TYPESCRIPT / "node_modules" / ".bin"
    if shutil.which(GENERATOR, path=f"{own}{os.pathsep}{os.environ['PATH']}"):
        make_typescript()
    else:
        print(f"Without TypeScript: for it, run npm install && npm run build in {TYPESCRIPT}")


if __name__ == "__main__":
    main()
