"""Location of a cluster's data, and access to it.

PostgreSQL refuses to run as root, so root runs the server as an ordinary user. That user must be
able to reach the files, but no existing directory's permissions are ever loosened.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import re
import sys
from contextlib import suppress
from pathlib import Path

from pipeline.database.errors import ClusterError

ROOTS_FOLDER = Path("/var/lib")  # only root can create names there
SHORT_FOLDER = Path("/tmp")  # noqa: S108 -- what is found there is checked by `make_private_folder`

# Bytes of a socket's path, without the final zero: sun_path has 108 on Linux, 104 elsewhere.
SOCKET_PATH_BYTES = 107 if sys.platform == "linux" else 103
SOCKET_NAME_BYTES = len("/.s.PGSQL.5432")


def is_open_to_all(path: Path) -> bool:
    """Return whether any user can reach `path`. Directories not yet created count as open."""
    return all(p.stat().st_mode & 0o001 for p in [path, *path.parents] if p.exists())


def choose_data_folder(base: Path, user: pwd.struct_passwd | None) -> Path:
    """Return `base`, or a folder under /var/lib if `user` cannot reach `base`."""
    base = base.resolve()
    if user is None or is_open_to_all(base):
        return base
    return ROOTS_FOLDER / f"embedded-postgres-{_path_hash(base)}"


def choose_socket_folder(base: Path) -> Path:
    """Return `base`/run, or a shorter path if that one is too long for a socket.

    libpq splits a host at commas, and quotes have a meaning in PostgreSQL's settings.
    """
    inside = base / "run"
    too_long = len(os.fsencode(inside)) + SOCKET_NAME_BYTES > SOCKET_PATH_BYTES
    if too_long or re.search(r"""[,'"\\\x00-\x1f]""", str(inside)):
        return SHORT_FOLDER / f"pg-{os.geteuid()}-{_path_hash(base)}"
    return inside


def _path_hash(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]


def make_reachable_folder(path: Path, user: pwd.struct_passwd | None) -> None:
    """Create `path` with its parents. `user`, if given, can reach it whatever the umask.

    Raises ClusterError if `path` belongs to another user: PostgreSQL would refuse it, and root must
    not write where another user can replace names by links.
    """
    for folder in [*reversed(path.parents), path]:
        if not folder.exists():
            with suppress(FileExistsError):  # another process was quicker
                folder.mkdir()
                if user is not None:
                    folder.chmod(0o755)
    _check_owner(path, {os.geteuid()})


def make_private_folder(path: Path, user: pwd.struct_passwd | None) -> Path:
    """Create the directory `path` for the server only: mode 0700, owned by `user` if given.

    Every connection inside it is trusted, which is safe because nobody else has access. Raises
    ClusterError if the path belongs to another user or is a link.
    """
    path.mkdir(mode=0o700, exist_ok=True)
    _check_owner(path, {os.geteuid(), user.pw_uid} if user else {os.geteuid()})
    if user:
        os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)
    path.chmod(0o700)
    return path


def _check_owner(path: Path, allowed: set[int]) -> None:
    if path.is_symlink() or path.stat().st_uid not in allowed:
        raise ClusterError(
            f"{path} belongs to another user (or is a link). Run as its owner, "
            "delete it to start with an empty database, or set DATABASE_URL."
        )
