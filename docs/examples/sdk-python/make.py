"""Make what is not kept in git, the models and the synchronous client: python make.py

Needs datamodel-code-generator, of the version in pyproject.toml. pip runs this when it installs
the client.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE / "nextinline"
DOCUMENT = HERE.parents[1] / "openapi.yaml"
OPTIONS = """
--input-file-type openapi --formatters builtin --output-model-type typing.TypedDict
--no-use-closed-typed-dict --target-python-version 3.11 --disable-timestamp
--use-standard-collections --use-union-operator --enum-field-as-literal all
""".split()
WORDS = {
    r"\bimport asyncio\b": "import time",
    r"\basyncio\.sleep\b": "time.sleep",
    r"\basynchronous\b": "synchronous",
    r"\bAsynchronous client\. The [^\"]*": "Synchronous client, made by make.py.",
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


def main() -> None:
    """Write the synchronous client from the asynchronous one, and the models from the document."""
    (PACKAGE / "synchronous").mkdir(exist_ok=True)
    for path in sorted((PACKAGE / "asynchronous").glob("*.py")):
        (PACKAGE / "synchronous" / path.name).write_text(synchronous(path.read_text()))
    files = ["--input", str(DOCUMENT), "--output", str(PACKAGE / "models.py")]
    subprocess.run([sys.executable, "-m", "datamodel_code_generator", *files, *OPTIONS], check=True)


if __name__ == "__main__":
    main()
