"""The application that gunicorn serves: pages and API by Django, the rest in the event loop.

As under a WSGI server, a request has a thread and its database connection to itself while Django
works on it. Live streams, static files and the liveness check hold neither.
"""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pipeline.settings")

_django = get_wsgi_application()  # sets Django up before the following imports use its settings

from django.conf import settings  # noqa: E402
from django.urls import get_resolver  # noqa: E402

from pipeline.live import streams  # noqa: E402
from pipeline.live.hub import hub_of_process  # noqa: E402
from pipeline.live.streams import PREFIX  # noqa: E402
from pipeline.server import refusals, requests  # noqa: E402
from pipeline.server.clients import behind_proxies  # noqa: E402
from pipeline.server.fixed_answers import (  # noqa: E402
    LIVE,
    RememberedAnswers,
    StaticFileAnswers,
    send_alive,
)
from pipeline.server.wsgi import WSGIAdapter  # noqa: E402
from pipeline.web.asgi_types import Message, Receive, Send  # noqa: E402

get_resolver().url_patterns  # noqa: B018  read now, or the first request of each process waits
requests.limit_statements()

_pages = WSGIAdapter(_django)
_files = StaticFileAnswers()
_remembered = RememberedAnswers()


async def _answer(scope: Message, receive: Receive, send: Send) -> None:
    """Respond to one request."""
    path = scope["path"]
    if path.startswith(PREFIX):
        await streams.respond(hub_of_process(), scope, receive, send)
    elif path == LIVE and scope["method"] in ("GET", "HEAD"):
        await send_alive(scope, send)
    elif path.startswith(_files.prefix) and (file := _files.find_static_file(path)):
        await _files.send_file(file, scope, receive, send)
    elif _remembered.can_answer(scope):
        await _remembered.answer(scope, receive, send)
    else:
        await _pages(scope, receive, _remembered.remembering_answers(scope, send))


application = behind_proxies(
    refusals.only_plain(_answer),
    settings.TRUSTED_PROXIES,
    reads_stamps=settings.PROXY_STAMPS,
)
