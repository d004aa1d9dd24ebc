"""Make the synchronous client from the asynchronous one: python make_sync.py [--check]"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent / "nextinline"
WORDS = {
    r"\bimport asyncio\b": "import time",
    r"\basyncio\.sleep\b": "time.sleep",
    r"\basynchronous\b": "synchronous",
    r"\bAsynchronous client\. The [^\"]*": "Synchronous client, made by make_sync.py.",
    r"\bAsynchronous\b": "Synchronous",
    r"\b(_?)Async(?=[A-Z])": r"\1",
    r"\b__a(enter|exit)__\b": r"__\1__",
    r"\baclose\b": "close",
    r"\basync (?=def|for|with)": "",
    r"\bawait ": "",
    r"\bhandle_async_request\b": "handle_request",
    r"\baread\b": "read",
}


def synchronous(text: str) -> str:
    """Return the synchronous form of a file."""
    for found, replaced in WORDS.items():
        text = re.sub(found, replaced, text)
    return text


def main() -> int:
    """Write the files, or with --check tell by the exit code whether they are as written."""
    stale = []
    for path in sorted((PACKAGE / "asynchronous").glob("*.py")):
        target = PACKAGE / "synchronous" / path.name
        made = synchronous(path.read_text())
        if not target.exists() or target.read_text() != made:
            stale.append(target)
            if "--check" not in sys.argv:
                target.parent.mkdir(exist_ok=True)
                target.write_text(made)
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
