"""The application that gunicorn serves: live streams by themselves, all else by Django.

A request has a thread and that thread's database connection for itself, as under a WSGI server;
thousands of open streams hold neither.
"""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pipeline.settings")

_django = get_wsgi_application()  # sets Django up, before what follows uses its settings

from django.urls import get_resolver  # noqa: E402

from pipeline.live.hub import process_hub  # noqa: E402
from pipeline.live.streams import PREFIX, stream  # noqa: E402
from pipeline.server.wsgi_adapter import WSGIAdapter  # noqa: E402
from pipeline.web.asgi_types import Message, Receive, Send  # noqa: E402

get_resolver().url_patterns  # noqa: B018  read now, or the first request of each process waits

_pages = WSGIAdapter(_django)


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Answer one request."""
    if scope["path"].startswith(PREFIX):
        await stream(process_hub(), scope, receive, send)
    else:
        await _pages(scope, receive, send)
