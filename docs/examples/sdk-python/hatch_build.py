"""Step of the build that makes what is not kept in git."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MakeTheRest(BuildHookInterface[Any]):
    """Run make.py, except in an archive of sources: that has the files, but not the document."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the files before they are collected."""
        if not Path(self.root, "PKG-INFO").exists():
            subprocess.run([sys.executable, "make.py"], cwd=self.root, check=True)
