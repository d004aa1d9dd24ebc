"""Cost of a page in another language: CPU of a web process for the same page in English, German
and Arabic, in turn, with 1,000 people waiting; the first page of a process in each language; and
compiling all catalogues, as the first start of a checkout does.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness

LANGUAGES = ("en", "de", "ar")
WAITING, WARM_UP = 1_000, 20
MOST_PERCENT, MOST_SECONDS = 3, 2
FIRST_PAGE = (
    "import django, time; django.setup(); from django.test import Client; from django.urls import"
    " reverse; from django.conf import settings; settings.ALLOWED_HOSTS = ['*'];"
    " answer = Client().get(reverse('openings'), headers={'Accept-Language': '%s'});"
    " assert answer.status_code == 200 and answer.headers['Content-Language'] == '%s'"
)
COMPILE = (
    "import sys; from pathlib import Path; from pipeline.config.catalogues import compile_stale;"
    " compile_stale(Path(sys.argv[1]))"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=300, help="of each page and language")
    options = parser.parse_args()
    harness.start(durable=False)
    harness.make_people(WAITING + 10)
    _report(_measure(options.requests))
    _report_starts()
    harness.print_load()


def _measure(requests: int) -> dict[tuple[str, str], list[float]]:
    """Ask for each page in each language, in turn: CPU of this thread in milliseconds."""
    import pages

    job = pages._line(WAITING)
    company, person = pages._browser(), pages._person(job)
    asks = _asks(job, company, person, pages._addresses(job))
    took: dict[tuple[str, str], list[float]] = {
        (name, language): [] for name in asks for language in LANGUAGES
    }
    for turn in range(requests + WARM_UP):
        shift = turn % len(LANGUAGES)
        for name, ask in asks.items():
            for language in (*LANGUAGES[shift:], *LANGUAGES[:shift]):
                spent = ask(language)
                if turn >= WARM_UP:
                    took[name, language].append(spent)
    return took


def _asks(
    job: str, company: Any, person: Any, addresses: dict[str, str]
) -> dict[str, Callable[[str], float]]:
    from django.test import Client
    from django.urls import reverse

    visitor = Client()
    where = {
        "list of jobs": (visitor, reverse("openings")),
        "a job": (visitor, addresses["opening"]),
        "my application": (person, addresses["status"]),
        "board": (company, addresses["board"]),
        "reports": (company, reverse("reports", args=[job])),
        "settings": (company, reverse("job_settings", args=[job])),
    }

    def asking(browser: Any, address: str) -> Callable[[str], float]:
        return lambda language: _cpu_ms(browser, address, language)

    return {name: asking(*each) for name, each in where.items()}


def _cpu_ms(browser: Any, address: str, language: str) -> float:
    from django.conf import settings

    browser.cookies[settings.LANGUAGE_COOKIE_NAME] = language
    start = time.thread_time()
    answer = browser.get(address)
    spent = (time.thread_time() - start) * 1e3
    if answer.status_code != 200 or answer.headers["Content-Language"] != language:
        raise SystemExit(f"{address}: {answer.status_code} {answer.headers}")
    return spent


def _report(took: dict[tuple[str, str], list[float]]) -> None:
    print("| page | language | CPU min, ms | median, ms | against English: min | median |")
    print("|---|---|---|---|---|---|")
    for (name, language), each in took.items():
        english = took[name, "en"]
        least, usual = min(each) / min(english), harness.median(each) / harness.median(english)
        print(
            f"| {name} | {language} | {min(each):.2f} | {harness.median(each):.2f}"
            f" | {100 * (least - 1):+.1f} % | {100 * (usual - 1):+.1f} % |"
        )
    print(f"goal: at most {MOST_PERCENT} % more than in English")


def _report_starts() -> None:
    print("| first page of a process | CPU, s |\n|---|---|")
    for language in LANGUAGES:
        took = [_seconds(["-c", FIRST_PAGE % (language, language)]) for _ in range(5)]
        print(f"| {language} | {harness.median(took):.2f} |")
    with tempfile.TemporaryDirectory() as kept:
        copy = shutil.copytree(
            harness.ROOT / "locale", Path(kept) / "locale", ignore=shutil.ignore_patterns("*.mo")
        )
        first, then = (_seconds(["-c", COMPILE, str(copy)]) for _ in range(2))
    print(f"compiling all catalogues, once per checkout: {first - then:.2f} s of CPU")
    print(f"goal: the first start at most {MOST_SECONDS} s more")


def _seconds(command: list[str]) -> float:
    """Run a command; return its seconds of CPU, which a busy machine hardly changes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], cwd=harness.ROOT, env=os.environ, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
