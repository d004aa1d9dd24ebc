"""Formatted text of companies: a safe part of Markdown as HTML.

Markdown's HTML is off, and what is left goes through a list of allowed tags and addresses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from html import unescape

import nh3
from django.utils.html import urlize
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

TAGS = {"p", "br", "h2", "h3", "h4", "ul", "ol", "li", "strong", "em", "s", "a", "blockquote", "hr"}
SCHEMES = {"http", "https", "mailto", "tel"}
RELATIONS = "nofollow noopener noreferrer ugc"
REMEMBERED = 128  # texts per process
_DEEPEST = 20  # quotes and lists inside each other
_BLOCK_TAG = re.compile(r"</?(?:p|br|h[234]|ul|ol|li|blockquote|hr)\b[^>]*>")
_TAG = re.compile(r"<[^>]*>")


@lru_cache(maxsize=REMEMBERED)
def to_html(text: str) -> SafeString:
    """Return a text as HTML that is safe to show. Its headings begin at the second level."""
    return SafeString(
        nh3.clean(
            _MARKDOWN.render(text),
            tags=TAGS,
            clean_content_tags={"script", "style"},
            attributes={"*": set(), "a": {"href"}, "ol": {"start"}},
            url_schemes=SCHEMES,
            link_rel=RELATIONS,
        ).strip()
    )


def to_plain(text: str) -> str:
    """Return a text without its formatting, in one line."""
    blocks = _BLOCK_TAG.sub(" ", to_html(text))
    return " ".join(unescape(_TAG.sub("", blocks)).split())


def _lower_headings(state: StateCore) -> None:
    """Let headings begin below the page's own."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 4)}"


def _mark_loose_text(state: StateCore) -> None:
    """Give the text outside of links a type of its own, so that addresses in it become links."""
    for block in state.tokens:
        inside = 0
        for token in block.children or ():
            inside += token.nesting if token.type in ("link_open", "link_close") else 0
            if token.type == "text" and not inside:
                token.type = "loose_text"


def _render_loose_text(
    _renderer: RendererHTML, tokens: Sequence[Token], at: int, _options: OptionsDict, _env: EnvType
) -> str:
    return urlize(tokens[at].content, autoescape=True)


def _build() -> MarkdownIt:
    built = MarkdownIt(
        "js-default", {"html": False, "breaks": True, "maxNesting": _DEEPEST}
    ).disable(["table", "code", "fence", "image", "html_block", "html_inline", "backticks"])
    built.core.ruler.push("lower_headings", _lower_headings)
    built.core.ruler.push("mark_loose_text", _mark_loose_text)
    built.add_render_rule("loose_text", _render_loose_text)
    return built


_MARKDOWN = _build()
