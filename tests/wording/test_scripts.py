"""What scripts say is translated by the page: each sentence is declared."""

from __future__ import annotations

import json
import re

from django.template import Context, Template
from django.utils import translation

from pipeline.wording.scripts import SENTENCES
from tests.support import pseudo_language
from tests.support.environment import ROOT

SCRIPTS = sorted((ROOT / "static" / "js").glob("*.js"))
_SAID = re.compile(r"""\bt\(\s*"((?:[^"\\]|\\.)*)"|"(\d+ \w+ left\.)\"""")
# A text of two words or more that begins like a sentence.
_SENTENCE = re.compile(r"""(["`])([A-Z][a-z]+ [^"`\n]*)\1""")


def source(path: object) -> str:
    """A script without its comments, and without the texts that are translated."""
    text = re.sub(r"(?m)^\s*//.*$|\s//\s.*$", "", path.read_text())  # type: ignore[attr-defined]
    return _SAID.sub("", text)


def test_every_sentence_of_a_script_is_declared_and_said() -> None:
    found = {
        one or other
        for path in SCRIPTS
        if path.name != "words.js"
        for one, other in _SAID.findall(path.read_text())
    }

    assert found == set(SENTENCES)


def test_no_script_says_anything_else() -> None:
    left = {path.name: _SENTENCE.findall(source(path)) for path in SCRIPTS}
    left["service_worker.js"].remove(('"', "Next in Line"))

    assert {name: found for name, found in left.items() if found} == {}


def test_a_page_in_another_language_brings_the_words() -> None:
    pseudo_language.install()
    page = Template("{% language_head %}")

    with translation.override("en"):
        assert page.render(Context()) == ""
    with translation.override("qps"):
        [said] = re.findall(r"<script[^>]*>(.*)</script>", page.render(Context()))
        assert json.loads(said)["Reload"].startswith("⟦Rélöàd")


def test_each_language_brings_its_own_words() -> None:
    page, said = Template("{% language_head %}"), {}

    for code in ("de", "fr", "de"):
        with translation.override(code):
            [words] = re.findall(r"<script[^>]*>(.*)</script>", page.render(Context()))
            said[code] = json.loads(words)["Reload"]
            assert said[code] == translation.gettext("Reload")

    assert said["de"] != said["fr"]
