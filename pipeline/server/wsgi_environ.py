"""WSGI environ of an ASGI request."""

from __future__ import annotations

import sys
from typing import IO, Any
from urllib.parse import unquote_to_bytes

from pipeline.web.asgi_types import Message

Environ = dict[str, Any]


def wsgi_environ_of(scope: Message, body: IO[bytes]) -> Environ:
    """Return the WSGI environ of a request.

    Headers with underscores are dropped, because they could be mistaken for a proxy's.
    """
    server, port = scope.get("server") or ("localhost", 80)
    environ: Environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin1"),
        "QUERY_STRING": scope["query_string"].decode("latin1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": server,
        "SERVER_PORT": str(port or 0),
        "REMOTE_ADDR": (scope.get("client") or [""])[0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": body,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        if b"_" in name:
            continue
        key, text = name.decode("latin1").upper().replace("-", "_"), value.decode("latin1")
        between = "; " if key == "COOKIE" else ","
        key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
        environ[key] = f"{environ[key]}{between}{text}" if key in environ else text
    return environ
