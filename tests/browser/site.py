"""The running server that a browser visits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page

OpenPage = Callable[..., Page]
WIDTHS = {"desktop": 1280, "phone": 360, "narrow": 320}


@dataclass(frozen=True)
class Site:
    """Running server: its address, its log, and the folder with the emails it sent."""

    url: str
    log: Path
    mails: Path
    environment: dict[str, str]
