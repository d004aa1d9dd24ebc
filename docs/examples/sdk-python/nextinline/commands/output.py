"""What the command prints: JSON on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

from nextinline.errors import ApiError


def write_line(row: Any) -> None:
    """Write a value as one line of JSON, at once."""
    sys.stdout.write(json.dumps(row, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def write_lines(rows: Iterable[Any]) -> None:
    """Write each value as a line of JSON."""
    for row in rows:
        write_line(row)


def write_object(value: Any) -> None:
    """Write a value as JSON over several lines, to be read by people too."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def tell(text: str) -> None:
    """Say something that is no result."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def tell_refusal(error: ApiError) -> None:
    """Say why the API refused, with what is at fault and the number to report."""
    tell(f"{error.code or 'ERROR'} ({error.status}): {error.detail}")
    for each in error.errors:
        tell(f"  {each.get('pointer', '')}: {each.get('detail', '')}")
    if error.existing_id:
        tell(f"  existing_id: {error.existing_id}")
    if error.retry_after:
        tell(f"  retry_after: {error.retry_after} seconds")
    if error.request_id:
        tell(f"  request_id: {error.request_id}")
