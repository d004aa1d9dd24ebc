"""Cost of a job's public page to the server, which keeps itself up to date every 30 seconds.

Run by `bench/pages.py --live`. The ways alternate in one process, so that their ratios hold on a
busy machine, too. A visitor's browser asks for the changing part again with the tag that it has.
"""

from __future__ import annotations

import time
from typing import Any
from unittest.mock import patch

import harness

WARM_UP = 20
WITHOUT = "the page without the live part"
WAYS = (
    WITHOUT,
    "the page",
    "asked again, changed, first to ask",
    "asked again, changed, built for another",
    "asked again, nothing new",
)


class Visitor:
    """A visitor without a session who looks at one job."""

    def __init__(self, job_id: str) -> None:
        from django.conf import settings
        from django.test import Client
        from django.urls import reverse

        settings.ALLOWED_HOSTS = ["*"]
        self._browser, self._address = Client(), reverse("opening", args=[job_id])

    def ask(self, way: str) -> float:
        """Make one request and return its CPU time in milliseconds."""
        from django.core.cache import caches

        address, headers, status = self._address, {}, 200
        if way not in WAYS[:2]:
            address += "?fragment=1"
            tag = self._browser.get(address).headers["ETag"]
            if way == WAYS[2]:
                caches["local"].clear()
            if way == WAYS[4]:
                headers, status = {"If-None-Match": tag}, 304
        start = time.thread_time()
        answer = self._browser.get(address, headers=headers)
        spent = (time.thread_time() - start) * 1e3
        if answer.status_code != status:
            raise SystemExit(f"{way}: {answer.status_code}")
        return spent


def _page_that_stays(request: Any, page: str, _part: str, *, build: Any, **_given: Any) -> Any:
    from django.shortcuts import render

    return render(request, page, build())


def measure(job_id: str, requests: int) -> None:
    """Print the median CPU time of each way, and its ratio to the page without the live part."""
    visitor = Visitor(job_id)
    cpu: dict[str, list[float]] = {way: [] for way in WAYS}
    for turn in range(requests + WARM_UP):
        for way in WAYS[1:]:
            cpu[way].append(visitor.ask(way))
        with patch("pipeline.pages.applicant.openings.live_page", _page_that_stays):
            cpu[WITHOUT].append(visitor.ask(WITHOUT))
        if turn == WARM_UP:
            cpu = {way: [] for way in WAYS}
    without = harness.median(cpu[WITHOUT])
    print("| public page of a job | CPU, ms | against the page without the live part |")
    print("|---|---|---|")
    for way in WAYS:
        median = harness.median(cpu[way])
        print(f"| {way} | {median:.1f} | {median / without:.2f} |")
