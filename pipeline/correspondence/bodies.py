"""Texts of emails: what their writers have written, without what they quote."""

from __future__ import annotations

import re
from email.message import EmailMessage, Message
from html import unescape

import nh3
from django.utils.translation import gettext as _
from mailparser_reply import EmailReplyParser

from applicants.texts import plain_text
from pipeline.models import MESSAGE_LENGTH

# The languages whose lines above a quoted email are known ("On Monday, Ana wrote:").
LANGUAGES = ["en", "de", "fr", "it", "es", "nl", "pl", "da", "sv", "cs"]
MOST_CHARACTERS = 20_000
# What the library looks at. Its patterns would need minutes for thousands of blank lines, so they
# get none, and only the beginning of a long text.
LOOKED_AT, LONGEST_LINE = 8_000, 500
_BREAKS = re.compile(r"<br\s*/?>|</(?:p|div|li|tr|h[1-6])\s*>", re.IGNORECASE)


def read_answer(email: EmailMessage) -> str:
    """Return what the writer of an email has written, at most MESSAGE_LENGTH characters.

    If nothing is left without the quotes, everything is returned.
    """
    whole = plain_text(_read_text(email).replace("\0", ""))[:MOST_CHARACTERS]
    answer = strip_quotes(whole) or whole or _("(This email has no text.)")
    if len(answer) <= MESSAGE_LENGTH:
        return answer
    cut = _("(The rest of this email was too long.)")
    return f"{answer[: MESSAGE_LENGTH - len(cut) - 2]}\n\n{cut}"


def strip_quotes(text: str) -> str:
    """Return a text without the emails that it quotes, if the first one begins in its beginning."""
    lines = text.split("\n")
    start = _find_quote(lines)
    own = lines if start is None else lines[:start]
    answer = _without_quoted_lines(own)
    # Some write below what they quote.
    return answer if answer or start is None else _without_quoted_lines(lines[start + 1 :])


def _find_quote(lines: list[str]) -> int | None:
    """Return the number of the line that introduces the first quoted email."""
    looked_at = [(n, line.strip()[:LONGEST_LINE]) for n, line in enumerate(lines)]
    # No blank line after another.
    kept = [
        (n, line) for n, line in looked_at if line.strip("> ") or (n and lines[n - 1].strip("> "))
    ]
    beginning = "\n".join(line for _n, line in kept)[:LOOKED_AT]
    replies = EmailReplyParser(languages=LANGUAGES).read(beginning).replies
    header = next((each.headers for each in replies if each.headers), "")
    first = header.strip().partition("\n")[0].strip()
    return next((n for n, line in kept if first and line.startswith(first)), None)


def _without_quoted_lines(lines: list[str]) -> str:
    return "\n".join(line for line in lines if not line.lstrip().startswith(">")).strip()


def _read_text(email: EmailMessage) -> str:
    plain = email.get_body(("plain",))
    if plain is not None:
        return _decode(plain)
    html = email.get_body(("html",))
    if html is None:
        return ""
    marked = _BREAKS.sub("\n", _decode(html)[: 10 * MOST_CHARACTERS])
    return unescape(nh3.clean(marked, tags=set()))


def _decode(part: Message) -> str:
    """Return a part's text, in whatever character set it says; unknown ones count as UTF-8."""
    content = part.get_payload(decode=True)
    data = content if isinstance(content, bytes) else b""
    charset = str(part.get_param("charset") or "utf-8")
    try:
        return data.decode(charset, errors="replace")
    except LookupError:
        return data.decode("utf-8", errors="replace")
