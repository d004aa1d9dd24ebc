"""Every address of the site, read from the URL configuration, filled in with someone's ids."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from django.urls import URLPattern, URLResolver, get_resolver

PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>(?:[^()]|\([^()]*\))*\)")
PAGE_METHODS = ("GET", "POST")


class Address(NamedTuple):
    """Address as the resolver has it, and the methods to try on it."""

    route: str
    methods: tuple[str, ...]

    def paths(self, ids: Mapping[str, Any]) -> Iterator[str]:
        """Return the path for each value of its parameters; KeyError: nobody has given a value."""
        names = [plain or named for plain, named in PARAMETER.findall(self.route)]
        many = [ids[name] if isinstance(ids[name], list) else [ids[name]] for name in names]
        for turn in range(max(map(len, many), default=1)):
            values = [each[turn % len(each)] for each in many]
            yield "/" + self._filled(iter(values))

    def _filled(self, values: Iterator[Any]) -> str:
        path = PARAMETER.sub(lambda _: str(next(values)), self.route)
        return path.replace("^", "").replace("$", "").replace("\\Z", "").replace("\\", "")


def addresses(resolver: URLResolver | None = None, before: str = "") -> Iterator[Address]:
    """Return every address below a resolver."""
    for found in (resolver or get_resolver()).url_patterns:
        route = before + str(found.pattern)
        if isinstance(found, URLResolver):
            yield from addresses(found, route)
        elif isinstance(found, URLPattern):
            view = getattr(found.callback, "cls", None)  # of the API
            known = getattr(view, "http_method_names", ())
            methods = tuple(name.upper() for name in known if hasattr(view, name))
            yield Address(route, methods or PAGE_METHODS)
