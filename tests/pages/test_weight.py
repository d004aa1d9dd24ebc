"""Weight of every page, in counts that no machine changes: numbers that may only fall.

`weights.json` has the visible words, the compressed bytes and the statements of each page. A page
that needs more fails, and so does one that needs far fewer: then write the numbers again with
`WRITE_WEIGHTS=1 python3 run.py test tests/pages/test_weight.py -n 0`, and look at the difference.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from applicants.models import Applicant
from jobs.models import User
from tests.browser.test_every_page import ANYBODY, APPLICANT, COMPANY, STAFF, WORK
from tests.browser.world import World, make_world
from tests.support.accounts import browser_of
from tests.support.applicants import applicant_browser
from tests.support.push import SITE_KEY
from tests.support.weight import Weight, seen_words, weigh

pytestmark = pytest.mark.django_db(transaction=True)

KEPT = Path(__file__).with_name("weights.json")
# Shares and counts by which a page may differ: names, times and tokens are not always as long.
MORE, FEWER = 1.03, 0.9
SLACK = Weight(words=4, bytes=120, statements=0)


def test_only_what_readers_see_counts_as_words() -> None:
    page = """<p>no</p><main>One <b>two</b> <p hidden>no</p><span class="vh">no</span>
      <details>no<summary>three</summary><p>no</p></details>
      <details open><summary>four</summary>five <br> six</details>
      <select><option>no</option><option selected>seven</option></select>
      <svg><title>no</title></svg> ... </main>"""

    assert seen_words(page) == ["One", "two", "three", "four", "five", "six", "seven"]


def test_no_page_grows(settings: Any) -> None:
    settings.TERMS_TEXT = "Terms."
    settings.VAPID_PRIVATE_KEY = SITE_KEY  # so that there is a page of devices

    found = dict(_weights(make_world()))

    if os.environ.get("WRITE_WEIGHTS"):
        lines = [
            f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in sorted(found.items())
        ]
        KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return
    kept = {name: Weight(*each) for name, each in json.loads(KEPT.read_text()).items()}
    assert found.keys() == kept.keys()
    assert {
        name: (kept[name], each) for name, each in found.items() if _grows(kept[name], each)
    } == {}
    assert {
        name: (kept[name], each) for name, each in found.items() if _grows(each, kept[name])
    } == {}


def _grows(before: Weight, now: Weight) -> bool:
    return any(new > old * MORE + slack for old, new, slack in zip(before, now, SLACK, strict=True))


def _weights(world: World) -> Iterator[tuple[str, Weight]]:
    groups = [
        (ANYBODY, None),
        (APPLICANT, world.applicant),
        (COMPANY, world.owner),
        (STAFF, world.owner),
        (WORK, world.owner),
    ]
    for pages, who in groups:
        for name, where in pages.items():
            client = _client(who)
            address = reverse(name, kwargs=where(world))
            client.get(address)  # so that nothing is prepared for the first time
            weight, answer = weigh(client, address)
            assert answer.status_code == 200, address
            yield name, weight


def _client(who: Applicant | User | None) -> Client:
    if isinstance(who, Applicant):
        return applicant_browser(who)
    return browser_of(who) if who else Client()
